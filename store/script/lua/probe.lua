-- Tries every command that the scripts use, on a key of its own.
--
-- KEYS[1]  a stored name that no slot has
-- reply    a line for each command that failed: its name, ': ' and the error
-- Go       Store.Check in check.go
local try = redis.pcall
local key, failed = KEYS[1], {}
local function attempt(command, ...)
  local reply = try(command, ...)
  if type(reply) == 'table' and reply.err then failed[#failed + 1] = command .. ': ' .. reply.err end
end
attempt('TIME')
attempt('DEL', key)
attempt('SET', key, '1', 'PX', 1000)
attempt('GET', key)
attempt('DEL', key)
attempt('RPUSH', key, '1')
attempt('LSET', key, 0, '1')
attempt('LINDEX', key, -1)
attempt('LLEN', key)
attempt('LRANGE', key, 0, 0)
attempt('LTRIM', key, 1, -1)
attempt('PEXPIRE', key, 1000)
attempt('DEL', key)
return table.concat(failed, '\n')
