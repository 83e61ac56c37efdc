-- sliding-log/1, a list: "+extra" where there is an entry of a cost above 1, then
-- the entries "at[:cost]", the oldest first. extra is the sum of their cost - 1,
-- so that the units of the whole list are known without reading it.
-- Go: SlidingLog.StepInPlace in algorithm/slidinglog.go.
--
-- limit   in units
-- period  in µs
-- cost    in units, at most limit + 1
--
-- What it shows of the state before is "units last": the units that count and the
-- last instant, both before the step; where it denies, followed by the instant of
-- the entry that has to leave and the units up to it: " at through".
--- decide limit, period, cost
before = ''
local head = try('LINDEX', key, '0')
if not head then
  if cost > limit then
    verdict = '-'
  elseif cost > 0 then
    after, life = { at = now, cost = cost, drop = 0, header = 0, extra = cost - 1 }, period
  end
  break
elseif head.err then -- a string has no err
  if string.sub(head.err, 1, 9) == 'WRONGTYPE' then return '!' end
  return call('LINDEX', key, '0')
end
local count = call('LLEN', key)

-- Most logs have neither a header nor an entry of a cost above 1.
local first, extra, oldest, oldest_cost, last, last_cost = 0, 0, 0, 1, 0, 1
if #head < 17 and string.find(head, '^[1-9]%d*$') then
  oldest = head + 0
else
  if string.sub(head, 1, 1) == '+' then
    first = 1
    local digits = string.match(head, '^%+([1-9]%d*)$')
    if count == 1 or not digits or digits + 0 > 9007199254740991 then return '!' end
    extra, head = digits + 0, call('LINDEX', key, '1')
  end
  --- include entry
  oldest, oldest_cost = entry(head)
  head = oldest and string.format('%.0f', oldest)
end
local tail = call('LINDEX', key, '-1')
if #tail < 17 and string.find(tail, '^[1-9]%d*$') then
  last = tail + 0
else
  --- include entry
  last, last_cost = entry(tail)
  tail = last and string.format('%.0f', last)
end
if not (oldest and last) or oldest > last or last > 7000000000000000 then return '!' end
local instant = now
if last > now then instant = last end
local cut = instant - period

local begin, left = first, 0 -- the first entry that counts, the units before it
if oldest <= cut then
  local second = count > first + 1 and call('LINDEX', key, first == 0 and '1' or '2')
  if second and #second < 17 and string.find(second, '^[1-9]%d*$') and second + 0 > cut and second + 0 <= last then
    begin, left = first + 1, oldest_cost
  else
    --- include pass
    begin, left = pass(key, first, count, cut, 0)
    if not begin then return '!' end
  end
end
local units = count - first + extra - left
if units < 0 or units > 0 and last <= cut then return '!' end -- not in order
if units > 0 then before = string.format('%.0f ', units) .. tail end
if cost == 0 then break end
if units > limit - cost then
  verdict = '-'
  if cost > limit then break end
  local excess = units - (limit - cost)
  if begin == first and excess <= oldest_cost then
    before = before .. ' ' .. head .. string.format(' %.0f', oldest_cost)
    break
  end
  --- include pass
  local index, through, at = pass(key, begin, count, -1, excess)
  if not index or through < excess or at <= cut then return '!' end
  before = before .. string.format(' %.0f %.0f', at, through)
  break
end

local dropped, merged = begin - first, nil
extra = extra - (left - dropped) + cost - 1
if units > 0 and last == instant then merged, extra = last_cost + cost, extra + 1 end
after = { at = instant, cost = cost, drop = dropped, header = first, extra = extra, merged = merged }
life = instant + period - now
--- write
local at, cost, extra = after.at, after.cost, after.extra
if after.drop > 0 then
  call('LTRIM', key, after.header + after.drop, '-1')
end
if after.header == 1 and after.drop == 0 then
  call('LSET', key, '0', string.format('+%.0f', extra))
elseif extra > 0 then
  call('LPUSH', key, string.format('+%.0f', extra))
end
if after.merged then
  call('LSET', key, '-1', string.format('%.0f:%.0f', at, after.merged))
elseif cost == 1 then
  call('RPUSH', key, at)
else
  call('RPUSH', key, string.format('%.0f:%.0f', at, cost))
end
call('PEXPIRE', key, px)
