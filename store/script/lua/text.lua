-- text writes a whole number >= 0: tostring and .. cut it to 14 digits. A large one is written
-- in halves: %d takes two thirds of the time of %.0f, and is exact below 2^31 where a long has
-- 32 bits too.
local function text(x)
  if x < 100000000 then return string.format('%.0f', x) end
  return string.format('%d%08d', math.floor(x / 100000000), x % 100000000)
end
