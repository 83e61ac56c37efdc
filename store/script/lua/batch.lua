-- Groups of ops, one after the other at one instant: each is all or nothing, and
-- sees what the ones before it have taken.
--
-- KEYS   the stored names, in the order of the ops
-- ARGV   the instant in µs, or '' for the server's clock; the least time to live in
--        ms, or '' for a look, which writes nothing; the count of requests, and for
--        each its kind, the count of its numbers and the numbers; then for each group
--        the count of its ops and the request of each, or for several groups that ask
--        one slot for the same: 0, their count, the request of one, and the request
--        of all, which is for the sum of their costs
-- reply  the instant, then for each group ';' its verdict and the states before its
--        ops, with ',' between them. '-' denied, '!' and the index of an op whose
--        state is not one of its kind, '?' and the index of one whose Lua failed, and why;
--        'x' and an error of the server, with which nothing was charged, 'X' and one with
--        which something was. For several groups ';*', the count of those admitted, which come first, ',' and the state before them
-- Go     Store.Apply and Store.Peek; call.batch in call.go, call.decode in reply.go
local call = redis.call
local try = redis.pcall
local floor = math.floor

--- include text

--- include number

--- include muldiv

--- include get

--- include clock

-- Functions are defined for the kinds that the call has: to define one costs as much as
-- to call it. A call without requests is a check that all kinds are Lua.
local kinds, used, all, place = {}, {}, ARGV[3] == '0', 4
local strings, allowed = false, false -- for logs: the call has strings, too; the user may write everything
for _ = 1, ARGV[3] + 0 do
  used[ARGV[place]] = true
  place = place + 2 + ARGV[place + 1]
end

--- kinds

-- KINDS OF USERS

local now, shown = clock(ARGV[1])
local writes, least = ARGV[2] ~= '', 0
if writes then least = ARGV[2] + 0 end
local requests, logs = {}, false
place = 4
for i = 1, ARGV[3] + 0 do
  local kind, last = kinds[ARGV[place]], place + 1 + ARGV[place + 1]
  local one = { decide = kind.decide, write = kind.write }
  for k = place + 2, last do one[#one + 1] = ARGV[k] + 0 end
  if kind.write then logs = true else strings = true end
  requests[text(i)], place = one, last + 1
end

-- Strings are read once and written once, after the last group: a write that the
-- server refuses is refused before anything has changed. Logs are written immediately.
local states, lives, changed, deletes = {}, {}, {}, false

-- refused is the answer to a group whose op i was not decided.
local function refused(verdict, i, why)
  if not why then return verdict .. text(i) end
  return verdict .. text(i) .. ' ' .. why
end

local function decided(key, one)
  local state = key
  if not one.write then
    state = states[key]
    if state == nil then
      state = get(key)
      if state == nil then return '!' end
      states[key] = state
    end
  end
  local verdict, after, life, before =
    one.decide(state, now, one[1], one[2], one[3], one[4], one[5], one[6], one[7], one[8])
  return verdict, after, life, before or state or ''
end

local function commit(key, one, after, life, alone)
  local px = floor((life + 999) / 1000) + 1000
  if px < least then px = least end
  if one.write then return one.write(key, after, px, alone) end
  if type(after) == 'number' then after = text(after) end
  if not lives[key] then changed[#changed + 1] = key end
  if after == '' then after, deletes = false, true end
  states[key], lives[key] = after, px
end

local function single(key, one)
  local verdict, after, life, before = decided(key, one)
  if verdict == '!' or verdict == '?' then return refused(verdict, 1, after) end
  if after and writes then commit(key, one, after, life, true) end
  return verdict .. before
end

local function several(first, count)
  local sign, reply, afters, lifes = '+', {}, {}, {}
  for i = 1, count do
    local verdict, after, life, before = decided(KEYS[first + i], requests[ARGV[place + i]])
    if verdict == '!' or verdict == '?' then return refused(verdict, i, after) end
    if verdict == '-' then sign = '-' end
    reply[i], afters[i], lifes[i] = before, after, life
  end
  if writes and sign == '+' then
    for i = 1, logs and count or 0 do -- logs come first: a write of one can be refused
      local one = requests[ARGV[place + i]]
      if afters[i] and one.write then
        commit(KEYS[first + i], one, afters[i], lifes[i])
        afters[i] = nil
      end
    end
    for i = 1, count do
      if afters[i] then commit(KEYS[first + i], requests[ARGV[place + i]], afters[i], lifes[i]) end
    end
  end
  return sign .. table.concat(reply, ',')
end

-- coalesced decides groups of one op that ask one slot for the same: at one instant,
-- those that are admitted come before those that are not.
local function coalesced(key, count, one, sum)
  local verdict, after, life, before = decided(key, sum)
  if verdict == '!' or verdict == '?' then return refused(verdict, 1, after) end
  if verdict == '+' then
    if after then commit(key, sum, after, life) end
    return '*' .. text(count) .. ',' .. before
  end
  local admitted = 0
  for _ = 1, count do
    verdict, after, life = decided(key, one)
    if verdict ~= '+' then break end
    commit(key, one, after, life)
    admitted = admitted + 1
  end
  return '*' .. text(admitted) .. ',' .. before
end

-- A write of a log, and a read behind it, can be refused when other groups are done.
if logs then
  local decideOne, decideSeveral = single, several
  local function answer(done, reply)
    if done then return reply end
    local mark = 'x' -- nothing was charged
    if type(reply) == 'table' then
      if reply.stays then mark = 'X' end
      reply = reply.err
    end
    local why = string.gsub(reply, '[;,%c]', ' ')
    return mark .. string.sub(why, 1, 200)
  end
  single = function(key, one) return answer(pcall(decideOne, key, one)) end
  several = function(first, count) return answer(pcall(decideSeveral, first, count)) end
end

local replies, key = { shown }, 0
while place <= #ARGV do
  local count, answer = ARGV[place] + 0, nil
  if count == 1 then
    answer = single(KEYS[key + 1], requests[ARGV[place + 1]])
  elseif count > 1 then
    answer = several(key, count)
  elseif writes then
    answer = coalesced(KEYS[key + 1], ARGV[place + 1] + 0, requests[ARGV[place + 2]], requests[ARGV[place + 3]])
    count, place = 1, place + 2
  end
  replies[#replies + 1] = answer
  key, place = key + count, place + count + 1
end
if writes then
  if deletes and #changed > 1 then -- by PEXPIRE; where a SET comes before it, both are tried first
    for i = 1, #changed do
      if not states[changed[i]] then
        call('SET', changed[i], '', call('GET', changed[i]) and 'NX' or 'XX')
        call('PEXPIRE', changed[i], lives[changed[i]], 'NX')
      end
    end
  end
  for i = 1, #changed do
    local state = states[changed[i]]
    if state then call('SET', changed[i], state, 'PX', lives[changed[i]]) end
  end
  for i = 1, deletes and #changed or 0 do
    if not states[changed[i]] then call('PEXPIRE', changed[i], '0') end
  end
end
return table.concat(replies, ';')
