-- entry reads an element of the list: its instant, its cost, and its sums with a colon
-- before each, or nil where it is not an entry.
local function entry(element)
  if string.find(element, '^[1-9]%d*$') or element == '0' then
    local at = element + 0
    return at <= 7000000000000000 and at or nil, 1, ''
  end
  local a, c, sums = string.match(element, '^(%d+):([1-9]%d*)([:%d]*)$')
  if not a or a < '1' and a ~= '0' then return nil end
  local at, cost = a + 0, c + 0
  if at > 7000000000000000 or cost > 9007199254740991 or cost < 2 and sums == '' then return nil end
  return at, cost, sums
end
