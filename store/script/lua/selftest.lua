-- Whether the arithmetic of the server is what the scripts need: muldiv, floor and
-- the text of numbers, in the cases that the caller gives.
--
-- ARGV   a, b, m, quotient and remainder, for each case
-- reply  '' or the number of the first case that fails
-- Go     Store.Check in check.go
local floor = math.floor

--- include text

--- include number

--- include muldiv

if text(1790000000123456) ~= '1790000000123456' or text(2147483647) ~= '2147483647'
  or text(0) ~= '0' or text(99999999) ~= '99999999' or text(100000000) ~= '100000000'
  or text(100000001) ~= '100000001' or text(9007199254740991) ~= '9007199254740991'
  or text(2147483648) ~= '2147483648' or number('9007199254740991') ~= 9007199254740991
  or number('9007199254740992') or number('01') or number('1e3') or 9007199254740992 + 1 ~= 9007199254740992
  or floor(-5 / 3) ~= -2 then
  return '0'
end
for i = 1, #ARGV, 5 do
  local q, r = muldiv(number(ARGV[i]), number(ARGV[i + 1]), number(ARGV[i + 2]))
  if text(q) ~= ARGV[i + 3] or text(r) ~= ARGV[i + 4] then return text(floor(i / 5) + 1) end
end
return ''
