package script

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	"github.com/weirgo/weir/store/script/kind"
)

// yearly is a calendar window: the tests do not meet its edges.
var yearly = algorithm.Must(algorithm.NewCalendarWindow(10, algorithm.Calendar{Unit: "year", Zone: "Europe/Berlin"}))

func yearlyOp(key string, r algorithm.Request) store.Op {
	return store.Op{Slot: store.Slot{Key: key, Limit: "l", Algorithm: yearly}, Request: r}
}

// TestClockFarFromTheServerDecidesByTheServer: a process whose clock is wrong by years, in
// either direction, decides by the server's clock, each way of asking, and sends the right
// windows from then on.
func TestClockFarFromTheServerDecidesByTheServer(t *testing.T) {
	ctx := context.Background()
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		for _, wrong := range []time.Duration{-40 * 365 * 24 * time.Hour, -3 * 365 * 24 * time.Hour, 3 * 365 * 24 * time.Hour, 40 * 365 * 24 * time.Hour} {
			for name, ask := range map[string]func(s *Store, key string, r algorithm.Request) (algorithm.Outcome, algorithm.Instant, error){
				"apply": func(s *Store, key string, r algorithm.Request) (algorithm.Outcome, algorithm.Instant, error) {
					ops := []store.Op{yearlyOp(key, r)}
					at, _, err := s.Apply(ctx, ops)
					return ops[0].Outcome, at, err
				},
				"within": func(s *Store, key string, r algorithm.Request) (algorithm.Outcome, algorithm.Instant, error) {
					ops := []store.Op{yearlyOp(key, r)}
					at, _, err := s.decide(ctx, time.Minute, ops, &s.takes)
					return ops[0].Outcome, at, err
				},
				"several": func(s *Store, key string, r algorithm.Request) (algorithm.Outcome, algorithm.Instant, error) {
					ops := []store.Op{yearlyOp(key, r), {Slot: store.Slot{Key: key, Algorithm: logOf10}, Request: algorithm.Request{Cost: 1}}}
					at, _, err := s.Apply(ctx, ops)
					return ops[0].Outcome, at, err
				},
				"bound": func(s *Store, key string, r algorithm.Request) (algorithm.Outcome, algorithm.Instant, error) {
					b, err := s.bind("l", yearly, time.Minute)
					if err != nil {
						return algorithm.Outcome{}, 0, err
					}
					return b.Apply(ctx, key, r)
				},
				"once": func(s *Store, key string, r algorithm.Request) (algorithm.Outcome, algorithm.Instant, error) {
					ops := []store.Op{yearlyOp(key, r)}
					at, _, err := s.once(ctx, 0, onceOf("x"), ops)
					return ops[0].Outcome, at, err
				},
			} {
				key := fmt.Sprint(name, wrong)
				s := open(t, dialWire(t, server), nil)
				s.ahead.Store(int64(wrong))
				o, at, err := ask(s, key, algorithm.Request{Cost: 3})
				_, end := yearly.Window(at)
				if err != nil || !o.Allowed || o.Remaining != 7 || o.ResetAfter != time.Duration(end-at)*time.Microsecond {
					t.Fatalf("%s, wrong by %v: %+v at %v, %v", name, wrong, o, at, err)
				}
				if off := time.Duration(s.ahead.Load()).Abs(); off > time.Hour {
					t.Errorf("%s, wrong by %v: the clock of the server is still %v ahead", name, wrong, off)
				}
				right := open(t, dialWire(t, server), nil)
				if o, _, err = ask(right, key+" other", algorithm.Request{Cost: 3}); err != nil || o.Remaining != 7 || right.ahead.Load() != 0 {
					t.Errorf("%s, with a clock that is right: %+v, %v", name, o, err)
				}
				looks := []store.Op{yearlyOp(key, algorithm.Request{Cost: 1})}
				s.ahead.Store(int64(wrong))
				if _, err := s.Peek(ctx, looks); err != nil || looks[0].Outcome.Remaining != 6 {
					t.Errorf("%s, wrong by %v: a look: %+v, %v", name, wrong, looks[0].Outcome, err)
				}
			}
		}
	})
}

// TestChargesAndRefundsOutsideOfTheWindows: so do the other verbs.
func TestChargesAndRefundsOutsideOfTheWindows(t *testing.T) {
	ctx := context.Background()
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		s := open(t, dialWire(t, server), nil)
		at := algorithm.Instant(0)
		for _, step := range []struct {
			verb       algorithm.Verb
			cost, left int64
			debt       int64
		}{{algorithm.Take, 8, 2, 0}, {algorithm.Charge, 7, 0, 5}, {algorithm.Refund, 6, 1, 0}, {algorithm.Refund, 20, 10, 0}, {algorithm.Take, 10, 0, 0}} {
			s.ahead.Store(int64(900 * 24 * time.Hour))
			ops := []store.Op{yearlyOp("a", algorithm.Request{Verb: step.verb, Cost: step.cost, At: at})}
			var err error
			if at, _, err = s.Apply(ctx, ops); err != nil || ops[0].Outcome.Remaining != step.left || ops[0].Outcome.Debt != step.debt {
				t.Fatalf("%v of %d: %+v, %v", step.verb, step.cost, ops[0].Outcome, err)
			}
		}
	})
}

// TestStateInALaterWindowIsDecidedInGo: a key that a wrong clock has pushed into a window
// far ahead is denied until then, as in memory, and its state stays as it is.
func TestStateInALaterWindowIsDecidedInGo(t *testing.T) {
	ctx := context.Background()
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		clock := &manualClock{}
		s := open(t, dialWire(t, server), &Options{Clock: clock})
		now := algorithm.Instant(1_764_288_000_000_000)
		later := now + 1000*24*3600*1_000_000
		clock.set(later)
		ops := []store.Op{yearlyOp("a", algorithm.Request{Cost: 10})}
		if _, committed, err := s.Apply(ctx, ops); err != nil || !committed {
			t.Fatal(committed, err)
		}
		before := server.Do("GET", s.name(&ops[0].Slot))
		clock.set(now)
		state, err := algorithm.ParseState(before.(string))
		if err != nil {
			t.Fatal(err)
		}
		ops[0].Request.Cost = 1
		_, want := yearly.Step(state, now, ops[0].Request)
		if at, committed, err := s.Apply(ctx, ops); err != nil || committed || at != now || ops[0].Outcome != want {
			t.Errorf("%+v at %v, committed %t, %v; want %+v", ops[0].Outcome, at, committed, err, want)
		}
		if after := server.Do("GET", s.name(&ops[0].Slot)); after != before {
			t.Errorf("%v became %v", before, after)
		}
	})
}

// TestCallersWithAWrongClockTakeTheLimitAndNoMore: callers that share calls, of processes
// whose clocks are wrong and of one whose clock is right.
func TestCallersWithAWrongClockTakeTheLimitAndNoMore(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		var admitted atomic.Int64
		var callers sync.WaitGroup
		for _, wrong := range []time.Duration{-1000 * 24 * time.Hour, 0, 1000 * 24 * time.Hour} {
			s := open(t, dialWire(t, server), nil)
			s.ahead.Store(int64(wrong))
			for range 20 {
				callers.Go(func() {
					ops := []store.Op{yearlyOp("a", algorithm.Request{Cost: 1})}
					switch _, committed, err := s.Apply(context.Background(), ops); {
					case err != nil:
						t.Error(err)
					case committed:
						admitted.Add(1)
					}
				})
			}
		}
		callers.Wait()
		if n := admitted.Load(); n != 10 {
			t.Errorf("%d of 10 are admitted", n)
		}
	})
}

// TestWrappedCalendarWindowIsDecidedByItsSpec: what a script is sent follows from the Spec,
// also of another Go type, as a decorator has; of a Spec without a calendar Step decides.
func TestWrappedCalendarWindowIsDecidedByItsSpec(t *testing.T) {
	type wrapped struct{ algorithm.Algorithm }
	for _, k := range kind.All() {
		if k.Around == nil {
			continue
		}
		at := algorithm.Instant(1_764_288_000_000_000)
		want, from, until := k.Around(yearly, at)
		if got, f, u := k.Around(wrapped{yearly}, at); !slices.Equal(got, want) || f != from || u != until {
			t.Errorf("%v from %v until %v, want %v from %v until %v", got, f, u, want, from, until)
		}
		if got, f, u := k.Around(wrapped{odd{}}, at); !slices.Equal(got, make([]int64, 4)) || f != at || u != at+1 {
			t.Errorf("without a calendar: %v from %v until %v", got, f, u)
		}
	}
}

// odd has the kind of calendar windows and no calendar.
type odd struct{ algorithm.Algorithm }

func (odd) Spec() algorithm.Spec {
	return algorithm.Spec{Kind: algorithm.KindCalendarWindow, Params: [4]int64{1}, Identity: "month.Mars-Base"}
}
