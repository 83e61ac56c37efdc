-- fixed-window/1, state "start count". Go: FixedWindow.StepInPlace in
-- algorithm/fixedwindow.go.
--
-- limit   in units
-- period  in µs
-- cost    in units, at most limit + 1
local function decide(state, now, limit, period, cost)
  local opened, kept, count = '', -1, 0
  local instant = now
  if state then
    local a, b = match(state, '^(%d+) (%d+)$')
    if not a or a < '1' and a ~= '0' or b < '1' and b ~= '0' then return nil end
    opened, kept, count = a, a + 0, b + 0
    if kept > 7000000000000000 or count > 9007199254740991 then return nil end
    if kept > now then instant = kept end
  end
  if cost == 0 then return true end
  local start = instant - instant % period
  if kept < start then -- within this window after a change of parameters it stays
    opened, count = text(start), 0
  end
  if count > limit - cost then return false end
  count = count + cost
  return true, opened .. ' ' .. text(count), start + period - now
end
