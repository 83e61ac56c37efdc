package memorystore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	"pgregory.net/rapid"
)

// deniable are limits of which a copy is made where they deny, with fractions.
var deniable = []string{
	"gcra:3/1h", "gcra:7/3h", "token-bucket:3/1h", "token-bucket:7/3h", "leaky-bucket:7/3h", "fixed-window:3/9600h", "sliding-counter:3/9600h",
}

func parseLimit(t testing.TB, spec string) algorithm.Algorithm {
	a, err := algorithm.ParseSpec(spec)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// copies returns how many copies s holds, and checks that a place with a copy or a count is
// marked as used.
func (s *Store) copies(t testing.TB) (all int) {
	for i := range s.shards {
		d := &s.shards[i].denials
		for j := range d.copies {
			held := d.copies[j].Load() != nil
			if held {
				all++
			}
			if used := d.used>>j&1 != 0; !used && (held || d.counts[j] > 0) {
				t.Fatalf("shard %d, place %d: a copy %t, a count of %d, and it is not used", i, j, held, d.counts[j])
			}
		}
	}
	return all
}

// denied spends a key and asks until a copy of it is known.
func (s *Store) denied(t testing.TB, b store.Bound, key string) {
	t.Helper()
	for range 100 * denialsInARow {
		if _, _, err := b.Apply(context.Background(), key, algorithm.Request{Cost: 1}); err != nil {
			t.Fatal(err)
		}
		if s.copies(t) > 0 {
			return
		}
	}
	t.Fatal("no copy is made of a key that is denied")
}

// A family that is added must be named in isKnown and in step.
func TestAlgorithmsOfEachFamilyAreStepped(t *testing.T) {
	for _, f := range algorithm.Families() {
		for _, cost := range []int64{0, 1, 1 << 50} {
			a, at, r := parseLimit(t, f.Samples[len(f.Samples)-1]), algorithm.Instant(1), algorithm.Request{Cost: cost}
			var s algorithm.State
			var o algorithm.Outcome
			step(a.(algorithm.InPlace), &s, at, r, &o)
			if want, outcome := a.Step(algorithm.State{}, at, r); !isKnown(a) || !s.Equal(want) || o != outcome {
				t.Errorf("%s, cost %d: known %t, state %q, %+v, want state %q, %+v", f.Name, cost, isKnown(a), s, o, want, outcome)
			}
		}
	}
	if isKnown(explosiveInPlace{}) {
		t.Error("an algorithm of the user's is stepped without a deferred Unlock")
	}
}

// A denial that is known needs no lock.
func TestKnownDenialTakesNoLock(t *testing.T) {
	for _, spec := range deniable {
		s := opened(t, nil)
		b, err := s.bind("", parseLimit(t, spec))
		if err != nil {
			t.Fatal(err)
		}
		s.denied(t, b, "a")
		s.lock(1<<shards - 1)
		answered := make(chan error, 1)
		go func() {
			o, _, err := b.Apply(context.Background(), "a", algorithm.Request{Cost: 1})
			if err == nil && (o.Allowed || o.RetryAfter <= 0) {
				err = fmt.Errorf("got %+v", o)
			}
			answered <- err
		}()
		select {
		case err := <-answered:
			if err != nil {
				t.Errorf("%s: %v", spec, err)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s: a denial waits for a lock", spec)
		}
		s.unlock(1<<shards - 1)
	}
}

// What changes a slot, or drops it, takes the copy of its state away.
func TestChangesTakeCopiesAway(t *testing.T) {
	ctx := context.Background()
	for _, spec := range deniable {
		a := parseLimit(t, spec)
		slot := store.Slot{Key: "a", Algorithm: a}
		for name, change := range map[string]func(s *Store, at algorithm.Instant) error{
			"reset": func(s *Store, _ algorithm.Instant) error { return s.Reset(ctx, []store.Slot{slot}) },
			"sweep": func(s *Store, _ algorithm.Instant) error {
				s.pass(48 * 9600 * time.Hour)
				s.Sweep(s.monotonic.now())
				return nil
			},
			"expiry": func(s *Store, _ algorithm.Instant) error { s.pass(48 * 9600 * time.Hour); return nil },
			"close":  func(s *Store, _ algorithm.Instant) error { return s.Close() },
			"evict": func(s *Store, _ algorithm.Instant) error {
				_, _, err := s.Apply(ctx, []store.Op{{Slot: store.Slot{Key: "b", Algorithm: a}, Request: algorithm.Request{Cost: 1}}})
				return err
			},
			"charge": func(s *Store, _ algorithm.Instant) error {
				_, _, err := s.Apply(ctx, []store.Op{{Slot: slot, Request: algorithm.Request{Cost: 1, Verb: algorithm.Charge}}})
				return err
			},
			"refund": func(s *Store, at algorithm.Instant) error {
				_, _, err := s.Apply(ctx, []store.Op{{Slot: slot, Request: algorithm.Request{Cost: 1, Verb: algorithm.Refund, At: at}}})
				return err
			},
			"batch": func(s *Store, _ algorithm.Instant) error {
				_, _, err := s.Apply(ctx, []store.Op{
					{Slot: store.Slot{Key: "a", Limit: "other", Algorithm: a}, Request: algorithm.Request{}},
					{Slot: slot, Request: algorithm.Request{Cost: 1, Verb: algorithm.Charge}},
				})
				return err
			},
		} {
			s := opened(t, &Options{SweepEvery: asleep, MaxKeys: 1, EvictLeastDebt: true})
			b, err := s.bind("", a)
			if err != nil {
				t.Fatal(err)
			}
			s.denied(t, b, "a")
			_, at, err := b.Peek(ctx, "a", algorithm.Request{})
			if err != nil {
				t.Fatal(err)
			}
			if err := change(s, at); err != nil {
				t.Fatalf("%s, %s: %v", spec, name, err)
			}
			if name != "expiry" && s.copies(t) != 0 {
				t.Errorf("%s: a copy is left after %s", spec, name)
			}
			o, _, err := b.Apply(ctx, "a", algorithm.Request{Cost: 1})
			if closed := name == "close"; closed != (err != nil) {
				t.Errorf("%s, after %s: %v", spec, name, err)
			}
			if fresh := name == "reset" || name == "sweep" || name == "expiry" || name == "evict" || name == "refund"; err == nil && o.Allowed != fresh {
				t.Errorf("%s, after %s: %+v", spec, name, o)
			}
		}
	}
}

// A copy is a state and no answer: a limit with other parameters decides by its own.
func TestCopiesAnswerByTheParametersOfTheCaller(t *testing.T) {
	ctx := context.Background()
	for small, large := range map[string]string{
		"gcra:3/1h": "gcra:9/1h,burst=12", "leaky-bucket:7/3h": "leaky-bucket:5/1h,capacity=30",
		"fixed-window:3/9600h": "fixed-window:8/9600h", "sliding-counter:3/9600h": "sliding-counter:8/9600h", "calendar-window:3/year": "calendar-window:8/year",
	} {
		s := opened(t, &Options{SweepEvery: asleep})
		bounds := [2]store.Bound{}
		for i, spec := range []string{small, large} {
			var err error
			if bounds[i], err = s.bind("", parseLimit(t, spec)); err != nil {
				t.Fatal(err)
			}
		}
		s.denied(t, bounds[0], "a")
		for i, want := range []bool{false, true, false} {
			o, _, err := bounds[i%2].Apply(ctx, "a", algorithm.Request{Cost: 1})
			if err != nil {
				t.Fatal(err)
			}
			if o.Allowed != want {
				t.Errorf("%s beside %s, call %d: %+v", small, large, i, o)
			}
			if held := s.copies(t) == 1; held != (i == 0) {
				t.Errorf("%s beside %s, call %d: a copy is held: %t", small, large, i, held)
			}
		}
	}
}

// With copies, a store answers what the pure function answers at the same instant.
func TestDecisionsWithCopiesAreThoseOfStep(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := opened(t, &Options{SweepEvery: asleep})
		defer s.Close()
		a := parseLimit(t, rapid.SampledFrom(deniable).Draw(rt, "limit"))
		b, err := s.bind("", a)
		if err != nil {
			rt.Fatal(err)
		}
		ctx, state := context.Background(), algorithm.State{}
		slot := store.Slot{Key: "a", Algorithm: a}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			r := algorithm.Request{Cost: rapid.Int64Range(0, 4).Draw(rt, "cost")}
			times := 1
			switch what := rapid.IntRange(0, 7).Draw(rt, "what"); what {
			case 0:
				if err := s.Reset(ctx, []store.Slot{slot}); err != nil {
					rt.Fatal(err)
				}
				state = algorithm.State{}
			case 1:
				s.pass(time.Duration(rapid.Int64Range(0, int64(2*time.Hour)).Draw(rt, "pass")))
			case 2:
				s.Sweep(s.monotonic.now())
			case 3:
				r.Verb = algorithm.Charge
			case 4, 5:
				times = denialsInARow + 2
			}
			for range times {
				o, at, err := b.Apply(ctx, "a", r)
				if err != nil {
					rt.Fatal(err)
				}
				var want algorithm.Outcome
				if state, want = a.Step(state, at, r); o != want {
					rt.Fatalf("%+v at %d: got %+v, want %+v", r, at, o, want)
				}
			}
		}
	})
}

// made is a call on one slot and its answer.
type madeCall struct {
	request algorithm.Request
	at      algorithm.Instant
	outcome algorithm.Outcome
}

// Callers that meet copies while others change the slot have an order that explains all
// answers.
func TestConcurrentDenialsAreLinearizable(t *testing.T) {
	for _, spec := range deniable {
		s := opened(t, nil)
		a := parseLimit(t, spec)
		b, err := s.bind("", a)
		if err != nil {
			t.Fatal(err)
		}
		var tick atomic.Int64
		var mu sync.Mutex
		var history []porcupine.Operation
		var callers sync.WaitGroup
		for caller := range 4 {
			callers.Go(func() {
				random := rand.New(rand.NewPCG(uint64(caller), 9))
				var taken algorithm.Instant
				for range 200 {
					r := algorithm.Request{Cost: 1}
					switch random.IntN(40) {
					case 0:
						r = algorithm.Request{Cost: 2, Verb: algorithm.Refund, At: taken}
					case 1:
						r = algorithm.Request{Cost: 1, Verb: algorithm.Charge}
					}
					began := tick.Add(1)
					o, at, err := b.Apply(context.Background(), "a", r)
					returned := tick.Add(1)
					if err != nil {
						t.Error(err)
						return
					}
					if o.Allowed {
						taken = at
					}
					mu.Lock()
					history = append(history, porcupine.Operation{ClientId: caller, Input: madeCall{r, at, o}, Call: began, Return: returned})
					mu.Unlock()
				}
			})
		}
		callers.Wait()
		model := porcupine.Model{
			Init: func() any { return algorithm.State{} },
			Step: func(state, input, _ any) (bool, any) {
				c := input.(madeCall)
				next, want := a.Step(state.(algorithm.State), c.at, c.request)
				return want == c.outcome, next
			},
			Equal: func(x, y any) bool { return x.(algorithm.State).Equal(y.(algorithm.State)) },
		}
		if got := porcupine.CheckOperationsTimeout(model, history, time.Minute); got != porcupine.Ok {
			t.Errorf("%s: %v", spec, got)
		}
	}
}
