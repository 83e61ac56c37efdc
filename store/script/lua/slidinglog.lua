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
  local at = number(element)
  if at then return at <= 7000000000000000 and at or nil, 1 end
  local a, c = match(element, '^(%d+):(%d+)$')
  if not a then return nil end
  local cost
  at, cost = number(a), number(c)
  if not (at and cost) or at > 7000000000000000 or cost < 2 then return nil end
  return at, cost
end

-- pass walks over the entries from index on while more(at, units so far) holds,
-- and returns the index after them, their units, and the instant of the last one.
local function pass(key, index, count, units, at, more)
  local size = 8
  while index < count do
    local chunk = call('LRANGE', key, index, index + size - 1)
    for i = 1, #chunk do
      local instant, cost = entry(chunk[i])
      if not instant then return nil end
      if not more(instant, units) then return index + i - 1, units, at end
      units, at = units + cost, instant
    end
    index, size = index + #chunk, 256
  end
  return index, units, at
end

local function decide(key, now, limit, period, cost)
  local count = try('LLEN', key)
  if type(count) == 'table' then
    if sub(count.err, 1, 9) == 'WRONGTYPE' then return nil end
    return call('LLEN', key)
  end
  if count == 0 then
    if cost > limit then return false, nil, nil, '' end
    if cost == 0 then return true, nil, nil, '' end
    return true, { fresh = true, at = now, extra = cost - 1, cost = cost }, period, ''
  end

  local head = call('LRANGE', key, 0, 1)
  local first, extra = 0, 0
  if sub(head[1], 1, 1) == '+' then
    first, extra = 1, number(sub(head[1], 2))
    if count == 1 or not extra or extra < 1 then return nil end
  end
  local oldest = entry(head[first + 1])
  local last, last_cost = entry(call('LINDEX', key, -1))
  if not (oldest and last) or oldest > last then return nil end
  local instant = max(now, last)
  local cut = instant - period

  local begin, left = first, 0 -- the first entry that counts, the units before it
  if oldest <= cut then
    begin, left = pass(key, first, count, 0, 0, function(at) return at <= cut end)
    if not begin then return nil end
  end
  local units = count - first + extra - left
  if units < 0 or units > 0 and last <= cut then return nil end -- not in order
  local shown = units > 0 and text(units) .. ' ' .. text(last) or ''
  if cost == 0 then return true, nil, nil, shown end
  if units > limit - cost then
    if cost > limit then return false, nil, nil, shown end
    local excess = units - (limit - cost)
    local index, through, at = pass(key, begin, count, 0, 0, function(_, sum) return sum < excess end)
    if not index or through < excess or at <= cut then return nil end
    return false, nil, nil, shown .. ' ' .. text(at) .. ' ' .. text(through)
  end

  local dropped = begin - first
  local plan = { at = instant, cost = cost, drop = dropped, header = first, extra = extra - (left - dropped) }
  if units > 0 and last == instant then
    plan.merge, plan.extra = last_cost + cost, plan.extra + cost
  else
    plan.extra = plan.extra + cost - 1
  end
  return true, plan, instant + period - now, shown
end

-- append writes what decide has planned.
local function append(key, plan, px)
  local header = '+' .. text(plan.extra)
  if not plan.fresh then
    if plan.drop > 0 then
      call('LTRIM', key, plan.header + plan.drop, -1)
      if plan.extra > 0 then call('LPUSH', key, header) end
    elseif plan.header == 1 then
      call('LSET', key, 0, header)
    elseif plan.extra > 0 then
      call('LPUSH', key, header)
    end
  elseif plan.extra > 0 then
    call('RPUSH', key, header)
  end
  if plan.merge then
    call('LSET', key, -1, text(plan.at) .. ':' .. text(plan.merge))
  elseif plan.cost == 1 then
    call('RPUSH', key, text(plan.at))
  else
    call('RPUSH', key, text(plan.at) .. ':' .. text(plan.cost))
  end
  call('PEXPIRE', key, px)
end
