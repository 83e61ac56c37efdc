--- include entry

--- include sum

-- walk goes over the entries from index on, up to stop or to the entry with which their
-- units reach wanted, and returns the units and the instant of that entry, or nil where
-- one is not an entry. It passes whole blocks by their sums: it reads 4 entries for each
-- level, and those of 2 blocks of 16. The entry at index 0 has the place place.
local function walk(key, place, index, stop, wanted)
  local units, at = 0, 0
  while index < stop and units < wanted do
    local size, level, passed = 16, 0, false
    while level < 9 and (place + index) % size == 0 and index + size <= stop do
      size, level = size * 4, level + 1
    end
    while level > 0 and not passed do
      size = floor(size / 4)
      local instant, _, sums = entry(call('LINDEX', key, index + size - 1))
      local extra = instant and sum(sums, level)
      if not extra then return nil end
      if units + size + extra < wanted then
        index, units, at, passed = index + size, units + size + extra, instant, true
      end
      level = level - 1
    end
    if not passed then
      local chunk = call('LRANGE', key, index, index + 15 - (place + index) % 16)
      for i = 1, #chunk do
        local instant, cost = entry(string.match(chunk[i], '^[^+]*'))
        if not instant then return nil end
        index, units, at = index + 1, units + cost, instant
        if index == stop or units >= wanted then break end
      end
    end
  end
  return units, at
end
