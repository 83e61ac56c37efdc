if all or used['INDEX'] then -- NAME
  --- kind
  local function decide(key, now, PARAMETERS)
    local verdict, after, life, before = '+', nil, nil, nil
    repeat
      --- decide
    until true
    return verdict, after, life, before
  end
  local function put(key, after, px)
    --- write
  end
  -- write writes a log, as a whole or not at all. Where it is not alone, what the user may
  -- not do must show before anything has changed: SET, LTRIM and RPUSH are tried in ways
  -- that change nothing, and LSET behind the first write, which LTRIM takes back.
  local function write(key, after, px, alone)
    local tried = allowed or alone and not strings
    if not tried then
      call('SET', key, '', after.kept + after.drop > 0 and 'NX' or 'XX')
      call('LTRIM', key, '0', '-1')
      if after.tail or not after.text then
        call('RPUSH', key, '0')
        call('LTRIM', key, '0', '-2')
      end
    end
    local stays = put(key, after, px)
    if stays then error(stays) end
    if not tried and after.text and not after.tail and not after.head then
      local done = try('LSET', key, '-1', after.text)
      if done.err then
        call('LTRIM', key, '0', '-2')
        error(done)
      end
    end
    allowed = not tried or allowed
  end
  kinds['INDEX'] = { decide = decide, write = write }
end
