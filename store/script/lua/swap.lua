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

--- include get

--- include load

for i = 1, #KEYS do
  local state = load(KEYS[i], ARGV[4 * i - 3])
  if (state and '=' .. state or '-') ~= ARGV[4 * i - 2] then return '0' end
end
for i = 1, #KEYS do
  local key, layout, px = KEYS[i], ARGV[4 * i - 3], ARGV[4 * i]
  local verb, next = string.sub(ARGV[4 * i - 1], 1, 1), string.sub(ARGV[4 * i - 1], 2)
  if verb == '-' then
    call('DEL', key)
  elseif verb == '=' and layout == 'string' then
    call('SET', key, next, 'PX', px)
  elseif verb == '=' then
    call('DEL', key)
    local elements = {}
    for element in string.gmatch(next, '%S+') do
      elements[#elements + 1] = element
      if #elements == 1000 then
        call('RPUSH', key, unpack(elements))
        elements = {}
      end
    end
    if #elements > 0 then call('RPUSH', key, unpack(elements)) end
    call('PEXPIRE', key, px)
  end
end
return '1'
