-- text writes a whole number: tostring and .. cut it to 14 digits.
local function text(x)
  return string.format('%.0f', x)
end
