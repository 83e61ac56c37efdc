-- What stands behind the Lua of a user, whose decide is theirs here: it fails for itself
-- alone, and neither what is stored nor what it returns can get into the answers to
-- others.
--
-- Go  Source.Lua in source.go
local decide
do
  -- isState reports whether s is one to four words as algorithm.State writes them.
  local function isState(s)
    if type(s) ~= 'string' then return false end
    local place = 1
    for _ = 1, 4 do
      local sign, digits = string.match(s, '^(-?)(%d+)', place)
      local n = digits and number(digits)
      if not n or n == 0 and sign ~= '' then return false end
      place = place + #sign + #digits
      if place > #s then return true end
      if string.sub(s, place, place) ~= ' ' then return false end
      place = place + 1
    end
    return false
  end

  decide = function(state, ...)
    if state and not isState(state) then return '!' end
    local done, admitted, after, life = pcall(theirs, state, ...)
    if not done then return '?' end
    if admitted == nil then return '!' end
    if type(admitted) ~= 'boolean' then return '?' end
    if after == nil then return admitted and '+' or '-' end
    if not admitted or after ~= '' and not isState(after) or type(life) ~= 'number'
      or not (life >= 0 and life <= 9007199254740991) then
      return '?'
    end
    return '+', after, life
  end
end
