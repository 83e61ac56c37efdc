-- token-bucket/1, state "last tokens [f per]": the instant of the last change and
-- the tokens it left. Go: TokenBucket.StepInPlace in algorithm/tokenbucket.go.
--
-- burst       in tokens
-- units, per  tokens gained in per µs, in lowest terms
-- fill        µs from empty to full
-- cost        in tokens, at most burst + 1
local function decide(state, now, burst, units, per, fill, cost)
  local last, tokens, part = now, burst, 0
  if state then
    local a, b, place = match(state, '^(%d+) (%d+)()')
    if not a or a < '1' and a ~= '0' or b < '1' and b ~= '0' then return nil end
    last, tokens = a + 0, b + 0
    if last > 7000000000000000 or tokens > 1000000000000 then return nil end
    if place <= #state then
      local c, d = match(state, '^ ([1-9]%d*) ([1-9]%d*)$', place)
      if not c then return nil end
      local f, over = c + 0, d + 0
      if over > 34560000000000 or f >= over then return nil end
      part = f
      if over ~= per then -- from before a change of parameters: down
        part = muldiv(f, per, over)
      end
    end
    local elapsed = now - last
    if elapsed > 0 then last = now end
    if elapsed >= fill then
      tokens = burst
    elseif elapsed > 0 then
      if elapsed * units < 9007199254740992 then
        tokens, part = tokens + floor(elapsed * units / per), part + elapsed * units % per
      else
        local gained, rest = muldiv(elapsed, units, per)
        tokens, part = tokens + gained, part + rest
      end
      if part >= per then tokens, part = tokens + 1, part - per end
    end
    if tokens >= burst then tokens, part = burst, 0 end
  end
  if cost == 0 then return true end
  if cost > tokens then return false end
  tokens = tokens - cost
  local reset = last - now
  if (burst - tokens) * per < 9007199254740992 then
    reset = reset - floor((part - (burst - tokens) * per) / units)
  else
    local wait, rest = muldiv(burst - tokens, per, units)
    reset = reset + wait - floor((part - rest) / units)
  end
  if part == 0 then return true, text(last) .. ' ' .. text(tokens), reset end
  return true, words4(last, tokens, part, per), reset
end
