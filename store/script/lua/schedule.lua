-- gcra/1 and leaky-bucket/1, state "w [f units]": the theoretical arrival time, or
-- when the queue is empty. Go: GCRA.StepInPlace in algorithm/gcra.go and
-- LeakyBucket.StepInPlace in algorithm/leakybucket.go, on algorithm/schedule.go.
--
-- full, full_part  burst or capacity × T, as whole µs and part / units
-- units            the limit in lowest terms
-- whole, part      cost × T
-- longest          leaky bucket: the longest Delay in µs that the caller takes, -1
--                  for any
local function decide(state, now, full, full_part, units, whole, part, longest)
  -- How far the arrival time lies beyond now. Sums are relative to now: an absolute
  -- one could pass 2^53.
  local debt, debt_part = 0, 0
  if state then
    local w, f, d = number(state), 0, units
    if not w then
      local a, b, c = match(state, '^(%d+) (%d+) (%d+)$')
      if not a then return nil end
      w, f, d = number(a), number(b), number(c)
      if not (w and f and d) or d < 2 or d > 1000000000000 or f < 1 or f >= d then return nil end
    end
    if w > 8576800000000000 then return nil end
    if w >= now then
      debt, debt_part = w - now, f
      if d ~= units then -- from before a change of parameters: up, against the caller
        local q, r = muldiv(f, units, d)
        debt_part = r > 0 and q + 1 or q
      end
      if debt_part >= units then debt, debt_part = debt + 1, 0 end
    end
  end
  if whole == 0 and part == 0 then return true end

  if longest and longest >= 0 and (debt_part > 0 and debt + 1 or debt) > longest then return false end
  local room, room_part = full - debt, full_part - debt_part
  if room_part < 0 then room, room_part = room - 1, room_part + units end
  if room < whole or room == whole and room_part < part then return false end

  debt, debt_part = debt + whole, debt_part + part
  if debt_part >= units then debt, debt_part = debt + 1, debt_part - units end
  if debt_part == 0 then return true, text(now + debt), debt end
  return true, text(now + debt) .. ' ' .. text(debt_part) .. ' ' .. text(units), debt + 1
end
