-- A write of a log, and a read behind it, can be refused when other groups are done.
if logs then
  local decideOne, decideSeveral = single, several
  local function answer(done, reply)
    if done then return reply end
    local mark = 'x' -- nothing was charged
    if type(reply) == 'table' then
      if reply.stays then mark = 'X' end
      reply = reply.err
    end
    local why = string.gsub(reply, '[;,%c]', ' ')
    return mark .. string.sub(why, 1, 200)
  end
  single = function(key, one) return answer(pcall(decideOne, key, one)) end
  several = function(first, count) return answer(pcall(decideSeveral, first, count)) end
end
