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

  -- A verdict of '?' comes with the reason, which has nothing in it that ends an answer.
  decide = function(state, ...)
    if state and not isState(state) then return '!' end
    local done, admitted, after, life = pcall(theirs, state, ...)
    if not done then
      if type(admitted) ~= 'string' then return '?', 'an error that is no text' end
      local why = string.gsub(string.gsub(admitted, '[^%w%p]', ' '), '[;,]', ' ')
      return '?', string.sub(why, 1, 120)
    end
    if admitted == nil then return '!' end
    if type(admitted) ~= 'boolean' then return '?', 'its first result is no boolean' end
    if after == nil then return admitted and '+' or '-' end
    if not admitted then return '?', 'it denies and returns a state' end
    if after ~= '' and not isState(after) then return '?', 'its second result is no state' end
    if type(life) ~= 'number' or not (life >= 0 and life <= 9007199254740991) then
      return '?', 'its third result is no ResetAfter'
    end
    return '+', after, life
  end
end
