-- One op on a sliding log.
--
-- KEYS[1]  the stored name
-- ARGV     the instant in µs, or '' for the server's clock; the least time to live
--          in ms; then limit, period and cost
-- reply    verdict, instant and what decide shows of the state before; '!' not a log
-- Go       Store.Apply, and with WRITES false Store.Peek
--
-- In place of DECIDE and APPEND come the bodies of the two, as unfold.go makes them.
local key, argv, now = KEYS[1], ARGV, ARGV[1]
local seconds, colon, micros = now, '', ''
if now == '' then
  local time = call('TIME')
  seconds, colon, micros = time[1], ':', time[2]
  now = seconds * 1000000 + micros
else
  now = now + 0
end
local verdict, after, life, before = '+'
repeat
  DECIDE
until true
if after and WRITES then
  local plan, px = after, floor((life + 999) / 1000) + 1000
  if argv[2] ~= '0' and px < argv[2] + 0 then px = argv[2] + 0 end
  px = text(px)
  APPEND
end
return verdict .. seconds .. colon .. micros .. ' ' .. before
