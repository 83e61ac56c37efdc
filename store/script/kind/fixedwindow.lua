-- fixed-window/1, state "start count".
-- Go: FixedWindow.StepInPlace in algorithm/fixedwindow.go.
--
-- limit   in units
-- period  in µs
-- cost    in units, at most limit + 1; below 0 it is a refund
-- at      the instant at which a refund was taken
--
-- A charge is a take whose limit is larger by the largest debt.
--- decide limit, period, cost, at?
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
if cost < 0 then
  if kept < start or count == 0 or at - at % period ~= start then break end
  count = count + cost
  if count > 0 then
    life = start + period - now
  else
    count, life = 0, start > now and start - now or 0
  end
  after = opened .. string.format(' %.0f', count)
  break
end
if count > limit - cost then
  verdict = '-'
  break
end
after, life = opened .. string.format(' %.0f', count + cost), start + period - now
