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
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
	"github.com/weirgo/weir/store/script"
)

// quota is an algorithm of a user's own: so many units in a session, which starts
// with the first request that is admitted. Its state is "start used".
type quota struct {
	limit  int64
	length time.Duration // whole microseconds
	// between, if there is one, is called by Step: where an algorithm has no Lua,
	// that is between the moment when its state is read and the one when it is written.
	between *func()
}

const quotaKind = "test-quota/1"

func (q quota) Spec() algorithm.Spec {
	return algorithm.Spec{Kind: quotaKind, Params: [4]int64{q.limit, q.length.Microseconds()}}
}

func (q quota) Step(s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
	if q.between != nil {
		(*q.between)()
	}
	start, used := int64(now), int64(0)
	if !s.Fresh() && start < s.Word(0)+q.length.Microseconds() {
		start, used = s.Word(0), s.Word(1)
	}
	wait := time.Duration(start-int64(now))*time.Microsecond + q.length

	o := algorithm.Outcome{Limit: q.limit}
	switch {
	case r.Cost > q.limit:
		o.RetryAfter = algorithm.Never
	case r.Cost > 0 && r.Cost > q.limit-used:
		o.RetryAfter = wait
	default:
		o.Allowed = true
		if r.Cost > 0 {
			used += r.Cost
			s = algorithm.NewState(start, used)
		}
	}
	if used > 0 {
		o.ResetAfter = wait
	}
	o.Remaining = max(0, q.limit-used)
	return s, o
}

// CheckState makes a damaged state an error.
func (q quota) CheckState(s algorithm.State) error {
	if !s.Fresh() && (s.Words() != 2 || s.Word(0) < 0 || s.Word(1) < 1) {
		return fmt.Errorf("a state of %d words", s.Words())
	}
	return nil
}

// quotaLua is the same for the server.
const quotaLua = `
local function decide(state, now, limit, length, _, _, cost)
  local start, used = now, 0
  if state then
    local a, b = string.match(state, '^(%d+) (%d+)$')
    a, b = a and number(a), b and number(b)
    if not (a and b) or b < 1 then return nil end
    if now < a + length then start, used = a, b end
  end
  if cost == 0 then return true end
  if cost > limit - used then return false end
  return true, text(start) .. ' ' .. text(used + cost), start - now + length
end`

func withQuotaLua() *storeOptions {
	return &storeOptions{Scripts: []script.Source{{Kind: quotaKind, Lua: quotaLua}}}
}

// TestAlgorithmWithoutLuaTakesExactlyItsLimit: many writers, on stores of their own,
// take from two slots together.
func TestAlgorithmWithoutLuaTakesExactlyItsLimit(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		for name, ops := range map[string][]store.Op{
			"two of its own": {
				op("user", "a", quota{limit: 60, length: time.Hour}, 1),
				op("user", "b", quota{limit: 90, length: time.Hour}, 1),
			},
			"with built-in ones": {
				op("mixed", "a", longest("gcra", 90), 1),
				op("mixed", "b", quota{limit: 60, length: time.Hour}, 1),
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
		take := taker(t, e.store(t, nil))
		for range writers {
			all.Go(func() {
				for {
					r, err := take.Take(ctx, ops...)
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
		free := quota{limit: 1_000_000, length: time.Hour}
		mustApply(t, s, op("user", "", free, 1))
		name := e.server.Do("KEYS", "*").([]any)[0].(string)
		attempts, start := 0, time.Now().UnixMicro()
		apply := func(ctx context.Context, end func()) error {
			before, disturbed := attempts, free
			between := func() {
				attempts++
				e.server.Do("SET", name, fmt.Sprint(start, " ", 1000+attempts), "PX", "3600000")
				if attempts == before+5 {
					end()
				}
			}
			disturbed.between = &between
			_, committed, err := s.Apply(ctx, []store.Op{op("user", "", disturbed, 1)})
			if committed || attempts < before+2 {
				t.Errorf("committed %v after %d attempts", committed, attempts-before)
			}
			if left := remaining(t, s, slotOf("user", free)); left != free.limit-int64(1000+attempts) {
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
		ctx, cancel = context.WithTimeout(context.Background(), 300*time.Millisecond)
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
		clock := &handClock{}
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
			ops := []store.Op{op("user", "", quota{limit: 5, length: time.Second}, random.Int64N(4))}
			if round%2 == 1 {
				ops = append(ops, op("user", "", limitOf("gcra", 7, 2*time.Second), random.Int64N(3)))
			}
			if round == 2 {
				e.server.Do("CONFIG", "RESETSTAT") // by now all scripts are known
			}
			var answers []weir.Result
			for _, s := range []store.Store{memory, plain, scripted} {
				r, err := taker(t, s).Take(patient(t), ops...)
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
			mustApply(t, scripted, op("new", "", quota{limit: 100, length: time.Hour}, 1))
		}
		if n := calls(e.server, "evalsha"); n != times || errorReplies(e.server, "NOSCRIPT") != 0 {
			t.Errorf("%d calls for %d decisions", n, times)
		}
		e.server.Do("CONFIG", "RESETSTAT")
		mustApply(t, plain, op("new", "", quota{limit: 100, length: time.Hour}, 1))
		if n := calls(e.server, "evalsha") + calls(e.server, "evalsha_ro"); n != 2 {
			t.Errorf("%d calls for one compare-and-set", n)
		}
	})
}
