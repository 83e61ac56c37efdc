-- leaky-bucket/1, state "w [f units]": when the queue is empty.
-- Go: LeakyBucket.StepInPlace in algorithm/leakybucket.go.
--
-- full, full_part  capacity × T, as whole µs and part / units
-- units            the limit in lowest terms
-- whole, part      cost × T, of a refund below 0
-- longest          the longest Delay in µs that the caller takes, -1 for any
--
-- A charge is a take whose capacity is larger by the largest debt.
--- decide full, full_part, units, whole, part, longest
--- include schedule_debt
if longest >= 0 and (debt_part > 0 and debt + 1 or debt) > longest then
  verdict = '-'
  break
end
--- include schedule_take
