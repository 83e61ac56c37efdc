-- sliding-log/1, a list: "+extra" where there is an entry of a cost above 1, then
-- the entries "at[:cost]", the oldest first. extra is the sum of their cost - 1,
-- so that the units of the whole list are known without reading it.
-- Go: SlidingLog.StepInPlace in algorithm/slidinglog.go.
--
-- limit   in units
-- period  in µs
-- cost    in units, at most limit + 1
--
-- What decide shows of the state before is "units last": the units that count and
-- the last instant, both before the step; where it denies, followed by the instant
-- of the entry that has to leave and the units up to it: " at through".

-- entry reads an element of the list; nil where it is not an entry.
local function entry(element)
  if find(element, '^[1-9]%d*$') or element == '0' then
    local at = element + 0
    return at <= 7000000000000000 and at or nil, 1
  end
  local a, c = match(element, '^(%d+):([1-9]%d*)$')
  if not a or a < '1' and a ~= '0' then return nil end
  local at, cost = a + 0, c + 0
  if at > 7000000000000000 or cost < 2 or cost > 9007199254740991 then return nil end
  return at, cost
end

-- pass walks over the entries from index on, past those up to the instant cut and past
-- excess units, and returns the index after them, their units, and the instant of the
-- last one.
local function pass(key, index, count, cut, excess)
  local units, at, size = 0, 0, 8
  while index < count do
    local stop = index + size - 1
    local chunk = call('LRANGE', key, text(index), text(stop))
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

local function decide(key, now, limit, period, cost)
  local head = try('LINDEX', key, '0')
  if not head then
    if cost > limit then return false, nil, nil, '' end
    if cost == 0 then return true, nil, nil, '' end
    return true, { at = now, cost = cost, drop = 0, header = 0, extra = cost - 1 }, period, ''
  elseif head.err then -- a string has no err
    if sub(head.err, 1, 9) == 'WRONGTYPE' then return nil end
    return call('LINDEX', key, '0')
  end
  local count = call('LLEN', key)

  -- Most logs have neither a header nor an entry of a cost above 1.
  local first, extra, oldest, oldest_cost, last, last_cost = 0, 0, 0, 1, 0, 1
  if #head < 17 and find(head, '^[1-9]%d*$') then
    oldest = head + 0
  else
    if sub(head, 1, 1) == '+' then
      first, extra = 1, number(sub(head, 2))
      if count == 1 or not extra or extra < 1 then return nil end
      head = call('LINDEX', key, '1')
    end
    oldest, oldest_cost = entry(head)
    head = oldest and text(oldest)
  end
  local tail = call('LINDEX', key, '-1')
  if #tail < 17 and find(tail, '^[1-9]%d*$') then
    last = tail + 0
  else
    last, last_cost = entry(tail)
    tail = last and text(last)
  end
  if not (oldest and last) or oldest > last or last > 7000000000000000 then return nil end
  local instant = now
  if last > now then instant = last end
  local cut = instant - period

  local begin, left = first, 0 -- the first entry that counts, the units before it
  if oldest <= cut then
    local second = count > first + 1 and call('LINDEX', key, first == 0 and '1' or '2')
    if second and #second < 17 and find(second, '^[1-9]%d*$') and second + 0 > cut and second + 0 <= last then
      begin, left = first + 1, oldest_cost
    else
      begin, left = pass(key, first, count, cut, 0)
      if not begin then return nil end
    end
  end
  local units = count - first + extra - left
  if units < 0 or units > 0 and last <= cut then return nil end -- not in order
  local shown = units > 0 and text(units) .. ' ' .. tail or ''
  if cost == 0 then return true, nil, nil, shown end
  if units > limit - cost then
    if cost > limit then return false, nil, nil, shown end
    local excess = units - (limit - cost)
    if begin == first and excess <= oldest_cost then
      return false, nil, nil, shown .. ' ' .. head .. ' ' .. text(oldest_cost)
    end
    local index, through, at = pass(key, begin, count, -1, excess)
    if not index or through < excess or at <= cut then return nil end
    return false, nil, nil, shown .. ' ' .. text(at) .. ' ' .. text(through)
  end

  local dropped, merged = begin - first, nil
  extra = extra - (left - dropped) + cost - 1
  if units > 0 and last == instant then merged, extra = last_cost + cost, extra + 1 end
  local change = { at = instant, cost = cost, drop = dropped, header = first, extra = extra, merged = merged }
  return true, change, instant + period - now, shown
end

-- append writes what decide has planned.
local function append(key, plan, px)
  if plan.drop > 0 then
    local kept = plan.header + plan.drop
    call('LTRIM', key, text(kept), '-1')
  end
  local extra = plan.extra
  if plan.header == 1 and plan.drop == 0 then
    call('LSET', key, '0', '+' .. text(extra))
  elseif extra > 0 then
    call('LPUSH', key, '+' .. text(extra))
  end
  local at, cost, merged = plan.at, plan.cost, plan.merged
  if merged then
    call('LSET', key, '-1', text(at) .. ':' .. text(merged))
  elseif cost == 1 then
    call('RPUSH', key, text(at))
  else
    call('RPUSH', key, text(at) .. ':' .. text(cost))
  end
  call('PEXPIRE', key, px)
end
