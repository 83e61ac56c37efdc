-- drops/1, state "last tokens [f period]": a token bucket whose limit and period
-- have no common divisor.
local function decide(state, now, limit, period, burst, _, cost)
  local last, tokens, part = now, burst, 0
  if state then
    local a, b, c, d = string.match(state, '^(%d+) (%d+)$')
    if not a then a, b, c, d = string.match(state, '^(%d+) (%d+) (%d+) (%d+)$') end
    if not a then return nil end
    last, tokens = number(a), number(b)
    if c then
      local carried = muldiv(number(c), period, number(d))
      part = carried
    end
    if now > last then
      local gained, rest = muldiv(now - last, limit, period)
      tokens, part = tokens + gained, part + rest
      if part >= period then tokens, part = tokens + 1, part - period end
      last = now
    end
    if tokens >= burst then tokens, part = burst, 0 end
  end
  if cost == 0 then return true end
  if cost > tokens then return false end
  tokens = tokens - cost
  local next = text(last) .. ' ' .. text(tokens)
  if part > 0 then next = next .. ' ' .. text(part) .. ' ' .. text(period) end
  local wait = muldiv(burst - tokens, period, limit)
  return true, next, last - now + wait + 1
end
