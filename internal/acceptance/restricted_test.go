package acceptance_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	"github.com/weirgo/weir/store/script"
)

// needed is what docs/guides/servers.md asks for.
var needed = strings.Fields("evalsha evalsha_ro eval eval_ro time get set del llen lrange lindex lset rpush ltrim pexpire")

// app is a user who may do so much and nothing else, with the keys of the default
// prefix.
func app(except string) string {
	rules := "app on >secret resetkeys ~w{* -@all"
	for _, command := range needed {
		if command != except {
			rules += " +" + command
		}
	}
	return rules
}

// TestSmallestUserIsEnough: every algorithm runs with the permissions that are asked
// for, and Check names the one that is missing.
func TestSmallestUserIsEnough(t *testing.T) {
	each(t, allPairs(), &servertest.Config{Users: []string{app("")}}, func(t *testing.T, e *env) {
		opts := withQuotaLua()
		opts.Timeout = patience
		s := e.dial(t, dial{addr: e.server.Addr(), user: "app", password: "secret"}, opts)
		report, err := s.Check(context.Background())
		if err != nil || len(report.Warnings) == 0 {
			t.Errorf("%+v, %v", report, err)
		}
		for name, a := range quietKinds() {
			for _, cost := range []int64{1, 2, 0, 8, 7} {
				mustApply(t, s, op("user", name, a, cost), op("user", "beside", longest("sliding-log", 100), 1))
				mustApply(t, s, op("alone", name, a, cost))
			}
			if err := s.Reset(context.Background(), []store.Slot{op("user", name, a, 0).Slot}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, missing := range needed {
			e.server.Do(append([]string{"ACL", "SETUSER"}, strings.Fields(app(missing))...)...)
			report, err := s.Check(context.Background())
			if err == nil || kind(err) != "unavailable" || !strings.Contains(strings.ToUpper(err.Error()), strings.ToUpper(missing)) {
				t.Errorf("without %s: %+v, %v", missing, report, err)
			}
			if withoutLife(e) != 0 {
				t.Errorf("without %s: Check has left a key", missing)
			}
		}
		// Keys of another prefix are out of reach.
		e.server.Do(append([]string{"ACL", "SETUSER"}, strings.Fields(app(""))...)...)
		other := e.dial(t, dial{addr: e.server.Addr(), user: "app", password: "secret"}, &storeOptions{Prefix: "other:"})
		_, _, err = other.Apply(context.Background(), []store.Op{op("user", "", longest("gcra", 1), 1)})
		wantKind(t, "foreign prefix", err, "unavailable")
	})
}

// TestServersWithoutTimeUseTheClockOfTheCaller: where scripts may not read the clock,
// one that is given does.
func TestServersWithoutTimeUseTheClockOfTheCaller(t *testing.T) {
	each(t, naturalPairs(), &servertest.Config{Users: []string{app("time")}}, func(t *testing.T, e *env) {
		clock := &manualClock{}
		clock.set(start)
		d := dial{addr: e.server.Addr(), user: "app", password: "secret"}
		s := e.dial(t, d, &storeOptions{Clock: clock})
		for name, a := range quietKinds() {
			if !mustApply(t, s, op("user", name, a, 10)) || mustApply(t, s, op("user", name, a, 1)) {
				t.Errorf("%s does not take its limit", name)
			}
		}
		without := e.dial(t, d, nil)
		for name, a := range quietKinds() {
			ops := []store.Op{op("user", "", a, 1)}
			_, committed, err := without.Apply(context.Background(), ops)
			if got := kind(err); committed || got != "unavailable" && got != "unknown" {
				t.Errorf("%s without a clock: %v, %v", name, committed, err)
			}
		}
	})
}

// TestFullServerIsUnavailable: at maxmemory nothing is charged, and what changes
// nothing is answered as ever.
func TestFullServerIsUnavailable(t *testing.T) {
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		s := e.store(t, withQuotaLua())
		for name, a := range quietKinds() {
			mustApply(t, s, op("user", name, a, 9))
		}
		before := lives(e)
		e.server.Do("CONFIG", "SET", "maxmemory-policy", "noeviction")
		e.server.Do("CONFIG", "SET", "maxmemory", "1")
		for name, a := range quietKinds() {
			for _, ops := range [][]store.Op{
				{op("user", name, a, 1)},
				{op("new", name, a, 1)},
				{op("user", name, a, 1), op("user", "beside", longest("sliding-log", 5), 2), op("user", "last", longest("gcra", 5), 2)},
			} {
				_, _, err := s.Apply(context.Background(), ops)
				wantKind(t, name, err, "unavailable")
			}
			if mustApply(t, s, op("user", name, a, 2)) {
				t.Errorf("%s: more than the limit was admitted", name)
			}
			if left := remaining(t, s, op("user", name, a, 0).Slot); left != 1 {
				t.Errorf("%s: %d are left", name, left)
			}
		}
		e.server.Do("CONFIG", "SET", "maxmemory", "0")
		if after := lives(e); after != before {
			t.Errorf("keys were\n%sand are\n%s", before, after)
		}
		for name, a := range quietKinds() {
			if !mustApply(t, s, op("user", name, a, 1)) {
				t.Errorf("%s: was denied when there was room again", name)
			}
		}
	})
}

// TestFullServerKeepsALogWhole: at maxmemory a command that makes room is
// allowed, and one that takes room is not. A log of which a part has left its window
// does both.
func TestFullServerKeepsALogWhole(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		clock := &manualClock{}
		s := e.store(t, &storeOptions{Clock: clock})
		a := limitOf("sliding-log", 10, 10*time.Second)
		for i := range 9 {
			clock.set(start + 1_000_000*instant(i))
			mustApply(t, s, op("user", "", a, int64(1+i%2)), op("user", "other", longest("gcra", 100), 1))
		}
		clock.set(start + 13_500_000)
		e.server.Do("CONFIG", "SET", "maxmemory", "1")
		look := remaining(t, s, slotOf("user", a))
		before := lives(e)
		for _, ops := range [][]store.Op{
			{op("user", "", a, 1)}, {op("user", "", a, 2)}, {op("user", "", a, 1), op("user", "other", longest("gcra", 100), 1)},
		} {
			_, committed, err := s.Apply(context.Background(), ops)
			left := remaining(t, s, slotOf("user", a))
			if err == nil && committed {
				// Once a write was let through, all of the script are.
				if look -= ops[0].Request.Cost; left != look {
					t.Errorf("%d left after a charge, want %d", left, look)
				}
				before = lives(e)
				continue
			}
			wantKind(t, "full", err, "unavailable")
			if left != look || lives(e) != before {
				t.Errorf("%d left, want %d; keys were\n%sand are\n%s", left, look, before, lives(e))
			}
		}
		if n := withoutLife(e); n != 0 {
			t.Errorf("%d keys without a life time", n)
		}
	})
}

// B121: a server that wants replicas and has none.
func TestTooFewReplicasIsUnavailable(t *testing.T) {
	each(t, allPairs(), &servertest.Config{Args: []string{"--min-replicas-to-write", "1"}}, func(t *testing.T, e *env) {
		s := e.store(t, withQuotaLua())
		for name, a := range quietKinds() {
			_, _, err := s.Apply(context.Background(), []store.Op{op("user", name, a, 1)})
			wantKind(t, name, err, "unavailable")
			if left := remaining(t, s, op("user", name, a, 0).Slot); left != 10 {
				t.Errorf("%s: %d left", name, left)
			}
		}
		if n := e.server.Do("DBSIZE"); n != int64(0) {
			t.Errorf("%v keys", n)
		}
	})
}

// B118: a script of somebody else does not end.
func TestBusyServerIsUnavailable(t *testing.T) {
	each(t, allPairs(), &servertest.Config{Args: []string{"--busy-reply-threshold", "1"}}, func(t *testing.T, e *env) {
		s := e.store(t, withQuotaLua())
		kinds := quietKinds()
		for name, a := range kinds {
			mustApply(t, s, op("user", name, a, 1))
		}
		var busy sync.WaitGroup
		busy.Go(func() { _, _ = e.server.Try("EVAL", "while true do end", "0") })
		servertest.Await(t, "the server is busy", func() bool {
			_, err := e.server.Try("DBSIZE")
			return err != nil && strings.HasPrefix(err.Error(), "BUSY")
		})
		for name, a := range kinds {
			_, _, err := s.Apply(context.Background(), []store.Op{op("user", name, a, 1)})
			wantKind(t, name, err, "unavailable")
			_, err = s.Peek(context.Background(), []store.Op{op("user", name, a, 1)})
			wantKind(t, name+" peek", err, "unavailable")
			var answer *script.ServerError
			if !errors.As(err, &answer) || answer.Code() != "BUSY" {
				t.Errorf("%s: %v", name, err)
			}
		}
		e.server.Do("SCRIPT", "KILL")
		busy.Wait()
		for name, a := range kinds {
			if left := remaining(t, s, op("user", name, a, 0).Slot); left != 9 {
				t.Errorf("%s: %d left, want 9", name, left)
			}
		}
	})
}

// TestForeignValueIsLeftAlone: what is no state of a kind is an error, and stays as it
// is until a Reset.
func TestForeignValueIsLeftAlone(t *testing.T) {
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		s := e.store(t, withQuotaLua())
		for name, a := range quietKinds() {
			slot := op("user", name, a, 0).Slot
			stored := nameOf(t, e, s, slot)
			for what, make := range map[string][]string{
				"text": {"SET", stored, "bytes of somebody else"}, "empty": {"SET", stored, ""},
				"number": {"SET", stored, "-5"}, "hash": {"HSET", stored, "a", "1"}, "set": {"SADD", stored, "1 2"},
				"sorted set": {"ZADD", stored, "1", "1"}, "stream": {"XADD", stored, "*", "a", "1"},
				"list": {"RPUSH", stored, "a", "b"}, "long": {"SET", stored, strings.Repeat("1", 5000)},
				"float": {"SET", stored, "1.5 2"}, "zero byte": {"SET", stored, "1\x002"}, "list of strings": {"RPUSH", stored, "1", "x", "3"},
				"space": {"SET", stored, " "}, "leading space": {"SET", stored, " 1790000000000000 1"},
			} {
				e.server.Do("DEL", stored)
				e.server.Do(make...)
				before := lives(e)
				for _, ops := range [][]store.Op{
					{{Slot: slot}}, {op("user", name, a, 1)}, {op("user", name, a, 11)},
					{op("user", "good", longest("gcra", 5), 1), op("user", name, a, 1)},
					{op("user", name, a, 1), op("user", "good", longest("sliding-log", 5), 2)},
					{op("user", "good", longest("gcra", 5), 6), op("user", name, a, 1)},
				} {
					_, committed, err := s.Apply(context.Background(), ops)
					wantKind(t, name+", "+what, err, "corrupt")
					if committed {
						t.Errorf("%s, %s: committed", name, what)
					}
					if err != nil && (strings.Contains(err.Error(), "user") || strings.Contains(err.Error(), "somebody")) {
						t.Errorf("%s, %s: the error shows a key or a value: %v", name, what, err)
					}
					_, err = s.Peek(context.Background(), ops)
					wantKind(t, name+", "+what+", peek", err, "corrupt")
				}
				if after := lives(e); after != before {
					t.Errorf("%s, %s: keys were\n%sand are\n%s", name, what, before, after)
				}
				if err := s.Reset(context.Background(), []store.Slot{slot}); err != nil {
					t.Error(err)
				}
				if !mustApply(t, s, op("user", name, a, 10)) {
					t.Errorf("%s, %s: not fresh after a Reset", name, what)
				}
			}
			e.server.Do("FLUSHALL")
		}
	})
}

// TestHalfRightsLeaveNothingHalf: a user that lacks one command of the scripts gets
// decisions that are whole, or errors with which nothing is charged. No key stays without
// a life time, and nothing is corrupt when the user has all rights again.
func TestHalfRightsLeaveNothingHalf(t *testing.T) {
	each(t, allPairs(), &servertest.Config{Users: []string{app("")}}, func(t *testing.T, e *env) {
		opts := withQuotaLua()
		opts.Timeout = patience
		s := e.dial(t, dial{addr: e.server.Addr(), user: "app", password: "secret"}, opts)
		refused := 0
		for _, missing := range needed {
			e.server.Do(append([]string{"ACL", "SETUSER"}, strings.Fields(app(""))...)...)
			for name, a := range quietKinds() { // some of the states are there before
				mustApply(t, s, op("user "+missing, name, a, 2))
			}
			e.server.Do(append([]string{"ACL", "SETUSER"}, strings.Fields(app(missing))...)...)
			charged := map[string]int64{}
			for name, a := range quietKinds() {
				for _, ops := range [][]store.Op{
					{op("user "+missing, name, a, 1)}, {op("new "+missing, name, a, 2)},
					{op("user "+missing, name, a, 1), op("log "+missing, name, longest("sliding-log", 100), 2)},
					{op("log "+missing, name, longest("sliding-log", 100), 1), op("user "+missing, name, a, 1)},
				} {
					_, committed, err := s.Apply(context.Background(), ops)
					if err != nil {
						refused++
						wantKind(t, fmt.Sprintf("without %s, %s, %d ops", missing, name, len(ops)), err, "unavailable")
						continue
					}
					for i := range ops {
						if committed {
							charged[ops[i].Key+ops[i].Limit] += ops[i].Request.Cost
						}
					}
				}
			}
			if n := withoutLife(e); n != 0 {
				t.Errorf("without %s: %d keys without a life time", missing, n)
			}
			e.server.Do(append([]string{"ACL", "SETUSER"}, strings.Fields(app(""))...)...)
			for name, a := range quietKinds() {
				for key, limit := range map[string]algorithm.Algorithm{"user ": a, "new ": a, "log ": longest("sliding-log", 100)} {
					one := op(key+missing, name, limit, 0)
					want := charged[one.Key+one.Limit]
					if key == "user " {
						want += 2
					}
					left := remaining(t, s, one.Slot)
					if capacity := remaining(t, s, op("fresh", name, limit, 0).Slot); left != capacity-want {
						t.Errorf("without %s: %s of %s: %d left of %d, want %d", missing, name, key, left, capacity, capacity-want)
					}
				}
			}
		}
		if refused < 100 {
			t.Errorf("%d calls were refused", refused)
		}
	})
}
