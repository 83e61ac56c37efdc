-- fixed-window/1, state "start count". Go: FixedWindow.StepInPlace in
-- algorithm/fixedwindow.go.
--
-- limit   in units
-- period  in µs
-- cost    in units, at most limit + 1
local function decide(state, now, limit, period, cost)
  local instant, kept, count = now, 0, 0
  if state then
    local a, b = match(state, '^(%d+) (%d+)$')
    if not a then return nil end
    kept, count = number(a), number(b)
    if not (kept and count) or kept > 7000000000000000 then return nil end
    instant = max(now, kept)
  end
  if cost == 0 then return true end
  local start = instant - instant % period
  local left = start + period - now
  if state and kept >= start then
    start = kept -- within this window after a change of parameters; it stays
  else
    count = 0
  end
  if count > limit - cost then return false end
  return true, text(start) .. ' ' .. text(count + cost), left
end
