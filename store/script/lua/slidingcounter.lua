-- sliding-counter/1, state "start cur [prev]". Go: SlidingCounter.StepInPlace in
-- algorithm/slidingcounter.go.
--
-- limit   in units
-- period  in µs
-- cost    in units, at most limit + 1
local function decide(state, now, limit, period, cost)
  local kept, cur, prev = 0, 0, 0
  local instant = now
  if state then
    local a, b, c = match(state, '^(%d+) (%d+)$')
    if not a then a, b, c = match(state, '^(%d+) (%d+) ([1-9]%d*)$') end
    if not a then return nil end
    kept, cur, prev = number(a), number(b), number(c or '0')
    if not (kept and cur and prev) or kept > 7000000000000000 then return nil end
    instant = max(now, kept)
  end
  if cost == 0 then return true end
  local start = instant - instant % period
  local left = start + period - instant
  local reset = start + period + period - now
  if state and kept >= start then
    start = kept -- within this window after a change of parameters; it stays
  elseif state and kept >= start - period then
    cur, prev = 0, cur
  else
    cur, prev = 0, 0
  end
  local estimate, rest = muldiv(prev, left, period)
  if rest > 0 then estimate = estimate + 1 end
  if cur + estimate > limit - cost then return false end
  local next = text(start) .. ' ' .. text(cur + cost)
  if prev > 0 then next = next .. ' ' .. text(prev) end
  return true, next, reset
end
