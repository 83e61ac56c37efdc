if whole < 0 then -- a refund
  if debt == 0 and debt_part == 0 then break end
else
  local room, room_part = full - debt, full_part - debt_part
  if room_part < 0 then room, room_part = room - 1, room_part + units end
  if room < whole or room == whole and room_part < part then
    verdict = '-'
    break
  end
end
debt, debt_part = debt + whole, debt_part + part
if debt_part >= units then debt, debt_part = debt + 1, debt_part - units end
if debt < 0 then debt, debt_part = 0, 0 end
local w = now + debt
if debt_part == 0 then
  after, life = w, debt
elseif w >= 100000000 and debt_part < 2147483648 and units < 2147483648 then
  -- %d takes half the time of %.0f, and is exact below 2^31 where a long has 32 bits too.
  after, life = string.format('%d%08d %d %d', floor(w / 100000000), w % 100000000, debt_part, units), debt + 1
else
  after, life = string.format('%.0f %.0f %.0f', w, debt_part, units), debt + 1
end
