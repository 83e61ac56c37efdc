--- include entry

--- include sum

-- sumsAt returns the sums of the entry at index, which is the last of a block: of cost - 1
-- for each block that it ends, extra being its own. It returns nil where one of them is
-- not an entry. The list still has the entries before first, which has the place place.
local function sumsAt(key, first, place, index, extra)
  local chunk = call('LRANGE', key, first + index - 15, first + index - 1)
  for i = 1, #chunk do
    local instant, cost = entry(string.match(chunk[i], '^[^+]*'))
    if not instant then return nil end
    extra = extra + cost - 1
  end
  local shown, size, level = string.format(':%.0f', extra), 16, 1
  while level < 9 and (place + index + 1) % (size * 4) == 0 and index + 1 >= size * 4 do
    for i = 1, 3 do
      local instant, _, below = entry(call('LINDEX', key, first + index - i * size))
      local block = instant and sum(below, level)
      if not block then return nil end
      extra = extra + block
    end
    shown, size, level = shown .. string.format(':%.0f', extra), size * 4, level + 1
  end
  return extra > 0 and shown or ''
end
