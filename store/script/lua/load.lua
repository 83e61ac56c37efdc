-- load returns the whole state at key as text, false where there is none, nil
-- where there is something else. A list is its elements joined by spaces.
local function load(key, layout)
  if layout == 'string' then return get(key) end
  local elements = try('LRANGE', key, 0, -1)
  if not elements.err then
    return #elements > 0 and table.concat(elements, ' ')
  end
  if string.sub(elements.err, 1, 9) == 'WRONGTYPE' then return nil end
  return call('LRANGE', key, 0, -1)
end
