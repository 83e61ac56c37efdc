-- One op, whose state is a string.
--
-- KEYS[1]  the stored name
-- ARGV     the instant in µs, or '' for the server's clock; the least time to live
--          in ms; then the numbers of the limit and those of the request
-- reply    verdict, instant and state before, such as "+1790000000:123456 17900000002345678";
--          '-' denied, '!' not a state of this kind, '?' the Lua of this kind failed
-- Go       Store.Apply, and with WRITES false Store.Peek
--
-- In place of DECIDE comes the body of a decide, as unfold.go makes it: it sets the
-- verdict, the next state and its ResetAfter. What list.lua has functions for stands
-- here in line: they would cost more than what they do.
local key, argv, now = KEYS[1], ARGV, ARGV[1]
local seconds, colon, micros = now, '', ''
if now == '' then
  local time = call('TIME')
  seconds, colon, micros = time[1], ':', time[2]
  now = seconds * 1000000 + micros
else
  now = now + 0
end
local state = try('GET', key)
if state and state.err then -- a string has no err
  if sub(state.err, 1, 9) == 'WRONGTYPE' then return '!' end
  return call('GET', key)
end
local verdict, after, life = '+'
repeat
  DECIDE
until true
if after and WRITES then
  local px = floor((life + 999) / 1000) + 1000
  if argv[2] ~= '0' and px < argv[2] + 0 then px = argv[2] + 0 end
  if after == '' then call('DEL', key) else call('SET', key, after, 'PX', text(px)) end
end
return verdict .. seconds .. colon .. micros .. ' ' .. (state or '')
