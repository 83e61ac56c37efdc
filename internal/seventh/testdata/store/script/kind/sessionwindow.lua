-- session-window/1, state "start count".
-- Go: SessionWindow.StepInPlace in algorithm/sessionwindow.go.
--
-- limit   in units
-- period  in µs
-- cost    in units, at most limit + 1
--- decide limit, period, cost
local start, count = now, 0
if state then
  local a, b = string.match(state, '^(%d+) (%d+)$')
  if not a or a < '1' and a ~= '0' or b < '1' and b ~= '0' then return '!' end
  local kept, used = a + 0, b + 0
  if kept > 7000000000000000 or used > 9007199254740991 then return '!' end
  if now < kept + period then start, count = kept, used end
end
if cost == 0 then break end
if count > limit - cost then
  verdict = '-'
  break
end
after, life = string.format('%.0f %.0f', start, count + cost), start + period - now
