-- number reads what text writes of a whole number >= 0; nil for the rest.
local function number(s)
  if string.find(s, '^[1-9]%d*$') then
    local n = s + 0
    return n <= 9007199254740991 and n or nil
  end
  if s == '0' then return 0 end
end
