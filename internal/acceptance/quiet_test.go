package acceptance_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/examples/quota"
	"github.com/weirgo/weir/store"
)

// quietKinds are a limit of 10 of each algorithm, with those of a user: one without
// Lua and one with it.
func quietKinds() map[string]algorithm.Algorithm {
	all := map[string]algorithm.Algorithm{"without Lua": plainQuota{session(10, time.Hour)}, "own Lua": session(10, time.Hour)}
	for _, name := range kindNames {
		all[name] = longest(name, 10)
	}
	return all
}

// plainQuota is a Quota under a name for which nobody has a script.
type plainQuota struct{ quota.Quota }

func (q plainQuota) Spec() algorithm.Spec {
	s := q.Quota.Spec()
	s.Kind = "test-plain-quota/1"
	return s
}

// TestRefusalsAndLooksWriteNothing: what does not admit anything sends no command that
// writes, changes no life time, and touches no key but those that it declares.
func TestRefusalsAndLooksWriteNothing(t *testing.T) {
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		s := e.store(t, withQuotaLua())
		for name, a := range quietKinds() {
			t.Run(name, func(t *testing.T) {
				e.server.Do("FLUSHALL")
				free := longest("gcra", 10)
				take := []store.Op{op("user", "limit", a, 3)}
				monitor := e.server.Monitor(t)
				defer monitor.Stop()
				mustApply(t, s, take...)
				own := writtenBy(t, trace(t, monitor.Lines()))
				if len(own) != 1 {
					t.Fatalf("a charge writes %v", own)
				}
				for what, quiet := range map[string]func() (admitted bool){
					"denied": func() bool { return mustApply(t, s, op("user", "limit", a, 8)) },
					"never":  func() bool { return mustApply(t, s, op("user", "limit", a, 11)) },
					"more than all numbers": func() bool {
						return mustApply(t, s, op("user", "limit", a, 1<<62))
					},
					"cost 0": func() bool { mustApply(t, s, op("user", "limit", a, 0)); return false },
					"peek": func() bool {
						_, err := s.Peek(context.Background(), []store.Op{op("user", "limit", a, 2)})
						return err != nil
					},
					"peek of what is denied": func() bool {
						_, err := s.Peek(context.Background(), []store.Op{op("user", "limit", a, 9)})
						return err != nil
					},
					"denied with others": func() bool {
						return mustApply(t, s, op("user", "free", free, 1), op("user", "limit", a, 8), op("new", "limit", a, 1))
					},
					"others are denied": func() bool {
						return mustApply(t, s, op("user", "limit", a, 1), op("user", "free", free, 11))
					},
					"peek with others": func() bool {
						_, err := s.Peek(context.Background(), []store.Op{op("user", "limit", a, 2), op("user", "free", free, 1)})
						return err != nil
					},
					"cost 0 of a new key": func() bool { mustApply(t, s, op("new", "limit", a, 0)); return false },
				} {
					before := lives(e)
					monitor.Lines()
					if quiet() {
						t.Errorf("%s: was admitted, or failed", what)
					}
					calls := trace(t, monitor.Lines())
					if keys := writtenBy(t, calls); len(keys) > 0 || len(calls) == 0 {
						t.Errorf("%s: %d calls write %v", what, len(calls), keys)
					}
					if after := lives(e); after != before {
						t.Errorf("%s: life times were\n%sand are\n%s", what, before, after)
					}
				}
				// And what is admitted among others writes its own keys.
				monitor.Lines()
				if !mustApply(t, s, op("user", "limit", a, 1), op("user", "free", free, 0)) {
					t.Error("was denied")
				}
				if keys := writtenBy(t, trace(t, monitor.Lines())); fmt.Sprint(keys) != fmt.Sprint(own) {
					t.Errorf("a charge and a look write %v, want %v", keys, own)
				}
			})
		}
	})
}

// TestRefusalsInASharedCallWriteNothing: of many Applies that travel in one call, only
// those that are admitted write, and only their own keys.
func TestRefusalsInASharedCallWriteNothing(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		opts := withQuotaLua()
		opts.InFlight, opts.Share = 1, 1000
		s := e.store(t, opts)
		learn(t, e, s)
		for name, a := range quietKinds() {
			if name == "without Lua" {
				continue // does not travel with others
			}
			t.Run(name, func(t *testing.T) {
				monitor := e.server.Monitor(t)
				defer monitor.Stop()
				var before string
				key := func(attempt int, who string) string { return fmt.Sprint(who, attempt, " of ", name) }
				last := 0
				together(t, e, s, func(attempt int) [][]store.Op {
					last = attempt
					for _, who := range []string{"denied", "half"} {
						mustApply(t, s, op(key(attempt, who), "", a, 9))
					}
					before = lives(e)
					monitor.Lines()
					return [][]store.Op{
						{op(key(attempt, "denied"), "", a, 2)}, {op(key(attempt, "look"), "", a, 0)},
						{op(key(attempt, "new"), "", a, 11)}, {op(key(attempt, "admitted"), "", a, 1)},
						{op(key(attempt, "other"), "", a, 1), op(key(attempt, "half"), "", a, 2)},
						{op(key(attempt, "denied"), "", a, 3)},
						{op(key(attempt, "half"), "", a, 0), op(key(attempt, "with"), "", a, 4)},
					}
				})
				keys := writtenBy(t, trace(t, monitor.Lines()))
				admitted, with := false, false
				for stored := range keys {
					admitted = admitted || strings.Contains(stored, key(last, "admitted"))
					with = with || strings.Contains(stored, key(last, "with"))
				}
				if !admitted || !with || len(keys) != 2 {
					t.Errorf("%v are written, and two were admitted", keys)
				}
				after := lives(e)
				for line := range strings.Lines(before) {
					if !strings.Contains(after, line) {
						t.Errorf("the life time has changed: %s in\n%s", line, after)
					}
				}
			})
		}
	})
}

// lives is the life time and the value of all keys, one a line.
func lives(e *env) string {
	const all = `
local out = {}
local names = redis.call('KEYS', '*')
table.sort(names)
for _, name in ipairs(names) do
  out[#out + 1] = name .. ' ' .. string.format('%.0f', redis.call('PEXPIRETIME', name)) .. ' ' .. redis.sha1hex(redis.call('DUMP', name))
end
return table.concat(out, '\n') .. '\n'`
	return e.server.Do("EVAL", all, "0").(string)
}
