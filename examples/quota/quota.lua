-- quota/1, state "start used". Go: Quota.Step in quota.go. The two numbers that are
-- not used are the rest of Spec().Params.
local function decide(state, now, limit, length, _, _, cost)
  local start, used = now, 0
  if state then
    local a, b = string.match(state, '^(%d+) (%d+)$')
    if not a then return nil end
    local kept, units = number(a), number(b)
    if not (kept and units) then return nil end
    if now < kept + length then start, used = kept, units end
  end
  if cost == 0 then return true end
  if cost > limit - used then return false end
  return true, text(start) .. ' ' .. text(used + cost), start + length - now
end
