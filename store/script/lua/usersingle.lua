-- One op of a kind whose Lua is a user's.
--
-- KEYS[1]  the stored name
-- ARGV     the instant in µs, or '' for the server's clock; the least time to live in
--          ms, or '' for a look, which writes nothing; the numbers of the Source
-- reply    verdict, instant and state before, such as "+1790000000:123456 7";
--          '-' denied; '!' alone: not a state of this kind; '?' and why: the Lua failed
-- Go       Store.Apply and Store.Peek; pending.single in reply.go reads the reply
local call = redis.call
local try = redis.pcall
local floor = math.floor

--- include text

--- include number

--- include muldiv

--- include get

--- include clock

-- USER'S LUA

local key, now, shown = KEYS[1], clock(ARGV[1])
local state = get(key)
if state == nil then return '!' end
local numbers = {}
for i = 3, #ARGV do numbers[i - 2] = ARGV[i] + 0 end
local verdict, after, life = decide(state, now, unpack(numbers))
if verdict == '!' then return verdict end
if verdict == '?' then
  local why = after
  return verdict .. why
end
if after and ARGV[2] ~= '' then
  local px = floor((life + 999) / 1000) + 1000
  if px < ARGV[2] + 0 then px = ARGV[2] + 0 end
  if after == '' then call('DEL', key) else call('SET', key, after, 'PX', px) end
end
return verdict .. shown .. ' ' .. (state or '')
