--- include entry

-- pass walks over the entries from index on, past those up to the instant cut and past
-- excess units, and returns the index after them, their units, and the instant of the
-- last one.
local function pass(key, index, count, cut, excess)
  local units, at, size = 0, 0, 8
  while index < count do
    local chunk = call('LRANGE', key, index, index + size - 1)
    for i = 1, #chunk do
      local instant, cost = entry(chunk[i])
      if not instant then return nil end
      if instant > cut and units >= excess then return index + i - 1, units, at end
      units, at = units + cost, instant
    end
    index, size = index + #chunk, 256
  end
  return index, units, at
end
