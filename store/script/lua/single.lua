-- One op of NAME, whose state is a string.
--
-- KEYS[1]  the stored name
-- ARGV     the instant in µs, or '' for the server's clock; the least time to live in
--          ms, or '' for a look, which writes nothing; NUMBERS
-- reply    verdict, instant and state before, such as "+1790000000:123456 17900000002345678";
--          '-' denied; '!' alone: not a state of this kind
-- Go       Store.Apply and Store.Peek; pending.single in reply.go reads the reply
--
-- Functions are defined where they are needed: to define one costs as much as to call it.
-- Numbers are whole and below 2^53, which a Lua number holds exactly; floor(x / y) and
-- x % y are exact for 0 <= x < 2^53. tostring and .. cut a number to 14 digits; string.format
-- with %.0f does not, nor does the server where a number is an argument of a command.
local call = redis.call
local try = redis.pcall
local floor = math.floor
--- include instant
local state = try('GET', key)
if state and state.err then -- a string has no err
  if string.sub(state.err, 1, 9) == 'WRONGTYPE' then return '!' end
  return call('GET', key)
end

--- kind
local verdict, after, life = '+', nil, nil
repeat
  --- numbers
  --- decide
until true
if after and argv[2] ~= '' then
  local px = floor((life + 999) / 1000) + 1000
  if argv[2] ~= '0' and px < argv[2] + 0 then px = argv[2] + 0 end
  call('SET', key, after, 'PX', px)
end
return verdict .. seconds .. colon .. micros .. ' ' .. (state or '')
