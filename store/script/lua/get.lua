-- get returns the string at key, false where there is none, nil where there is
-- something else.
local function get(key)
  local value = try('GET', key)
  if not value or not value.err then return value end -- a string has no err
  if string.sub(value.err, 1, 9) == 'WRONGTYPE' then return nil end
  return call('GET', key)
end
