package resilience_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/resilience"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// hooked returns a Lease on a store in memory, and what stands around each call to that store.
func hooked(t *testing.T, o resilience.LeaseOptions) (l *resilience.Lease, inner *memorystore.Store, clk *clock.Mock, around *func(ops []store.Op, next func() error) error) {
	t.Helper()
	_, inner, clk = pair(t, resilience.LeaseOptions{})
	around = new(func([]store.Op, func() error) error)
	hooks := store.Hooks{Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (at algorithm.Instant, committed bool, err error) {
		call := func() error {
			at, committed, err = next(ctx, ops)
			return err
		}
		if *around == nil {
			return at, committed, call()
		}
		err = (*around)(ops, call)
		return at, committed, err
	}}
	o.Clock = clk
	return weir.Must(resilience.NewLease(store.Wrap(inner, hooks), &o)), inner, clk, around
}

// TestLeaseOfACallThatPanics: a slot is not busy for ever after a call that takes or gives back units
// has panicked.
func TestLeaseOfACallThatPanics(t *testing.T) {
	for name, verb := range map[string]algorithm.Verb{"take": algorithm.Take, "refund": algorithm.Refund} {
		t.Run(name, func(t *testing.T) {
			l, _, clk, around := hooked(t, resilience.LeaseOptions{})
			a := parse(t, "fixed-window:10000/1h")
			heat(t, l, a, "k", 500)
			panicked := 0
			*around = func(ops []store.Op, next func() error) error {
				if ops[0].Request.Verb == verb {
					panicked++
					panic("a store that panics")
				}
				return next()
			}
			func() {
				defer func() { _ = recover() }()
				if verb == algorithm.Refund {
					clk.Add(time.Second)
					l.Sweep(ctx)
				}
				for range 10_000 {
					_, _ = takeUnits(l, a, "k", 1)
				}
			}()
			if *around = nil; panicked != 1 {
				t.Fatalf("%d calls panicked, want 1", panicked)
			}
			drain(t, l, a, "k") // a denial waits for what is on its way
			if s := l.Stats(); s.Held != 0 {
				t.Errorf("%+v, want nothing held", s)
			}
		})
	}
}

// TestLeaseKeepsAKeyOfItsOwn: a caller may use the memory of a key again.
func TestLeaseKeepsAKeyOfItsOwn(t *testing.T) {
	l, inner, clk := pair(t, resilience.LeaseOptions{})
	a := parse(t, "fixed-window:10000/1h")
	key := []byte("mine")
	heat(t, l, a, unsafe.String(&key[0], len(key)), 500)
	held := l.Stats().Held
	copy(key, "your")
	clk.Add(time.Second)
	if returned, _ := l.Sweep(ctx); returned != held || held == 0 || left(t, inner, a, "mine") != 10000-500 {
		t.Errorf("%d of %d units were given back, %d are left of the key", returned, held, left(t, inner, a, "mine"))
	}
}

// TestLeaseGivesNothingBackAfterAReset: of units that wait to be given back when a Reset comes, none is given
// back to the slot that is fresh then.
func TestLeaseGivesNothingBackAfterAReset(t *testing.T) {
	l, inner, _, around := hooked(t, resilience.LeaseOptions{MaxShare: 0.5})
	a := parse(t, "token-bucket:10000/9600h")
	heat(t, l, a, "k", 500)
	// Parameters that change put what is held aside, so that two grants wait.
	other := parse(t, "token-bucket:10001/9600h")
	heat(t, l, other, "k", 500)
	held := l.Stats().Held
	refunds := 0
	*around = func(ops []store.Op, next func() error) error {
		err := next()
		if ops[0].Request.Verb == algorithm.Refund {
			if refunds++; refunds == 1 {
				if err := l.Reset(ctx, []store.Slot{ops[0].Slot}); err != nil {
					t.Error(err)
				}
				if committed, err := takeUnits(inner, other, "k", 10001); !committed || err != nil {
					t.Errorf("all of a fresh slot: %t, error %v", committed, err)
				}
			}
		}
		return err
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	// What was on its way when the Reset came is a no-op here: it arrived before.
	if s := l.Stats(); refunds != 1 || s.Held != 0 || s.Returned >= held || s.Returned+s.Lost != held {
		t.Errorf("%d calls gave units back, %+v; want one of two grants, and the other lost", refunds, s)
	}
}

// nested is a clock at whose reading a test does something, after it was read.
type nested struct {
	*clock.Mock
	then func()
}

func (n *nested) Now() time.Time {
	now := n.Mock.Now()
	if then := n.then; then != nil {
		n.then = nil
		then()
	}
	return now
}

// TestLeaseOfCallersThatOvertake: a caller who has read the clock, and then waited while others took units,
// does not take that for a clock that goes back.
func TestLeaseOfCallersThatOvertake(t *testing.T) {
	clk := &nested{Mock: clock.NewMock()}
	clk.Set(time.Unix(1_700_000_000, 0))
	inner := weir.Must(memorystore.New(&memorystore.Options{Clock: clk.Mock}))
	l := weir.Must(resilience.NewLease(inner, &resilience.LeaseOptions{Clock: clk, Units: 500}))
	a := parse(t, "fixed-window:1000000/1h")
	heat(t, l, a, "k", 1000)
	overtake := func() {
		clk.Add(time.Microsecond)
		for before := l.Stats().Taken; l.Stats().Taken == before; {
			heat(t, l, a, "k", 1)
		}
	}
	for range 10 {
		clk.then = overtake
		heat(t, l, a, "k", 1)
		clk.then = overtake
		l.Sweep(ctx)
	}
	if s := l.Stats(); s.Returned != 0 || s.Lost != 0 {
		t.Errorf("%+v, want nothing given back or lost: all of it can be used", s)
	}
	// Over the edge of a tick, a quarter of Life, the slot stays hot.
	clk.Add(250*time.Millisecond - 500*time.Microsecond)
	clk.then = func() {
		clk.Add(time.Millisecond)
		heat(t, l, a, "k", 1)
	}
	heat(t, l, a, "k", 1)
	if err := l.Reset(ctx, []store.Slot{{Key: "k", Limit: "l", Algorithm: a}}); err != nil { // nothing is held
		t.Fatal(err)
	}
	before := l.Stats().Taken
	heat(t, l, a, "k", 2)
	if taken := l.Stats().Taken - before; taken != 500 {
		t.Errorf("%d units were taken in advance for a hot slot, want 500", taken)
	}
}

// TestLeaseClosesAfterCallsOnTheirWay: what they bring is given back, too.
func TestLeaseClosesAfterCallsOnTheirWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _, _, around := hooked(t, resilience.LeaseOptions{})
		a := parse(t, "fixed-window:10000/1h")
		heat(t, l, a, "k", 500)
		leave := make(chan struct{})
		waits := false
		*around = func(ops []store.Op, next func() error) error {
			if ops[0].Request.Verb == algorithm.Take && !waits {
				waits = true
				<-leave
			}
			return next()
		}
		go func() {
			for !waits {
				heat(t, l, a, "k", 1)
			}
		}()
		synctest.Wait()
		closed := false
		go func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			closed = true
		}()
		synctest.Wait()
		if !waits || closed {
			t.Errorf("a call waits: %t, and Close has ended: %t, %+v", waits, closed, l.Stats())
		}
		close(leave)
		synctest.Wait()
		if s := l.Stats(); !closed || s.Held != 0 || s.Lost != 0 {
			t.Errorf("Close has ended: %t, %+v; want nothing held or lost", closed, s)
		}
	})
}

// slow is a store that waits for something outside of the process, and sees the contexts of its calls.
type slow struct {
	store.Store
	seen func(ctx context.Context, r algorithm.Request)
}

func (s slow) Apply(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
	s.seen(ctx, ops[0].Request)
	return s.Store.Apply(ctx, ops)
}

// TestLeaseGivesBackInItsTimeout, also for a caller who has longer: how much a rate has regained is reckoned
// up to the end of it.
func TestLeaseGivesBackInItsTimeout(t *testing.T) {
	_, inner, clk := pair(t, resilience.LeaseOptions{})
	refunds := 0
	l := weir.Must(resilience.NewLease(slow{inner, func(ctx context.Context, r algorithm.Request) {
		if r.Verb != algorithm.Refund {
			return
		}
		refunds++
		if end, has := ctx.Deadline(); !has || time.Until(end) > time.Minute {
			t.Errorf("units are given back until %v, %t; want within a minute", end, has)
		}
	}}, &resilience.LeaseOptions{Clock: clk, Timeout: time.Minute}))
	a := parse(t, "gcra:10000/9600h")
	heat(t, l, a, "k", 500)
	all := op(a, algorithm.Request{Cost: 9498})
	if _, committed, err := l.Apply(ctx, all); err != nil || !committed || refunds == 0 {
		t.Errorf("all that is left: %t, error %v, after %d calls that gave units back", committed, err, refunds)
	}
}
