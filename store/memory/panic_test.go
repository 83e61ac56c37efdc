package memorystore

import (
	"context"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// explosive is an algorithm that panics where it is told to.
type explosive struct{ armed *bool }

func (explosive) Spec() algorithm.Spec { return algorithm.Spec{Kind: "explosive/1"} }

func (e explosive) Step(s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
	if *e.armed {
		panic("boom")
	}
	o := algorithm.Outcome{Allowed: true, Limit: 100, Remaining: 100 - s.Word(0), ResetAfter: time.Hour}
	if r.Cost > 0 {
		s = algorithm.NewState(s.Word(0) + r.Cost)
		o.Remaining -= r.Cost
	}
	return s, o
}

// explosiveInPlace does the same where the state lies.
type explosiveInPlace struct{ explosive }

func (e explosiveInPlace) StepInPlace(s *algorithm.State, now algorithm.Instant, r algorithm.Request, o *algorithm.Outcome) {
	*s, *o = e.Step(*s, now, r)
}

// explosiveClock panics where it is told to.
type explosiveClock struct{ armed *bool }

func (c explosiveClock) Now() time.Time {
	if *c.armed {
		panic("boom")
	}
	return time.Unix(1_764_288_000, 0)
}

// What is the user's and panics leaves the store as usable as it was: no lock
// stays taken, no slot is counted that is not held, no state has moved.
func TestPanicOfTheUsersDoesNotWedgeTheStore(t *testing.T) {
	for _, maxKeys := range []int{0, 3} {
		for name, inPlace := range map[string]bool{"step": false, "step in place": true, "clock": false} {
			armed, clockArmed := false, false
			s := opened(t, &Options{Clock: explosiveClock{&clockArmed}, MaxKeys: maxKeys})
			var a algorithm.Algorithm = explosive{&armed}
			if inPlace {
				a = explosiveInPlace{explosive{&armed}}
			}
			bound, err := store.FeaturesOf(s).Bind("", a)
			if err != nil {
				t.Fatal(err)
			}
			arm := &armed
			if name == "clock" {
				arm = &clockArmed
			}
			ops := []store.Op{
				{Slot: store.Slot{Key: "a", Algorithm: a}, Request: algorithm.Request{Cost: 1}},
				{Slot: store.Slot{Key: "b", Algorithm: a}, Request: algorithm.Request{Cost: 1}},
				{Slot: store.Slot{Key: "c", Algorithm: a}, Request: algorithm.Request{Cost: 1}},
			}
			ctx := context.Background()
			calls := map[string]func() error{
				"apply":       func() error { _, _, err := s.Apply(ctx, ops[:1]); return err },
				"apply three": func() error { _, _, err := s.Apply(ctx, ops); return err },
				"peek":        func() error { _, err := s.Peek(ctx, ops[:1]); return err },
				"bound apply": func() error { _, _, err := bound.Apply(ctx, "a", ops[0].Request); return err },
				"bound peek":  func() error { _, _, err := bound.Peek(ctx, "a", ops[0].Request); return err },
			}
			for round := range 3 { // fresh, held, and reset in between
				for call, do := range calls {
					*arm = true
					func() {
						defer func() {
							if recover() == nil {
								t.Errorf("%s, %s: no panic", name, call)
							}
						}()
						_ = do()
					}()
					*arm = false
				}
				look := []store.Op{ops[0]}
				look[0].Request.Cost = 0
				if _, err := s.Peek(ctx, look); err != nil || look[0].Outcome.Remaining != 100-2*int64(round%2) {
					t.Errorf("%s, round %d: %+v, error %v", name, round, look[0].Outcome, err)
				}
				if round == 0 {
					if err := calls["apply three"](); err != nil {
						t.Errorf("%s: %v", name, err)
					}
					if err := calls["bound apply"](); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				} else if err := s.Reset(ctx, []store.Slot{ops[0].Slot, ops[1].Slot, ops[2].Slot}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if maxKeys > 0 && s.held.Load() != 0 {
				t.Errorf("%s: %d slots are counted, and none is held", name, s.held.Load())
			}
		}
	}
}
