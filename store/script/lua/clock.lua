-- clock returns the instant of this call in µs, and how a reply shows it: as it was
-- given, or the seconds and the µs of TIME, which is read once.
local function clock(given)
  if given ~= '' then return tonumber(given), given end
  local time = call('TIME')
  return time[1] * 1000000 + time[2], time[1] .. ':' .. time[2]
end
