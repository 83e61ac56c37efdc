if all or used['INDEX'] then -- NAME
  --- kind
  local function decide(state, now, PARAMETERS)
    local verdict, after, life = '+', nil, nil
    repeat
      --- decide
    until true
    return verdict, after, life
  end
  kinds['INDEX'] = { decide = decide }
end
