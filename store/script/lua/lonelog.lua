-- One op on a sliding log.
--
-- KEYS[1]  the stored name
-- ARGV     the instant in µs, or '' for the server's clock; the least time to live
--          in ms; then limit, period and cost
-- reply    verdict, instant and what decide shows of the state before; '!' not a log
-- Go       Store.Apply, and with WRITES false Store.Peek
local now, shown = clock(ARGV[1])
local admitted, plan, reset, state = decide(KEYS[1], now, NUMBERS)
if admitted == nil then return '!' end
if plan and WRITES then append(KEYS[1], plan, expiry(reset, ARGV[2] + 0)) end
return (admitted and '+' or '-') .. shown .. ' ' .. state
