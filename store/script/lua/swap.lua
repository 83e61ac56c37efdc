-- Compare and set of several slots: if every state is still what it was, those
-- that change are written.
--
-- KEYS   the stored names
-- ARGV   for each key: 'list' or 'string', '-' or '=' and the state as it was read,
--        the next state in the same form ('' where it stays), its time to live in ms
-- reply  '1' done, '0' a state has changed meanwhile
-- Go     comparison.swap in cas.go
local call = redis.call
local try = redis.pcall

--- include text

--- include get

--- include load

--- include listof

for i = 1, #KEYS do
  local state = load(KEYS[i], ARGV[4 * i - 3])
  if (state and '=' .. state or '-') ~= ARGV[4 * i - 2] then return '0' end
end

-- The server lets its user write everything or nothing: what comes after the first write
-- is tried before, in a way that changes nothing.
for i = 1, #KEYS do
  local key, layout, verb = KEYS[i], ARGV[4 * i - 3], string.sub(ARGV[4 * i - 1], 1, 1)
  if verb ~= '' then
    call('SET', key, '', ARGV[4 * i - 2] == '-' and 'XX' or 'NX')
    call('PEXPIRE', key, '1000', 'NX')
    if layout == 'list' then call('LTRIM', key, '0', '-1') end
  end
end
for i = 1, #KEYS do
  local key, layout, px = KEYS[i], ARGV[4 * i - 3], ARGV[4 * i]
  local verb, next = string.sub(ARGV[4 * i - 1], 1, 1), string.sub(ARGV[4 * i - 1], 2)
  if verb == '=' and layout == 'list' then
    local old, elements = call('LLEN', key), listOf(next)
    for from = 1, #elements, 1000 do
      call('RPUSH', key, unpack(elements, from, math.min(from + 999, #elements)))
    end
    call('PEXPIRE', key, px)
    if old > 0 then call('LTRIM', key, old, '-1') end
  end
end
for i = 1, #KEYS do
  local key, layout, px = KEYS[i], ARGV[4 * i - 3], ARGV[4 * i]
  local verb, next = string.sub(ARGV[4 * i - 1], 1, 1), string.sub(ARGV[4 * i - 1], 2)
  if verb == '-' then
    call('PEXPIRE', key, '0')
  elseif verb == '=' and layout == 'string' then
    call('SET', key, next, 'PX', px)
  end
end
return '1'
