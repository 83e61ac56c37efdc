-- One op, whose state is a string.
--
-- KEYS[1]  the stored name
-- ARGV     the instant in µs, or '' for the server's clock; the least time to live
--          in ms; then the numbers of the limit and those of the request
-- reply    verdict, instant and state before, such as "+1790000000:123456 17900000002345678";
--          '-' denied, '!' not a state of this kind, '?' the Lua of this kind failed
-- Go       Store.Apply, and with WRITES false Store.Peek
--
-- What list.lua has functions for stands here in line: they would cost more than
-- what they do.
local now, shown = ARGV[1], ARGV[1]
if now == '' then
  local time = call('TIME')
  now, shown = time[1] * 1000000 + time[2], time[1] .. ':' .. time[2]
else
  now = now + 0
end
local state = try('GET', KEYS[1])
if state and state.err then -- a string has no err
  if sub(state.err, 1, 9) == 'WRONGTYPE' then return '!' end
  return call('GET', KEYS[1])
end
local admitted, next, reset = decide(state, now, NUMBERS)
if admitted == nil then return next or '!' end
if next and WRITES then
  local px = floor((reset + 999) / 1000) + 1000
  px = px < ARGV[2] + 0 and ARGV[2] or text(px)
  if next == '' then call('DEL', KEYS[1]) else call('SET', KEYS[1], next, 'PX', px) end
end
return (admitted and '+' or '-') .. shown .. ' ' .. (state or '')
