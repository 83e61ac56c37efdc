-- The holders of the units of one slot: acquire, renew, release and peek.
--
-- KEYS[1]  the stored name of the slot, a sorted set with
--            <cost>:<id>   a holder, scored by the instant at which it expires
--            ''            minus the units of all holders in the set
-- ARGV     the instant in µs, '' for the clock of the server; how long the set is kept at
--          least, in ms; the verb; the member of the holder; its cost; the limit; the life
--          in µs; how many holders there are at most
-- reply    '<held> <in use> <until> <next> <instant>', '!' what is there is no such set,
--          'full' there are too many holders
-- Go       Memory in resilience/inflight/memory.go
--
-- A call that changes nothing for its holder writes nothing. The others also drop what has
-- expired.
local call = redis.call
local try = redis.pcall
local key, verb, member = KEYS[1], ARGV[3], ARGV[4]
local cost, limit, life, most = ARGV[5] + 0, ARGV[6] + 0, ARGV[7] + 0, ARGV[8] + 0

-- text writes a whole number: tostring and .. cut it to 14 digits.
local function text(x) return string.format('%.0f', x) end

local now = ARGV[1]
if now == '' then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
else
  now = now + 0
end

local total = try('ZSCORE', key, '')
if type(total) == 'table' and total.err then
  if string.sub(total.err, 1, 9) == 'WRONGTYPE' then return '!' end
  total = call('ZSCORE', key, '')
end
if not total and call('ZCARD', key) > 0 then return '!' end
local used = total and -tonumber(total) or 0

-- What has expired, and the units of live holders. The score of '' is below 0.
local expired, inUse = {}, used
if total then expired = call('ZRANGEBYSCORE', key, '0', text(now)) end
for i = 1, #expired do
  local units = string.match(expired[i], '^([1-9]%d*):')
  if not units then return '!' end
  inUse = inUse - units
end
if inUse < 0 then return '!' end

local function reply(held, until_, next)
  return held .. ' ' .. text(inUse) .. ' ' .. text(until_) .. ' ' .. text(next) .. ' ' .. text(now)
end

-- next is when the first live hold expires, 0 for none.
local function next()
  if inUse == 0 then return 0 end
  local first = call('ZRANGEBYSCORE', key, '(' .. text(now), '+inf', 'WITHSCORES', 'LIMIT', '0', '1')
  return first[2] and tonumber(first[2]) or 0
end

if verb == 'peek' then return reply('0', 0, next()) end

local until_ = total and call('ZSCORE', key, member)
until_ = until_ and tonumber(until_) or 0
local live = until_ > now
if not live then
  if verb ~= 'acquire' then return reply('0', 0, 0) end
  if cost > limit - inUse then return reply('0', 0, next()) end
  if total and call('ZCARD', key) - 1 - #expired >= most then return 'full' end
  inUse = inUse + cost
end

-- The server lets its user write everything or nothing: every command that writes is tried
-- before, in a way that changes nothing, the one that needs memory first.
call('ZADD', key, 'XX', '0', '-')
call('ZREM', key, '-')
call('PEXPIRE', key, '1', 'GT')
for from = 1, #expired, 1000 do
  call('ZREM', key, unpack(expired, from, math.min(from + 999, #expired)))
end
if verb == 'release' then
  inUse = inUse - cost
  call('ZREM', key, member)
  if inUse == 0 then
    call('ZREM', key, '')
  else
    call('ZADD', key, text(-inUse), '')
  end
  return reply('1', 0, 0)
end
until_ = math.max(until_, now + life)
call('ZADD', key, text(-inUse), '', text(until_), member)
local px = math.max(math.ceil((until_ - now) / 1000) + 1000, ARGV[2] + 0)
if call('PTTL', key) < px then call('PEXPIRE', key, text(px)) end
return reply('1', until_, 0)
