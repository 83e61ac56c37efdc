-- sliding-counter/1, state "start cur [prev]". Go: SlidingCounter.StepInPlace in
-- algorithm/slidingcounter.go.
--
-- limit   in units
-- period  in µs
-- cost    in units, at most limit + 1
local function decide(state, now, limit, period, cost)
  local opened, kept, cur, prev = '', -1, 0, 0
  local instant = now
  if state then
    local a, b, place = match(state, '^(%d+) (%d+)()')
    if not a or a < '1' and a ~= '0' or b < '1' and b ~= '0' then return nil end
    opened, kept, cur = a, a + 0, b + 0
    if place <= #state then
      local c = match(state, '^ ([1-9]%d*)$', place)
      if not c then return nil end
      prev = c + 0
    end
    if kept > 7000000000000000 or cur > 9007199254740991 or prev > 9007199254740991 then return nil end
    if kept > now then instant = kept end
  end
  if cost == 0 then return true end
  local start = instant - instant % period
  if kept < start then -- within this window after a change of parameters it stays
    prev = state and kept >= start - period and cur or 0
    opened, cur = text(start), 0
  end
  local estimate = 0
  if prev > 0 then
    local left = start + period - instant
    local q, r = muldiv(prev, left, period)
    estimate = r > 0 and q + 1 or q
  end
  if cur + estimate > limit - cost then return false end
  cur = cur + cost
  local reset = start + period + period - now
  if prev == 0 then return true, opened .. ' ' .. text(cur), reset end
  return true, opened .. ' ' .. text(cur) .. ' ' .. text(prev), reset
end
