-- One op of NAME, whose state is a list.
--
-- KEYS[1]  the stored name
-- ARGV     the instant in µs, or '' for the server's clock; the least time to live in
--          ms, or '' for a look, which writes nothing; NUMBERS
-- reply    verdict, instant and what decides of the state before, as said below; '-'
--          denied; '!' alone: not a state of this kind
-- Go       Store.Apply and Store.Peek; pending.single in reply.go reads the reply
local call = redis.call
local try = redis.pcall
local floor = math.floor
--- include instant

--- kind
local verdict, after, life, before = '+', nil, nil, nil
repeat
  --- numbers
  --- decide
until true
if after and argv[2] ~= '' then
  local px = floor((life + 999) / 1000) + 1000
  if argv[2] ~= '0' and px < argv[2] + 0 then px = argv[2] + 0 end
  --- write
end
return verdict .. seconds .. colon .. micros .. ' ' .. before
