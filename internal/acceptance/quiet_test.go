package acceptance_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// writers are the commands of scripts that change something.
var writers = regexp.MustCompile(`(?i) lua\] "(set|del|pexpire|rpush|lpush|lset|ltrim|unlink|expire)"`)

// TestDenialsAndLooksWriteNothing: no command that writes, and no change of the time
// to live, whatever the algorithm and however the ops travel.
func TestDenialsAndLooksWriteNothing(t *testing.T) {
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		ctx := context.Background()
		s := e.store(t, nil)
		seen := e.server.Monitor(t)
		for _, spec := range everySpec("5", "400h") {
			a := algorithm.Must(algorithm.ParseSpec(spec))
			mustApply(t, s, op("user", "", a, 5))
			if lines := seen.Lines(); !writers.MatchString(strings.Join(lines, "\n")) {
				t.Fatalf("%s: an admission shows no write: the test sees nothing\n%s", spec, strings.Join(lines, "\n"))
			}
			keys := e.server.Do("KEYS", "*").([]any)
			before := lives(e, keys)
			other := op("somebody else", "", a, 1) // that alone would be admitted
			for what, quiet := range map[string]func() error{
				"denial":        func() error { _, _, err := s.Apply(ctx, []store.Op{op("user", "", a, 1)}); return err },
				"impossible":    func() error { _, _, err := s.Apply(ctx, []store.Op{op("user", "", a, 1<<62)}); return err },
				"cost 0":        func() error { _, _, err := s.Apply(ctx, []store.Op{op("user", "", a, 0)}); return err },
				"cost 0, fresh": func() error { _, _, err := s.Apply(ctx, []store.Op{op("nobody", "", a, 0)}); return err },
				"peek":          func() error { _, err := s.Peek(ctx, []store.Op{op("user", "", a, 1)}); return err },
				"peek, fresh":   func() error { _, err := s.Peek(ctx, []store.Op{op("nobody", "", a, 1)}); return err },
				"refused take":  func() error { _, _, err := s.Apply(ctx, []store.Op{other, op("user", "", a, 1)}); return err },
				"peek of two":   func() error { _, err := s.Peek(ctx, []store.Op{other, op("nobody", "", a, 1)}); return err },
			} {
				seen.Lines()
				if err := quiet(); err != nil {
					t.Fatalf("%s, %s: %v", spec, what, err)
				}
				if lines := strings.Join(seen.Lines(), "\n"); writers.MatchString(lines) || !strings.Contains(lines, "lua]") {
					t.Errorf("%s, %s: the server ran\n%s", spec, what, lines)
				}
			}
			if after := lives(e, keys); after != before {
				t.Errorf("%s: the keys expire at %s, and did at %s", spec, after, before)
			}
		}
	})
}

// lives is when keys expire.
func lives(e *env, keys []any) string {
	var all []string
	for _, key := range keys {
		all = append(all, fmt.Sprint(e.server.Do("PEXPIRETIME", key.(string))))
	}
	return strings.Join(all, " ")
}

// everySpec is each algorithm with a limit for a period.
func everySpec(limit, period string) []string {
	var all []string
	for _, name := range []string{"gcra", "token-bucket", "leaky-bucket", "fixed-window", "sliding-log", "sliding-counter"} {
		all = append(all, name+":"+limit+"/"+period)
	}
	return all
}

// TestScriptsTouchDeclaredKeysOnly: what a script reads and writes is among its KEYS.
func TestScriptsTouchDeclaredKeysOnly(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		s := e.store(t, nil)
		seen := e.server.Monitor(t)
		touched := regexp.MustCompile(`(?i) lua\] "(?:get|set|llen|lrange|lindex|lset|ltrim|lpush|rpush|pexpire|del)" "((?:[^"\\]|\\.)*)"`)
		for _, spec := range everySpec("5", "1h") {
			a := algorithm.Must(algorithm.ParseSpec(spec))
			for range 7 {
				if _, _, err := s.Apply(context.Background(), []store.Op{op("a user", "x", a, 1), op("another", "", a, 2)}); err != nil {
					t.Fatal(err)
				}
			}
			if _, _, err := s.Apply(context.Background(), []store.Op{op("a user", "x", a, 1)}); err != nil {
				t.Fatal(err)
			}
			declared, checked := "", 0
			for _, line := range seen.Lines() {
				if !strings.Contains(line, " lua]") {
					declared = line // the call, with its keys
				} else if m := touched.FindStringSubmatch(line); m != nil {
					checked++
					if !strings.Contains(declared, `"`+m[1]+`"`) {
						t.Errorf("%s: %s\nis not a key of\n%s", spec, line, declared)
					}
				}
			}
			if checked == 0 {
				t.Errorf("%s: no key was seen: the test sees nothing", spec)
			}
		}
	})
}

// TestEveryKeyLivesAsLongAsItsDebt: a state has a time to live, no shorter than until
// it is fresh and at most a second and a part of a millisecond longer, and is gone then.
func TestEveryKeyLivesAsLongAsItsDebt(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		s := e.store(t, nil)
		for _, period := range []string{"7µs", "300ms", "1500ms", "2147483647ms", "2147483648ms", "8760h"} {
			for _, spec := range everySpec("60", period) {
				a := algorithm.Must(algorithm.ParseSpec(spec))
				slot := store.Slot{Key: "user", Limit: period, Algorithm: a}
				ops := []store.Op{{Slot: slot, Request: algorithm.Request{Cost: 7}}}
				at, _, err := s.Apply(context.Background(), ops)
				if err != nil {
					t.Fatal(err)
				}
				var key string
				for _, one := range e.server.Do("KEYS", "*").([]any) {
					if name := one.(string); strings.HasSuffix(name, ":"+a.Spec().Kind+":"+period) {
						key = name
					}
				}
				expires := e.server.Do("PEXPIRETIME", key).(int64) * 1000
				fresh := int64(at) + int64(ops[0].Outcome.ResetAfter/time.Microsecond)
				// The server takes its own reading, up to a millisecond earlier or some later.
				if over := expires - fresh; over < 998_000 || over > 1_200_000 {
					t.Errorf("%s: expires %d µs after it is fresh", spec, over)
				}
			}
		}
		await(t, "the keys of short limits are gone", func() bool {
			return len(e.server.Do("KEYS", "*").([]any)) == 3*len(everySpec("", ""))
		})
	})
}
