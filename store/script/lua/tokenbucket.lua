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
    local a, b, c, d = match(state, '^(%d+) (%d+)$')
    if not a then a, b, c, d = match(state, '^(%d+) (%d+) (%d+) (%d+)$') end
    if not a then return nil end
    last, tokens = number(a), number(b)
    if not (last and tokens) or last > 7000000000000000 or tokens > 1000000000000 then return nil end
    if c then
      local f, over = number(c), number(d)
      if not (f and over) or over < 2 or over > 34560000000000 or f < 1 or f >= over then return nil end
      -- Over another per, from before a change of parameters: down.
      part = over == per and f or (muldiv(f, per, over))
    end
    local elapsed = now - last
    if elapsed >= fill then
      tokens = burst
    elseif elapsed > 0 then
      local gained, rest = muldiv(elapsed, units, per)
      tokens, part = tokens + gained, part + rest
      if part >= per then tokens, part = tokens + 1, part - per end
    end
    last = max(last, now)
    if tokens >= burst then tokens, part = burst, 0 end
  end
  if cost == 0 then return true end
  if cost > tokens then return false end
  tokens = tokens - cost
  local wait, rest = muldiv(burst - tokens, per, units)
  local reset = last - now + wait - floor((part - rest) / units)
  local next = text(last) .. ' ' .. text(tokens)
  if part > 0 then next = next .. ' ' .. text(part) .. ' ' .. text(per) end
  return true, next, reset
end
