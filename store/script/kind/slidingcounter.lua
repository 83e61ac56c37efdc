-- sliding-counter/1, state "start cur [prev]".
-- Go: SlidingCounter.StepInPlace in algorithm/slidingcounter.go.
--
-- limit   in units
-- period  in µs
-- cost    in units, at most limit + 1; below 0 it is a refund
-- at      the instant at which a refund was taken
--
-- A charge is a take whose limit is larger by the largest debt.
--- decide limit, period, cost, at?
local opened, kept, cur, prev = '', -1, 0, 0
local instant = now
if state then
  local a, b, place = string.match(state, '^(%d+) (%d+)()')
  if not a or a < '1' and a ~= '0' or b < '1' and b ~= '0' then return '!' end
  opened, kept, cur = a, a + 0, b + 0
  if place <= #state then
    local c = string.match(state, '^ ([1-9]%d*)$', place)
    if not c then return '!' end
    prev = c + 0
  end
  if kept > 7000000000000000 or cur > 9007199254740991 or prev > 9007199254740991 then return '!' end
  if kept > now then instant = kept end
end
if cost == 0 then break end
local start = instant - instant % period
if kept < start then -- within this window after a change of parameters it stays
  prev = state and kept >= start - period and cur or 0
  opened, cur = string.format('%.0f', start), 0
end
if cost < 0 then
  local window = at - at % period
  if window == start and cur > 0 then
    cur = cur + cost > 0 and cur + cost or 0
  elseif window == start - period and prev > 0 then
    prev = prev + cost > 0 and prev + cost or 0
  else
    break
  end
  if cur > 0 then
    life = start + period + period - now
  elseif prev > 0 then
    life = start + period - now
  else
    life = start > now and start - now or 0
  end
  if prev == 0 then
    after = opened .. string.format(' %.0f', cur)
  else
    after = opened .. string.format(' %.0f %.0f', cur, prev)
  end
  break
end
local estimate = 0
if prev > 0 then
  --- include muldiv
  local q, r = muldiv(prev, start + period - instant, period)
  estimate = r > 0 and q + 1 or q
end
if cur + estimate > limit - cost then
  verdict = '-'
  break
end
life = start + period + period - now
if prev == 0 then
  after = opened .. string.format(' %.0f', cur + cost)
else
  after = opened .. string.format(' %.0f %.0f', cur + cost, prev)
end
