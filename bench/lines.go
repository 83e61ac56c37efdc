package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/valkey-io/valkey-go"

	"github.com/weirgo/weir/internal/servertest"
)

// lines are scripts each of which does one thing more than the one before, up to what a
// decision of a GCRA does at least. They say where the time of the script of gcra/1 goes.
var lines = []struct{ name, lua string }{
	{"line-1-return", `return 1`},
	{"line-2-TIME", `local t = redis.call('TIME') return 1`},
	{"line-3-GET", `local t, s = redis.call('TIME'), redis.call('GET', KEYS[1]) return 1`},
	{"line-4-SET-PX", `local t, s = redis.call('TIME'), redis.call('GET', KEYS[1]) redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`},
	{"line-5-the-instant-as-a-number", `local t, s = redis.call('TIME'), redis.call('GET', KEYS[1])
		local now = t[1] * 1000000 + t[2]
		redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`},
	{"line-6-the-check-of-the-state", `local t, s = redis.call('TIME'), redis.call('GET', KEYS[1])
		local now = t[1] * 1000000 + t[2]
		if s and not (#s < 17 and string.find(s, '^[1-9]%d*$')) then return '!' end
		local w = math.max(s and s + 0 or now, now)
		redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1`},
	{"line-7-the-next-state-as-text", `local t, s = redis.call('TIME'), redis.call('GET', KEYS[1])
		local now = t[1] * 1000000 + t[2]
		if s and not (#s < 17 and string.find(s, '^[1-9]%d*$')) then return '!' end
		local w = math.max(s and s + 0 or now, now) + ARGV[3]
		redis.call('SET', KEYS[1], string.format('%.0f', w), 'PX', ARGV[2]) return 1`},
	{"line-8-the-time-to-live", `local t, s = redis.call('TIME'), redis.call('GET', KEYS[1])
		local now = t[1] * 1000000 + t[2]
		if s and not (#s < 17 and string.find(s, '^[1-9]%d*$')) then return '!' end
		local w = math.max(s and s + 0 or now, now) + ARGV[3]
		redis.call('SET', KEYS[1], string.format('%.0f', w), 'PX', math.ceil((w - now) / 1000) + 1000) return 1`},
	{"line-9-the-answer", `local t, s = redis.call('TIME'), redis.call('GET', KEYS[1])
		local now = t[1] * 1000000 + t[2]
		if s and not (#s < 17 and string.find(s, '^[1-9]%d*$')) then return '!' end
		local w = math.max(s and s + 0 or now, now) + ARGV[3]
		redis.call('SET', KEYS[1], string.format('%.0f', w), 'PX', math.ceil((w - now) / 1000) + 1000)
		return '+' .. t[1] .. ':' .. t[2] .. ' ' .. (s or '')`},
}

// insideLines are the rows of lines.
func insideLines() (all []inside) {
	for i, line := range lines {
		all = append(all, inside{line.name, getSet, func(tb testing.TB, server *servertest.Server) work {
			client, script := valkeyGo(tb, server.Addr()), valkey.NewLuaScript(line.lua)
			keys, args := []string{fmt.Sprintf("line-%d:{%s}", i, userKey(0))}, []string{"1764288000000000", "60000", "100"}
			return each(func() error { return script.Exec(context.Background(), client, keys, args).Error() })
		}})
	}
	return all
}
