local key, argv, now = KEYS[1], ARGV, ARGV[1]
local seconds, colon, micros = now, '', ''
if now == '' then
  local time = call('TIME')
  seconds, colon, micros = time[1], ':', time[2]
  now = seconds * 1000000 + micros
else
  now = now + 0
end
