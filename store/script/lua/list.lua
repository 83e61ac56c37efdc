-- Groups of ops, one after the other at one instant: each is all or nothing, and
-- sees what the ones before it have taken.
--
-- KEYS   the stored names, in the order of the ops
-- ARGV   the instant in µs, or '' for the server's clock; the least time to live in
--        ms; the count of calls, and for each its kind, the count of its numbers and
--        the numbers; then for each group the count of its ops and the call of each,
--        or for several that ask one slot for the same: 0, their count, the call of
--        one, and that of all, which is one of so many times the cost
-- reply  the instant, then for each group ';' its verdict and the states before its
--        ops, with ',' between them. '-' denied, '!' and the index of an op whose
--        state is not one of its kind, '?' and that of one whose Lua failed. For
--        several ';*' the count of those admitted, which come first, ',' and the
--        state before them
-- Go     Store.Apply, and with WRITES false Store.Peek
local now, shown = clock(ARGV[1])
local least = ARGV[2] + 0
local calls, place = {}, 4
for i = 1, ARGV[3] + 0 do
  local kind, last = kinds[ARGV[place]], place + 1 + ARGV[place + 1]
  local one = { decide = kind.decide, append = kind.append }
  for k = place + 2, last do one[#one + 1] = ARGV[k] + 0 end
  calls[text(i)], place = one, last + 1
end

-- Strings are read once and written once, after the last group: a write that the
-- server refuses is refused before anything has changed. Logs are written at once.
local states, lives, changed = {}, {}, {}

local function decided(key, one)
  local state = key
  if not one.append then
    state = states[key]
    if state == nil then
      state = get(key)
      if state == nil then return nil end
      states[key] = state
    end
  end
  local admitted, next, reset, before =
    one.decide(state, now, one[1], one[2], one[3], one[4], one[5], one[6], one[7], one[8])
  return admitted, next, reset, before or state or ''
end

local function commit(key, one, next, reset)
  local px = expiry(reset, least)
  if one.append then return one.append(key, next, px) end
  if not lives[key] then changed[#changed + 1] = key end
  states[key], lives[key] = next ~= '' and next, px
end

local function single(key, one)
  local admitted, next, reset, state = decided(key, one)
  if admitted == nil then return (next or '!') .. '1' end
  if next and WRITES then commit(key, one, next, reset) end
  return (admitted and '+' or '-') .. state
end

local function several(first, count)
  local all, reply, nexts, resets = true, {}, {}, {}
  for i = 1, count do
    local admitted, next, reset, state = decided(KEYS[first + i], calls[ARGV[place + i]])
    if admitted == nil then return (next or '!') .. text(i) end
    all = all and admitted
    reply[i], nexts[i], resets[i] = state, next, reset
  end
  if all and WRITES then
    for i = 1, count do
      if nexts[i] then commit(KEYS[first + i], calls[ARGV[place + i]], nexts[i], resets[i]) end
    end
  end
  return (all and '+' or '-') .. table.concat(reply, ',')
end

-- alike decides groups of one op that ask for the same: at one instant, those that
-- are admitted come before those that are not.
local function alike(key, times, one, all)
  local admitted, next, reset, state = decided(key, all)
  if admitted == nil then return (next or '!') .. '1' end
  if admitted then
    if next then commit(key, all, next, reset) end
    return '*' .. text(times) .. ',' .. state
  end
  local count = 0
  for _ = 1, times do
    admitted, next, reset = decided(key, one)
    if not admitted then break end
    commit(key, one, next, reset)
    count = count + 1
  end
  return '*' .. text(count) .. ',' .. state
end

local replies, key = { shown }, 0
while place <= #ARGV do
  local count, answer = ARGV[place] + 0, nil
  if count == 1 then
    answer = single(KEYS[key + 1], calls[ARGV[place + 1]])
  elseif count > 1 then
    answer = several(key, count)
  elseif WRITES then
    answer = alike(KEYS[key + 1], ARGV[place + 1] + 0, calls[ARGV[place + 2]], calls[ARGV[place + 3]])
    count, place = 1, place + 2
  end
  replies[#replies + 1] = answer
  key, place = key + count, place + count + 1
end
for i = 1, #changed do
  put(changed[i], states[changed[i]] or '', lives[changed[i]])
end
return table.concat(replies, ';')
