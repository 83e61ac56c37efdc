-- The states of several slots at one instant, for algorithms without Lua.
--
-- KEYS   the stored names
-- ARGV   the instant in µs, or '' for the server's clock; then for each key 'list'
--        or 'string'
-- reply  the instant, then for each key a newline and '-' (none), '!' (of another
--        type), or '=', the length of the state, ':' and the state
-- Go     comparison.read in cas.go
local call = redis.call
local try = redis.pcall

--- include text

--- include get

--- include load

--- include clock

local _, shown = clock(ARGV[1])
local out = { shown }
for i = 1, #KEYS do
  local state = load(KEYS[i], ARGV[i + 1])
  if state == nil then
    out[i + 1] = '!'
  elseif not state then
    out[i + 1] = '-'
  else
    out[i + 1] = '=' .. text(#state) .. ':' .. state
  end
end
return table.concat(out, '\n')
