-- load returns the whole state at key as text, false where there is none, nil
-- where there is something else. A list is its entries without sums, joined by spaces;
-- extra, which its first element ends with, comes first where it is not 0.
local function load(key, layout)
  if layout == 'string' then return get(key) end
  local elements = try('LRANGE', key, 0, -1)
  if not elements.err then
    if #elements == 0 then return false end
    local head, heading = string.match(elements[1], '^([^+]*)%+([1-9]?%d*):%d+$')
    if head then elements[1] = head end
    for i = 1, #elements do
      local stamp, digits = string.match(elements[i], '^(%d+):([1-9]%d*):[:%d]*$')
      if stamp then elements[i] = digits == '1' and stamp or stamp .. ':' .. digits end
    end
    local words = table.concat(elements, ' ')
    return head and heading ~= '0' and '+' .. heading .. ' ' .. words or words
  end
  if string.sub(elements.err, 1, 9) == 'WRONGTYPE' then return nil end
  return call('LRANGE', key, 0, -1)
end
