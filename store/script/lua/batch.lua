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
--- include groups

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

--- include refusals

local replies, key = { shown }, 0
while place <= #ARGV do
  local count, answer = ARGV[place] + 0, nil
  if count == 1 then
    answer = single(KEYS[key + 1], requests[ARGV[place + 1] + 0])
  elseif count > 1 then
    answer = several(key, count)
  elseif writes then
    answer = coalesced(KEYS[key + 1], ARGV[place + 1] + 0, requests[ARGV[place + 2] + 0], requests[ARGV[place + 3] + 0])
    count, place = 1, place + 2
  end
  replies[#replies + 1] = answer
  key, place = key + count, place + count + 1
end
--- include writestrings
return table.concat(replies, ';')
