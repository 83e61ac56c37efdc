-- A group of ops that has an ID, at one instant and all or nothing: the first that is
-- committed is remembered, and a later one with the ID gets its reply.
--
-- KEYS   the stored names, in the order of the ops; then the name of the ID
-- ARGV   the instant in µs, or '' for the server's clock; the least time to live in ms;
--        the count of requests, and for each its kind, the count of its numbers and the
--        numbers; the count of the ops and the request of each; the digest of the ops;
--        how long the ID is remembered in µs
-- reply  that of batch.lua for one group, after '~' where the ID is remembered; '=' where
--        it is remembered with another digest, '!' where what is stored of it is not that
-- Go     Store.once in once.go. What is stored is the end in µs, the digest and the
--        reply: readRecord
--- include groups

--- include refusals

local id, count = KEYS[#KEYS], ARGV[place] + 0
local digest, ttl = ARGV[place + count + 1], ARGV[place + count + 2] + 0
local record = get(id)
if record == nil then return '!' end
if record then
  local ends, of, remembered = string.match(record, '^(%d+) (%x+) (.+)$')
  ends = ends and number(ends)
  if not ends then return '!' end
  if ends > now then
    if of ~= digest then return '=' end
    return '~' .. remembered
  end
end

-- The write of the ID comes last, and must not be refused when others are done.
strings = true
local commitOne, tried = commit, false
commit = function(...)
  if not tried then
    call('SET', id, '', record and 'NX' or 'XX')
    tried = true
  end
  return commitOne(...)
end

local answer
if count == 1 then
  answer = single(KEYS[1], requests[ARGV[place + 1] + 0])
else
  answer = several(0, count)
end
local replies = { shown, answer }
local whole = table.concat(replies, ';')
if string.sub(answer, 1, 1) == '+' then
  states[id] = text(now + ttl) .. ' ' .. digest .. ' ' .. whole
  lives[id] = floor((ttl + 999) / 1000) + 1000
  if lives[id] < least then lives[id] = least end
  changed[#changed + 1] = id
end
--- include writestrings
return whole
