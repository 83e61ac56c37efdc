-- calendar-window/1, state "start count".
-- Go: CalendarWindow.StepInPlace in algorithm/calendarwindow.go.
--
-- limit   in units
-- cost    in units, at most limit + 1; below 0 it is a refund
-- at      the instant at which a refund was taken; 0 of a take
-- first   the first instant of a window, in µs, and of the three behind it: Go knows the
-- second  calendar, and this clock which window counts. An instant outside of them is
-- third   answered with '?', for which Go decides by compare-and-set.
-- fourth
--
-- A charge is a take whose limit is larger by the largest debt.
--- decide limit, cost, at, first, second, third, fourth
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
if instant < first or instant >= fourth then return '?' end
local start, next = first, second
if instant >= third then
  start, next = third, fourth
elseif instant >= second then
  start, next = second, third
end
if kept < start then -- within this window after a change of the zone it stays
  opened, count = string.format('%.0f', start), 0
end
if cost < 0 then
  if kept < start or count == 0 or at < start or at >= next then break end
  count = count + cost
  if count > 0 then
    life = next - now
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
after, life = opened .. string.format(' %.0f', count + cost), next - now
