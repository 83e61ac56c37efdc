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
    local w, f, d = 0, 0, units
    if #state < 17 and find(state, '^[1-9]%d*$') then
      w = state + 0
    elseif state ~= '0' then
      local a, b, c = match(state, '^(%d+) ([1-9]%d*) ([1-9]%d*)$')
      if not a or a < '1' and a ~= '0' then return nil end
      w, f, d = a + 0, b + 0, c + 0
      if d > 1000000000000 or f >= d then return nil end
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
  local w = now + debt
  if debt_part == 0 then return true, text(w), debt end
  return true, words3(w, debt_part, units), debt + 1
end
