-- muldiv returns floor(a * b / m) and the remainder, for whole a, b >= 0 and
-- 1 <= m < 2^45 with a quotient below 2^53. Where the product passes 2^53 it
-- takes b in limbs, the highest first. Go: MulDiv in internal/exact/muldiv.go.
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
