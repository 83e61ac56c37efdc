-- fixed-window/1, state "start count".
-- Go: FixedWindow.StepInPlace in algorithm/fixedwindow.go.
--
-- limit   in units
-- period  in µs
-- cost    in units, at most limit + 1
--- decide limit, period, cost
local opened, kept, count = '', -1, 0
local instant = now
if state then
  local a, b = string.match(state, '^(%d+) (%d+)$')
  if not a or a < '1' and a ~= '0' or b < '1' and b ~= '0' then return '!' end
  opened, kept, count = a, a + 0, b + 0
  if kept > 7000000000000000 or count > 9007199254740991 then return '!' end
  if kept > now then instant = kept end
end
if cost == 0 then break end
local start = instant - instant % period
if kept < start then -- within this window after a change of parameters it stays
  opened, count = string.format('%.0f', start), 0
end
if count > limit - cost then
  verdict = '-'
  break
end
after, life = opened .. string.format(' %.0f', count + cost), start + period - now
