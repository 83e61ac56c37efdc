-- sum returns the sum at a level of an entry, 0 where it is left out, and nil where it is
-- not a number.
local function sum(sums, level)
  for digits in string.gmatch(sums, ':(%d*)') do
    level = level - 1
    if level == 0 then
      local n = digits ~= '' and digits + 0
      return n and n <= 9007199254740991 and n or nil
    end
  end
  return 0
end
