package script

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
)

// missingRights are the rights that users of these tests lack: each alone, and each two
// of those that write. With -short some, each alone.
func missingRights() (all []string) {
	if testing.Short() {
		return []string{"set", "lset", "rpush", "ltrim", "pexpire", "del", "lrange"}
	}
	var writing []string
	for _, right := range strings.Fields(leastCommands) {
		all = append(all, right[1:])
		if luaWrites[strings.ToUpper(right[1:])] {
			writing = append(writing, right[1:])
		}
	}
	for i, one := range writing {
		for _, other := range writing[:i] {
			all = append(all, one+" "+other)
		}
	}
	return all
}

// setRights lets the user of a test do everything that it needs but for what is missing.
func setRights(server *servertest.Server, missing string) {
	rule := append([]string{"ACL", "SETUSER", "app"}, strings.Fields(leastCommands)...)
	for _, right := range strings.Fields(missing) {
		rule = append(rule, "-"+right)
	}
	server.Do(rule...)
}

// rightsUnderTest is a store of a user that lacks some rights, and one of a user that has
// all of them, at one instant.
type rightsUnderTest struct {
	missing     string
	user, admin *Store
	clock       *manualClock
}

func newRights(t *testing.T, server *servertest.Server, missing string) *rightsUnderTest {
	opts := Options{Clock: &manualClock{at: 5}, Scripts: []Source{sourceOfRounds}, InFlight: 1, Timeout: time.Minute}
	r := &rightsUnderTest{missing: missing, clock: opts.Clock.(*manualClock)}
	r.user = open(t, dialWire(t, server, "app", "secret"), &opts)
	r.admin = open(t, dialWire(t, server), &opts)
	return r
}

// standings are what ops show to a user with all rights.
func (r *rightsUnderTest) standings(t *testing.T, ops []store.Op) (all []algorithm.Outcome) {
	t.Helper()
	for _, op := range ops {
		op.Request = algorithm.Request{}
		one := []store.Op{op}
		if _, err := r.admin.Peek(context.Background(), one); err != nil {
			t.Fatalf("without %s: a look at what the user left of %v: %v", r.missing, op.Algorithm, err)
		}
		all = append(all, one[0].Outcome)
	}
	return all
}

// apply makes one Apply, which charges everything or fails and charges nothing, and
// reports whether it failed.
func (r *rightsUnderTest) apply(t *testing.T, ops []store.Op) (failed bool) {
	t.Helper()
	before := r.standings(t, ops)
	_, committed, err := r.user.Apply(context.Background(), ops)
	after := r.standings(t, ops)
	if r.missing == "pexpire ltrim" && errors.Is(err, store.ErrOutcomeUnknown) {
		return true // an entry that can neither live as long as it should nor be taken back
	}
	for i := range ops {
		want := before[i].Remaining
		if err == nil {
			if want = ops[i].Outcome.Remaining; !committed && !ops[i].Outcome.Allowed {
				want = before[i].Remaining
			}
		}
		if after[i].Remaining != want {
			t.Errorf("without %s: op %d of %d, %v: %d left, want %d; committed %v, %v",
				r.missing, i, len(ops), ops[i].Algorithm, after[i].Remaining, want, committed, err)
		}
	}
	if err != nil && !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("without %s: %v of %d: %v", r.missing, ops[0].Algorithm, len(ops), err)
	}
	return err != nil
}

// TestHalfRightsChargeEverythingOrNothing: a user that may send some of the commands of a
// script and not others leaves no half charge, no key without a life time, and nothing
// that is called corrupt when it has all rights again.
func TestHalfRightsChargeEverythingOrNothing(t *testing.T) {
	eachServer(t, &servertest.Config{Users: []string{leastUser}}, func(t *testing.T, server *servertest.Server) {
		kinds := append(kindsOfGroups(t), rounds(3), kindOnly("mine/1"))
		logs := 0
		for _, missing := range missingRights() {
			setRights(server, missing)
			r := newRights(t, server, missing)
			var slots []store.Op
			failures := 0
			for i, a := range kinds {
				for shape := range 5 {
					key := fmt.Sprintf("%s %d %d", missing, i, shape)
					op := func(part string, a algorithm.Algorithm) store.Op {
						return store.Op{Slot: store.Slot{Key: key + part, Algorithm: a}}
					}
					ops := [][]store.Op{
						{op("", a)},
						{op("", a), op("log", logOf10)},
						{op("log", logOf10), op("", a)},
						{op("log", logOf10), op("other", logOf10), op("", a)},
						{op("", a), op("window", windowOf10), op("log", logOf10)},
					}[shape]
					slots = append(slots, ops...)
					for round := range 6 {
						// Instants at which entries have left, and some of one instant.
						r.clock.set(algorithm.Instant(5 + 400_000*int64(round/2)))
						for k := range ops {
							ops[k].Request.Cost = 1 + int64((round+k)%2)
						}
						if round == 2 { // on a state that is there, too
							if _, _, err := r.admin.Apply(context.Background(), append([]store.Op(nil), ops...)); err != nil {
								t.Fatal(err)
							}
						}
						if r.apply(t, ops) {
							failures++
						}
					}
					r.clock.set(5_000_000) // all entries have left
					if r.apply(t, ops) {
						failures++
					}
				}
			}
			if failures == 0 && missing != "eval" && missing != "evalsha_ro" && missing != "eval_ro" && missing != "time" && missing != "del" {
				t.Errorf("without %s nothing fails", missing)
			}
			for _, name := range server.Do("KEYS", "*").([]any) {
				if left := server.Do("PTTL", name.(string)).(int64); left < 0 {
					t.Errorf("without %s: a key lives for %d ms", missing, left)
				}
				if strings.Contains(name.(string), "}S") {
					logs++
				}
			}
			setRights(server, "")
			for _, op := range slots {
				op.Request.Cost = 1
				if _, _, err := r.user.Apply(context.Background(), []store.Op{op}); err != nil {
					t.Errorf("without %s, and with all rights again: %v: %v", missing, op.Algorithm, err)
				}
			}
			server.Do("FLUSHALL")
		}
		if logs < fewer(1000) {
			t.Errorf("%d logs were looked at", logs)
		}
	})
}

// TestHalfRightsOfCallersThatShareACall: what one caller may not do is no error of another
// one that was charged.
func TestHalfRightsOfCallersThatShareACall(t *testing.T) {
	eachServer(t, &servertest.Config{Users: []string{leastUser}}, func(t *testing.T, server *servertest.Server) {
		for _, missing := range missingRights() {
			setRights(server, missing)
			r := newRights(t, server, missing)
			for round := range 3 {
				r.clock.set(algorithm.Instant(5 + 400_000*int64(round)))
				var callers sync.WaitGroup
				for i := range 12 {
					callers.Go(func() {
						ops := oneOp(fmt.Sprint(i), logOf10)
						if i%3 == 1 {
							ops = oneOp(fmt.Sprint(i), windowOf10)
						}
						if i%4 == 3 {
							ops = append(ops, oneOp(fmt.Sprint("beside ", i), windowOf10)[0], oneOp(fmt.Sprint("beside ", i), logOf10)[0])
						}
						for k := range ops {
							ops[k].Request.Cost = 1 + int64(i+round)%2
						}
						r.apply(t, ops)
						r.apply(t, ops)
					})
				}
				callers.Wait()
			}
			for _, name := range server.Do("KEYS", "*").([]any) {
				if left := server.Do("PTTL", name.(string)).(int64); left < 0 {
					t.Errorf("without %s: a key lives for %d ms", missing, left)
				}
			}
			setRights(server, "")
			server.Do("FLUSHALL")
		}
	})
}
