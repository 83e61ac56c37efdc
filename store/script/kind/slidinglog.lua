-- sliding-log/1, a list of entries "at[:cost[:sum …]]", the oldest first. Where there has
-- been a cost above 1 since the list was made, the first of them goes on with
-- "+extra:place": extra is the sum of all cost - 1, so that the units of the whole list
-- are known without reading it; place is where the entry stands in its blocks. An entry
-- that is the last of a block of 16 · 4^k, k = 0 … 8, has the sum of cost - 1 of the block,
-- and of the smaller ones that it ends, so that a unit is found without reading what is
-- before it. The entry at index i is the last of a block of n where place + i + 1 is a
-- multiple of n. Where all of its sums are 0 they are left out.
-- Go: SlidingLog.StepInPlace in algorithm/slidinglog.go.
--
-- limit   in units
-- period  in µs
-- cost    in units, at most limit + 1
--
-- A charge is a take whose limit is larger by the largest debt. A refund, which moves
-- entries between blocks, is made by compare-and-set.
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
    after, life = { drop = 0, kept = 0, text = now }, period
    if cost > 1 then after.text = string.format('%.0f:%.0f', now, cost) .. string.format('+%.0f:%.0f', cost - 1, 0) end
  end
  break
elseif head.err then -- a string has no err
  if string.sub(head.err, 1, 9) == 'WRONGTYPE' then return '!' end
  return call('LINDEX', key, '0')
end
local count = call('LLEN', key)

-- Most logs have neither extra nor an entry of a cost above 1.
local opened, final -- the first and the last entry as text, where they are instants alone
local whole, extra, place, oldest, oldest_cost, last, last_cost = head, 0, false, 0, 1, 0, 1
if #head < 17 and string.find(head, '^[1-9]%d*$') then
  oldest, opened = head + 0, head
else
  local element, sum, where = string.match(head, '^([^+]*)%+(%d+):(%d+)$')
  if element then
    head, extra, place = element, sum + 0, where + 0
    if whole ~= head .. string.format('+%.0f:%.0f', extra, place) or extra > 9007199254740991 or place > 1048575 then return '!' end
  end
  --- include entry
  oldest, oldest_cost = entry(head)
  if oldest_cost ~= 1 and not place then return '!' end
end
local tail = whole
if count == 1 then
  last, last_cost, final = oldest, oldest_cost, opened
else
  tail = call('LINDEX', key, '-1')
  if #tail < 17 and string.find(tail, '^[1-9]%d*$') then
    last, final = tail + 0, tail
  else
    --- include entry
    last, last_cost = entry(tail)
    if not place then return '!' end
  end
end
if not (oldest and last) or oldest > last or count > 1 and oldest == last or last > 7000000000000000 then return '!' end
if extra < oldest_cost - 1 or extra < last_cost - 1 then return '!' end
local instant = now
if last > now then instant = last end
local cut = instant - period

local begin, left, first = 0, 0, head -- the first entry that counts, and the units before it
if last <= cut then
  begin, left = count, count + extra
  if count > 2 then -- what is dropped without being read is at least no list of somebody else
    --- include entry
    local at, cost = entry(call('LINDEX', key, '1'))
    if not at or at <= oldest or at >= last or cost > 1 and not place then return '!' end
  end
elseif oldest <= cut then
  begin, left, first = 1, oldest_cost, call('LINDEX', key, '1')
  if not (#first < 17 and string.find(first, '^[1-9]%d*$') and first + 0 > cut and first + 0 <= last) then
    --- include walk
    local low, high, at, cost = 0, 1, 0, 1
    while true do -- up to low entries have left, and from high on they count
      if high > count - 1 then high = count - 1 end
      first = call('LINDEX', key, high)
      at, cost = entry(first)
      if not at or at <= oldest or at > last or cost > 1 and not place then return '!' end
      if at > cut then break end
      low, high = high, high * 2
    end
    while high - low > 1 do
      local middle = floor((low + high) / 2)
      local element = call('LINDEX', key, middle)
      at, cost = entry(element)
      if not at or at <= oldest or at > last or cost > 1 and not place then return '!' end
      if at > cut then high, first = middle, element else low = middle end
    end
    begin, left = high, high
    if place then
      left = walk(key, place, 0, begin, 9007199254740991)
      if not left then return '!' end
    end
  end
end
local units = count + extra - left
if units < count - begin then return '!' end
if units > 0 then before = string.format('%.0f ', units) .. (final or string.format('%.0f', last)) end
if cost == 0 then break end
if units > limit - cost then
  verdict = '-'
  if cost > limit then break end
  local excess = units - (limit - cost)
  if begin == 0 and excess == 1 and opened then
    before = before .. ' ' .. opened .. ' 1'
    break
  end
  local at, through = oldest, oldest_cost
  if begin > 0 or excess > oldest_cost then
    --- include walk
    if place then
      through, at = walk(key, place, begin, count, excess)
    else
      local cost
      at, cost = entry(call('LINDEX', key, begin + excess - 1))
      through = cost == 1 and excess
    end
  end
  if not (at and through) or through < excess or through > units or at <= cut or at > last then return '!' end
  before = before .. string.format(' %.0f %.0f', at, through)
  break
end

-- What is written: text is the new entry, or the last one with more units where tail is
-- that as it was; head is the first element where that changes, and was the same without
-- the new entry.
local kept, index = count - begin, count - begin
after = { drop = begin, kept = kept, text = instant, first = first }
life = instant + period - now
extra = extra - (left - begin)
local more = extra + cost - 1
if kept > 0 and last == instant then
  index, more, cost, after.tail = kept - 1, more + 1, last_cost + cost, tail
end
if kept == 0 then
  if cost > 1 then after.text = string.format('%.0f:%.0f', instant, cost) .. string.format('+%.0f:%.0f', cost - 1, 0) end
elseif place or cost > 1 then
  local at = ((place or 0) + begin) % 1048576
  local sums = ''
  if index > 14 and (at + index + 1) % 16 == 0 then
    --- include sums
    sums = sumsAt(key, begin, at, index, cost - 1)
    if not sums then return '!' end
  end
  local element = string.format('%.0f', instant)
  if cost > 1 or sums ~= '' then element = element .. string.format(':%.0f', cost) .. sums end
  after.text = element
  after.was = begin == 0 and whole or place and first .. string.format('+%.0f:%.0f', extra, at) or first
  if index == 0 then
    after.head, after.text, after.tail = element .. string.format('+%.0f:%.0f', more, at), false, false
  elseif not place or begin > 0 or more ~= extra then
    after.head = first .. string.format('+%.0f:%.0f', more, at)
  end
end
--- write
local drop, head, done = after.drop, after.head, nil
if after.kept == 0 then -- a new list must not stay without a time to live
  if drop == 0 then call('SET', key, '', 'XX') end
  call('PEXPIRE', key, px)
end
if drop > 0 then
  if head then call('LSET', key, drop, head) end
  done = try('LTRIM', key, drop, '-1')
  if done.err then
    if head then call('LSET', key, drop, after.first) end
    error(done)
  end
elseif head then
  call('LSET', key, '0', head)
end
if after.tail then
  done = try('LSET', key, '-1', after.text)
elseif after.text then
  done = try('RPUSH', key, after.text)
end
local failed = type(done) == 'table' and done.err and done
if not failed then
  done = try('PEXPIRE', key, px)
  failed = type(done) == 'table' and done
  if failed and after.tail then
    call('LSET', key, '-1', after.tail)
  elseif failed and after.text and try('LTRIM', key, '0', '-2').err then
    return { err = 'ERR an entry stays: neither PEXPIRE nor LTRIM is allowed', stays = true }
  end
end
if failed then
  if head then call('LSET', key, '0', after.was) end
  error(failed)
end
