-- debt is how far the arrival time lies beyond now. Sums are relative to now: an
-- absolute one could pass 2^53. Go: schedule in algorithm/schedule.go.
local debt, debt_part = 0, 0
if state then
  local w, f, d = 0, 0, units
  if #state < 17 and string.find(state, '^[1-9]%d*$') then
    w = state + 0
  elseif state ~= '0' then
    local a, b, c = string.match(state, '^(%d+) ([1-9]%d*) ([1-9]%d*)$')
    if not a or a < '1' and a ~= '0' then return '!' end
    w, f, d = a + 0, b + 0, c + 0
    if d > 1000000000000 or f >= d then return '!' end
  end
  if w > 8576800000000000 then return '!' end
  if w >= now then
    debt, debt_part = w - now, f
    if d ~= units then -- from before a change of parameters: up, against the caller
      --- include muldiv
      local q, r = muldiv(f, units, d)
      debt_part = r > 0 and q + 1 or q
    end
    if debt_part >= units then debt, debt_part = debt + 1, 0 end
  end
end
if whole == 0 and part == 0 then break end
