-- How scripts read the clock and keep states.

-- clock returns the instant of this call in µs, and how a reply shows it: as it was
-- given, or the seconds and the µs of TIME, which is read once.
local function clock(given)
  if given ~= '' then return tonumber(given), given end
  local time = call('TIME')
  return time[1] * 1000000 + time[2], time[1] .. ':' .. time[2]
end

-- get returns the string at key, false where there is none, nil where there is
-- something else.
local function get(key)
  local value = try('GET', key)
  if not value or not value.err then return value end -- a string has no err
  if sub(value.err, 1, 9) == 'WRONGTYPE' then return nil end
  return call('GET', key)
end

-- expiry turns a reset in µs into milliseconds to live: rounded up, a second of
-- grace, and at least so long; as text, since a server turns a number into
-- seventeen digits first.
local function expiry(reset, least)
  local px = floor((reset + 999) / 1000) + 1000
  if px < least then px = least end
  return text(px)
end

-- put writes a state that has changed; '' is the fresh one.
local function put(key, next, px)
  if next == '' then return call('DEL', key) end
  call('SET', key, next, 'PX', px)
end
