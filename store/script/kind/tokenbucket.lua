-- token-bucket/1, state "last tokens [f per]": the instant of the last change and the
-- tokens it left. Go: TokenBucket.StepInPlace in algorithm/tokenbucket.go.
--
-- burst       in tokens
-- units, per  tokens gained in per µs, in lowest terms
-- fill        µs from empty to full
-- cost        in tokens, at most burst + 1; below 0 it is a refund
-- lowest      the fewest tokens that a charge may leave, below 0
--- decide burst, units, per, fill, cost, lowest?
local last, tokens, part = now, burst, 0
if state then
  local a, b, place = string.match(state, '^(%d+) (%-?%d+)()')
  if not a or a < '1' and a ~= '0' or b < '1' and b ~= '0' and not string.find(b, '^%-[1-9]') then return '!' end
  last, tokens = a + 0, b + 0
  if last > 7000000000000000 or tokens > 1000000000000 or tokens < -1000000000000 then return '!' end
  if place <= #state then
    local c, d = string.match(state, '^ ([1-9]%d*) ([1-9]%d*)$', place)
    if not c then return '!' end
    local f, over = c + 0, d + 0
    if over > 34560000000000 or f >= over then return '!' end
    part = f
    if over ~= per then -- from before a change of parameters: down
      --- include muldiv
      part = muldiv(f, per, over)
    end
  end
  local elapsed = now - last
  if elapsed > 0 then last = now end
  if tokens < 0 then -- a debt, of no more than this limit allows
    --- include muldiv
    local most = burst + 1000000000000
    if units * 788 < per then -- then 18,250 days may be less
      local paid = muldiv(1576800000000000, units, per)
      if paid < most then most = paid end
    end
    if tokens < burst - most then tokens, part = burst - most, 0 end
    local wait, rest = muldiv(burst - tokens, per, units)
    fill = wait - floor((part - rest) / units)
  end
  if elapsed >= fill then
    tokens = burst
  elseif elapsed > 0 then
    if elapsed * units < 9007199254740992 then
      tokens, part = tokens + floor(elapsed * units / per), part + elapsed * units % per
    else
      --- include muldiv
      local gained, rest = muldiv(elapsed, units, per)
      tokens, part = tokens + gained, part + rest
    end
    if part >= per then tokens, part = tokens + 1, part - per end
  end
  if tokens >= burst then tokens, part = burst, 0 end
end
if cost == 0 then break end
if cost < 0 then
  if tokens == burst then break end
  if tokens - cost >= burst then tokens, part = burst + cost, 0 end
elseif tokens - cost < (lowest or 0) + 0 then
  verdict = '-'
  break
end
tokens = tokens - cost
life = last - now
if (burst - tokens) * per < 9007199254740992 then
  life = life - floor((part - (burst - tokens) * per) / units)
else
  --- include muldiv
  local wait, rest = muldiv(burst - tokens, per, units)
  life = life + wait - floor((part - rest) / units)
end
if part == 0 then
  after = string.format('%.0f %.0f', last, tokens)
elseif last >= 100000000 and tokens >= 0 and tokens < 2147483648 and part < 2147483648 and per < 2147483648 then
  -- %d takes half the time of %.0f, and is exact below 2^31 where a long has 32 bits too.
  after = string.format('%d%08d %d %d %d', floor(last / 100000000), last % 100000000, tokens, part, per)
else
  after = string.format('%.0f %.0f %.0f %.0f', last, tokens, part, per)
end
