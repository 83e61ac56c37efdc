package weir_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// waitWorld is random callers that wait for random limits: of several keys, queues of
// their own among them, with deadlines, contexts that are cancelled, a store that panics,
// and a limiter that may be closed meanwhile.
type waitWorld struct {
	t    *testing.T
	rnd  *rand.Rand
	m    *weir.MultiLimiter
	one  *weir.Limiter
	pool []weir.Ask
}

func newWaitWorld(t *testing.T, s store.Store, seed uint64) *waitWorld {
	w := &waitWorld{t: t, rnd: rand.New(rand.NewPCG(seed, 0))}
	var mu sync.Mutex
	panics := rand.New(rand.NewPCG(seed, 1))
	s = panicking(s, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return panics.IntN(20) == 0
	})
	w.m = newMulti(t, s)
	for _, key := range []string{"a", "b"} {
		for _, spec := range []string{"gcra:1/1s", "fixed-window:2/1s", "leaky-bucket:3/1s", "sliding-log:2/3s", "token-bucket:3/1s"} {
			w.pool = append(w.pool, ask(t, key, spec, 1))
		}
	}
	w.one = newLimiter(t, s, parse(t, "gcra:1/1s"), "one")
	return w
}

var errPanic = errors.New("a store that panics")

// panicking is a store that sometimes panics before it decides.
func panicking(inner store.Store, panics func() bool) store.Store {
	return store.Wrap(inner, store.Hooks{
		Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
			if panics() {
				panic(errPanic)
			}
			return next(ctx, ops)
		},
	})
}

// asks are one to four of the pool, in any order.
func (w *waitWorld) asks() (asks []weir.Ask) {
	for _, i := range w.rnd.Perm(len(w.pool))[:1+w.rnd.IntN(4)] {
		a := w.pool[i]
		if w.rnd.IntN(10) == 0 {
			a = a.Limit.ForN(a.Key, 0)
		}
		asks = append(asks, a)
	}
	return asks
}

// caller returns a function that waits for something, and reports what is wrong with
// the answer.
func (w *waitWorld) caller() func() {
	asks, kind, single := w.asks(), w.rnd.IntN(3), w.rnd.IntN(3) == 0
	start := time.Duration(w.rnd.IntN(20_000)) * time.Millisecond
	patience := time.Duration(w.rnd.IntN(30_000)) * time.Millisecond
	return func() {
		time.Sleep(start)
		ctx, cancel := context.WithCancel(background)
		defer cancel()
		switch kind {
		case 0:
			ctx, cancel = context.WithTimeout(ctx, patience)
			defer cancel()
		case 1:
			time.AfterFunc(patience, cancel)
		}
		began := time.Now()
		allowed, err := w.wait(ctx, single, asks)
		if took := time.Since(began); kind < 2 && took > patience {
			w.t.Errorf("a caller with %v returned after %v: %v", patience, took, err)
		}
		if allowed == (err != nil) && !isAnyOf(err, context.Canceled, context.DeadlineExceeded, store.ErrClosed) {
			w.t.Errorf("allowed %t, error %v", allowed, err)
		}
		if err != nil && !isAnyOf(err, context.Canceled, context.DeadlineExceeded, store.ErrClosed, weir.ErrQueueFull, errPanic) {
			w.t.Error(err)
		}
	}
}

func (w *waitWorld) wait(ctx context.Context, single bool, asks []weir.Ask) (allowed bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			allowed, err = false, r.(error)
		}
	}()
	if single {
		d, err := w.one.Wait(ctx, asks[0].Key)
		return d.Allowed, err
	}
	r, err := w.m.Wait(ctx, asks...)
	return r.Allowed, err
}

func isAnyOf(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// TestRandomWaitersAllReturn: nobody waits for ever or beyond its context, and nothing
// is left in a queue.
func TestRandomWaitersAllReturn(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			s := weir.Must(memorystore.New(nil))
			defer s.Close()
			w := newWaitWorld(t, s, seed)
			var callers sync.WaitGroup
			for range 50 {
				callers.Go(w.caller())
			}
			if seed%2 == 0 {
				time.Sleep(time.Duration(w.rnd.IntN(60)) * time.Second)
				_, _ = w.m.Close(), w.one.Close()
			}
			returned := make(chan struct{})
			go func() { callers.Wait(); close(returned) }()
			time.Sleep(time.Hour)
			select {
			case <-returned:
			default:
				panic(fmt.Sprintf("seed %d: a caller waits for ever", seed)) // the bubble cannot end
			}
			for _, a := range w.pool {
				began := time.Now()
				_, err := w.wait(within(t, time.Minute), false, []weir.Ask{a})
				if time.Since(began) != 0 || seed%2 != 0 && err != nil && !errors.Is(err, errPanic) {
					t.Errorf("seed %d: the queue of %s was not left: %v after %v", seed, a.Limit.Name, err, time.Since(began))
				}
			}
		})
	}
}

// TestPanicGivesUpThePlacesInTheQueues: the next caller does not wait behind one that is
// gone.
func TestPanicGivesUpThePlacesInTheQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := weir.Must(memorystore.New(nil))
		defer memory.Close()
		fail := true
		s := panicking(memory, func() bool { return fail })
		w := waitWorld{m: newMulti(t, s), one: newLimiter(t, s, parse(t, "gcra:5/1s"), "one")}
		a := ask(t, "k", "gcra:5/1s", 1)
		for _, single := range []bool{true, false} {
			fail = true
			if _, err := w.wait(background, single, []weir.Ask{a}); !errors.Is(err, errPanic) {
				t.Fatal(err)
			}
			fail = false
			if _, err := w.wait(within(t, time.Minute), single, []weir.Ask{a}); err != nil {
				t.Errorf("single %t: the next caller gets %v", single, err)
			}
		}
	})
}

// TestWaitOnAClosedLimiterSaysSoEachTime: whatever else is true at the same time.
func TestWaitOnAClosedLimiterSaysSoEachTime(t *testing.T) {
	s := newMemory(t, nil)
	l, m := newLimiter(t, s, parse(t, "gcra:5/1s"), ""), newMulti(t, s)
	_, _ = l.Close(), m.Close()
	for range 50 {
		var why *weir.WaitError
		if _, err := l.Wait(background, "k"); !errors.Is(err, store.ErrClosed) || !errors.As(err, &why) {
			t.Fatalf("%#v", err)
		}
		if _, err := m.Wait(background, ask(t, "k", "gcra:5/1s", 1)); !errors.Is(err, store.ErrClosed) || !errors.As(err, &why) {
			t.Fatalf("%#v", err)
		}
	}
}

// TestMaxDelayOfAnAskIsNotADeadline: the context has none that could have passed.
func TestMaxDelayOfAnAskIsNotADeadline(t *testing.T) {
	multiBubble(t, func(t *testing.T, m *weir.MultiLimiter, _ time.Time) {
		a := ask(t, "k", "leaky-bucket:1/1s,capacity=9", 1)
		take(t, m, a, ask(t, "j", "gcra:1/1s", 1))
		a.MaxDelay = 500 * time.Millisecond
		if _, err := m.Wait(background, a); !errors.Is(err, weir.ErrMaxDelay) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a turn after the MaxDelay: %v", err)
		}
		if _, err := m.Wait(within(t, 400*time.Millisecond), a); errors.Is(err, weir.ErrMaxDelay) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a turn after the deadline: %v", err)
		}
	})
}
