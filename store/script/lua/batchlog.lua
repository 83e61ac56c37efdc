if all or used['INDEX'] then -- NAME
  --- kind
  local function decide(key, now, PARAMETERS)
    local verdict, after, life, before = '+', nil, nil, nil
    repeat
      --- decide
    until true
    return verdict, after, life, before
  end
  local function write(key, after, px)
    --- write
  end
  kinds['INDEX'] = { decide = decide, write = write }
end
