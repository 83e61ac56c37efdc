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
      local sign, digits = match(s, '^(-?)(%d+)', place)
      local n = digits and number(digits)
      if not n or n == 0 and sign ~= '' then return false end
      place = place + #sign + #digits
      if place > #s then return true end
      if sub(s, place, place) ~= ' ' then return false end
      place = place + 1
    end
    return false
  end

  decide = function(state, ...)
    if state and not isState(state) then return nil end
    local done, admitted, next, reset = pcall(theirs, state, ...)
    if not done then return nil, '?' end
    if admitted == nil then return nil end
    if type(admitted) ~= 'boolean' then return nil, '?' end
    if next == nil then return admitted end
    if not admitted or next ~= '' and not isState(next) or type(reset) ~= 'number'
      or not (reset >= 0 and reset <= 9007199254740991) then
      return nil, '?'
    end
    return true, next, reset
  end
end
