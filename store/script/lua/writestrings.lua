if writes then
  if deletes and #changed > 1 then -- by PEXPIRE; where a SET comes before it, both are tried first
    for i = 1, #changed do
      if not states[changed[i]] then
        call('SET', changed[i], '', call('GET', changed[i]) and 'NX' or 'XX')
        call('PEXPIRE', changed[i], lives[changed[i]], 'NX')
      end
    end
  end
  for i = 1, #changed do
    local state = states[changed[i]]
    if state then call('SET', changed[i], state, 'PX', lives[changed[i]]) end
  end
  for i = 1, deletes and #changed or 0 do
    if not states[changed[i]] then call('PEXPIRE', changed[i], '0') end
  end
end
