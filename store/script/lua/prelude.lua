-- What scripts begin with: of the parts between empty lines, each script takes those
-- that it uses, since to define a function costs as much as to call it.
--
-- Numbers are whole and below 2^53, which a Lua number holds exactly; tostring and ..
-- cut them to 14 digits, so text makes their text. floor(x / y) and x % y are exact
-- for 0 <= x < 2^53.

local call = redis.call

local try = redis.pcall

local floor = math.floor

local find = string.find

local match = string.match

local sub = string.sub

local format = string.format

-- text writes a whole number >= 0: one below 2^31 at once, a larger one in halves,
-- which are exact for %d also where a long has 32 bits. %.0f would be exact as well,
-- and takes twice as long.
local function text(x)
  return x < 2147483648 and format('%d', x) or format('%d%08d', floor(x / 100000000), x % 100000000)
end

-- words3 writes the words of a state of three, mostly at once.
local function words3(a, b, c)
  return a >= 100000000 and b < 2147483648 and c < 2147483648
    and format('%d%08d %d %d', floor(a / 100000000), a % 100000000, b, c)
    or text(a) .. ' ' .. text(b) .. ' ' .. text(c)
end

-- words4 writes the words of a state of four, mostly at once.
local function words4(a, b, c, d)
  return a >= 100000000 and b < 2147483648 and c < 2147483648 and d < 2147483648
    and format('%d%08d %d %d %d', floor(a / 100000000), a % 100000000, b, c, d)
    or text(a) .. ' ' .. text(b) .. ' ' .. text(c) .. ' ' .. text(d)
end

-- number reads what text has written of a whole number >= 0; nil for the rest.
local function number(s)
  if find(s, '^[1-9]%d*$') then
    local n = s + 0
    return n <= 9007199254740991 and n or nil
  end
  if s == '0' then return 0 end
end

-- muldiv returns floor(a * b / m) and the remainder, for whole a, b >= 0 and
-- 1 <= m < 2^45 with a quotient below 2^53. Where the product passes 2^53 it
-- takes b in limbs, the highest first. Go: MulDiv in internal/exact/exact.go.
local function muldiv(a, b, m)
  local product = a * b
  if product < 9007199254740992 then
    local q = floor(product / m)
    return q, product - q * m
  end
  local whole = floor(a / m)
  a = a - whole * m
  local base = m <= 1099511627776 and 4096 or 128 -- r * base + a * limb < 2^53
  local scale = 1
  while scale * base <= b do scale = scale * base end
  local q, r, rest = 0, 0, b
  repeat
    local limb = floor(rest / scale)
    rest = rest - limb * scale
    local y = r * base + a * limb
    local d = floor(y / m)
    q, r = q * base + d, y - d * m
    scale = floor(scale / base)
  until scale < 1
  return whole * b + q, r
end
