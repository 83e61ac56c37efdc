package script

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// panics is an algorithm of a user with a bug.
type panics struct{ algorithm.Algorithm }

var errBug = errors.New("a bug")

func (panics) Spec() algorithm.Spec { return algorithm.Spec{Kind: "panics/1"} }

func (panics) Step(algorithm.State, algorithm.Instant, algorithm.Request) (algorithm.State, algorithm.Outcome) {
	panic(errBug)
}

// panicOf runs f and returns what it panics with.
func panicOf(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// TestPanicOfAUserReachesItsCaller: on whatever goroutine it happens, with whatever
// context, and the store goes on and can be closed.
func TestPanicOfAUserReachesItsCaller(t *testing.T) {
	lua := Source{Kind: "panics/1", Lua: "local function decide(state, now) return true end"}
	boom := func(*Command) string { panic(errBug) }
	for name, user := range map[string]struct {
		algorithm algorithm.Algorithm
		reply     func(*Command) string
	}{
		"step":               {panics{}, nil},
		"hook of the client": {windowOf10, boom},
	} {
		for _, mode := range []string{"patient", "context", "within"} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				var sound atomic.Bool
				s := open(t, clientFunc(func(_ context.Context, c *Command) (string, error) {
					if user.reply != nil && !sound.Load() {
						return user.reply(c), nil
					}
					return "+5 ", nil
				}), &Options{Scripts: []Source{lua}})
				ctx, on := context.Background(), store.Store(s)
				switch mode {
				case "context":
					var cancel context.CancelFunc
					ctx, cancel = context.WithCancel(ctx)
					defer cancel()
				case "within":
					on = store.FeaturesOf(s).Within(time.Minute)
				}
				for range 5 { // more than may be in flight
					for verb, call := range map[string]func(){
						"apply": func() { _, _, _ = on.Apply(ctx, oneOp("k", user.algorithm)) },
						"peek":  func() { _, _ = on.Peek(ctx, oneOp("k", user.algorithm)) },
					} {
						err, _ := panicOf(call).(error)
						if !errors.Is(err, errBug) {
							t.Errorf("%s: panics with %v", verb, err)
						}
					}
					if user.reply != nil {
						if err, _ := panicOf(func() { _ = on.Reset(ctx, []store.Slot{oneOp("k", windowOf10)[0].Slot}) }).(error); !errors.Is(err, errBug) {
							t.Errorf("reset: panics with %v", err)
						}
					}
				}
				sound.Store(true)
				if _, committed, err := on.Apply(ctx, oneOp("other", windowOf10)); err != nil || !committed {
					t.Error(committed, err)
				}
			})
		}
	}
}

// TestPanicOfAUserFailsNobodyElse: who shares the call has an answer.
func TestPanicOfAUserFailsNobodyElse(t *testing.T) {
	s := open(t, answering("5;+;+;+", nil), &Options{Scripts: []Source{{Kind: "panics/1", Lua: "local function decide(state, now) return true end"}}})
	sent := sendTogether(t, &s.takes, oneOp("before", windowOf10), oneOp("mine", panics{}), oneOp("after", windowOf10))
	for i, p := range sent {
		if value := panicOf(func() {
			if _, committed, err := waitFor(p, make([]store.Op, 1)); !committed || err != nil {
				t.Error(i, committed, err)
			}
		}); (value != nil) != (i == 1) {
			t.Errorf("caller %d: panics with %v", i, value)
		}
	}
}

// guise is an algorithm of a user that claims to be one of ours, and panics.
type guise struct {
	*algorithm.FixedWindow
	check bool // where
}

func (g guise) Step(s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
	panic(errBug)
}

func (g guise) CheckState(s algorithm.State) error {
	if g.check {
		panic(errBug)
	}
	return g.FixedWindow.CheckState(s)
}

// TestPanicOfCoalescedGroupsReachesTheirCallers: also where callers are decided together.
func TestPanicOfCoalescedGroupsReachesTheirCallers(t *testing.T) {
	for _, check := range []bool{false, true} {
		s := open(t, answering("5;*2,", nil), nil)
		mine := oneOp("k", guise{windowOf10, check})
		sent := sendTogether(t, &s.takes, mine, mine)
		for i, p := range sent {
			err, _ := panicOf(func() { _, _, _ = waitFor(p, make([]store.Op, 1)) }).(error)
			if !errors.Is(err, errBug) {
				t.Errorf("caller %d: panics with %v", i, err)
			}
		}
	}
}

// TestCallsInFlightAreBoundedOverAllTags: concurrent callers of as many keys of a cluster
// are not as many concurrent calls, and all of them end.
func TestCallsInFlightAreBoundedOverAllTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inFlight, most atomic.Int64
		s := open(t, shardedClient{clientFunc(func(_ context.Context, c *Command) (string, error) {
			if n := inFlight.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer inFlight.Add(-1)
			time.Sleep(time.Millisecond)
			return admission(groupsOf(c.Args)), nil
		})}, nil)
		var all sync.WaitGroup
		var admitted, left atomic.Int64
		for i := range 3000 {
			all.Go(func() {
				ctx := context.Background()
				if i%3 == 0 { // who leaves the queue holds nobody up
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, time.Duration(i%7)*time.Millisecond+time.Microsecond)
					defer cancel()
				}
				switch _, committed, err := s.Apply(ctx, oneOp(fmt.Sprint(i), windowOf10)); {
				case committed:
					admitted.Add(1)
				case errors.Is(err, context.DeadlineExceeded):
					left.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		synctest.Wait() // the last call has come back
		if n := most.Load(); n < maxCalls || n > 2*maxCalls || admitted.Load() < 2000 || left.Load() == 0 {
			t.Errorf("at most %d in flight, want %d, and no more that are abandoned; %d admitted, %d left", n, maxCalls, admitted.Load(), left.Load())
		}
		wantNothingLeft(t, s)
	})
}

// TestResetThatIsHalfDoneIsUnknown: where keys lie on several servers.
func TestResetThatIsHalfDoneIsUnknown(t *testing.T) {
	for failing, want := range []error{store.ErrUnavailable, store.ErrOutcomeUnknown, store.ErrOutcomeUnknown} {
		calls := 0
		s := open(t, shardedClient{clientFunc(func(context.Context, *Command) (string, error) {
			if calls++; calls-1 == failing {
				return "", store.ErrUnavailable
			}
			return "1", nil
		})}, nil)
		var slots []store.Slot
		for _, key := range []string{"a", "b", "c"} {
			slots = append(slots, oneOp(key, windowOf10)[0].Slot)
		}
		wantMeaning(t, fmt.Sprintf("call %d fails", failing), s.Reset(context.Background(), slots), want, nil)
	}
}
