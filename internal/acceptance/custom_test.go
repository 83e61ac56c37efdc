package acceptance_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/examples/quota"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
	"github.com/weirgo/weir/store/script"
)

// session is an algorithm of a user's own: so many units in a session of that length.
func session(units int64, length time.Duration) quota.Quota {
	return algorithm.Must(quota.New(units, length))
}

// withQuotaLua are options of a store that knows the Lua of a Quota.
func withQuotaLua() *storeOptions {
	return &storeOptions{Scripts: []script.Source{quota.Script()}}
}

// disturbed calls a function in each Step: where an algorithm has no Lua, that is
// between the moment when its state is read and the one when it is written.
type disturbed struct {
	quota.Quota
	between *func()
}

func (d disturbed) Step(s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
	(*d.between)()
	return d.Quota.Step(s, now, r)
}

// TestAlgorithmWithoutLuaTakesExactlyItsLimit: many writers, on stores of their own,
// take from two slots together.
func TestAlgorithmWithoutLuaTakesExactlyItsLimit(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		for name, ops := range map[string][]store.Op{
			"two of its own": {
				op("user", "a", session(60, time.Hour), 1),
				op("user", "b", session(90, time.Hour), 1),
			},
			"with built-in ones": {
				op("mixed", "a", longest("gcra", 90), 1),
				op("mixed", "b", session(60, time.Hour), 1),
				op("mixed", "c", longest("sliding-log", 75), 1),
				op("mixed", "d", longest("fixed-window", 61), 1),
			},
		} {
			t.Run(name, func(t *testing.T) { writersTakeTheLimit(t, e, ops, 60) })
		}
	})
}

func writersTakeTheLimit(t *testing.T, e *env, ops []store.Op, limit int64) {
	const stores, writers = 4, 4 // of each
	var admitted atomic.Int64
	var all sync.WaitGroup
	ctx := patient(t)
	for range stores {
		take := multi(t, e.store(t, nil))
		for range writers {
			all.Go(func() {
				for {
					r, err := take.Take(ctx, asks(ops)...)
					if err != nil {
						t.Error(err)
						return
					}
					if !r.Allowed {
						return
					}
					admitted.Add(1)
				}
			})
		}
	}
	all.Wait()
	if n := admitted.Load(); n != limit {
		t.Errorf("%d were admitted, of %d", n, limit)
	}
	s := e.store(t, nil)
	for i := range ops {
		look := []store.Op{{Slot: ops[i].Slot}}
		if _, err := s.Peek(ctx, look); err != nil {
			t.Fatal(err)
		}
		if used := look[0].Outcome.Limit - look[0].Outcome.Remaining; used != limit {
			t.Errorf("op %d: %d were charged, and %d admitted", i, used, limit)
		}
	}
}

// TestContentionEndsWithTheContext: somebody changes the slot each time between the
// reading and the writing of its state.
func TestContentionEndsWithTheContext(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		s := e.store(t, nil)
		const units = 1_000_000
		free := session(units, time.Hour)
		mustApply(t, s, op("user", "", free, 1))
		name := e.server.Do("KEYS", "*").([]any)[0].(string)
		attempts, start := 0, time.Now().UnixMicro()
		apply := func(ctx context.Context, end func()) error {
			before := attempts
			between := func() {
				attempts++
				e.server.Do("SET", name, fmt.Sprint(start, " ", 1000+attempts), "PX", "3600000")
				if attempts == before+5 {
					end()
				}
			}
			_, committed, err := s.Apply(ctx, []store.Op{op("user", "", disturbed{free, &between}, 1)})
			if committed || attempts < before+2 {
				t.Errorf("committed %v after %d attempts", committed, attempts-before)
			}
			if left := remaining(t, s, slotOf("user", free)); left != units-int64(1000+attempts) {
				t.Errorf("%d left after %d attempts: something was charged", left, attempts)
			}
			return err
		}
		ctx, cancel := context.WithCancel(context.Background())
		err := apply(ctx, cancel)
		wantKind(t, "cancelled before the state was written", err, "contention")
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v does not match context.Canceled", err)
		}
		ctx, cancel = context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		// The time may also be over while an attempt is under way.
		if err := apply(ctx, func() {}); kind(err) != "contention" && kind(err) != "unknown" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("deadline: %s: %v", kind(err), err)
		}
	})
}

// TestLuaOfAnAlgorithmGivesItsAnswersInOneRoundTrip: with its Lua, an algorithm of a
// user answers as it does in memory, in one round trip, alone and with others.
func TestLuaOfAnAlgorithmGivesItsAnswersInOneRoundTrip(t *testing.T) {
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		clock := &manualClock{}
		opts := withQuotaLua()
		opts.Clock = clock
		scripted := e.store(t, opts)
		plain := e.store(t, &storeOptions{Clock: clock, Prefix: "plain:"})
		memory, err := memorystore.New(&memorystore.Options{Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		defer memory.Close()
		random := rand.New(rand.NewPCG(1, 2))
		for round := range 60 * rounds() {
			clock.set(start + algorithm.Instant(round)*300_000)
			ops := []store.Op{op("user", "", session(5, time.Second), random.Int64N(4))}
			if round%2 == 1 {
				ops = append(ops, op("user", "", limitOf("gcra", 7, 2*time.Second), random.Int64N(3)))
			}
			if round == 2 {
				e.server.Do("CONFIG", "RESETSTAT") // by now all scripts are known
			}
			var answers []weir.Result
			for _, s := range []store.Store{memory, plain, scripted} {
				r, err := multi(t, s).Take(patient(t), asks(ops)...)
				if err != nil {
					t.Fatal(err)
				}
				answers = append(answers, r)
			}
			for _, a := range answers[1:] {
				if diff := cmp.Diff(answers[0], a); diff != "" {
					t.Fatalf("round %d (-memory +server):\n%s", round, diff)
				}
			}
		}
		e.server.Do("CONFIG", "RESETSTAT")
		const times = 10
		for range times {
			mustApply(t, scripted, op("new", "", session(100, time.Hour), 1))
		}
		if n := calls(e.server, "evalsha"); n != times || errorReplies(e.server, "NOSCRIPT") != 0 {
			t.Errorf("%d calls for %d decisions", n, times)
		}
		e.server.Do("CONFIG", "RESETSTAT")
		mustApply(t, plain, op("new", "", session(100, time.Hour), 1))
		if n := calls(e.server, "evalsha") + calls(e.server, "evalsha_ro"); n != 2 {
			t.Errorf("%d calls for one compare-and-set", n)
		}
	})
}
