package memorystore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// The default clock takes another path than an injected one.
func TestPanicInPlaceDoesNotWedgeAStoreOnTheDefaultClock(t *testing.T) {
	armed := false
	s := opened(t, nil)
	bound, err := store.FeaturesOf(s).Bind("", explosiveInPlace{explosive{&armed}})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		if o, _, err := bound.Apply(context.Background(), "k", algorithm.Request{Cost: 1}); err != nil || !o.Allowed {
			t.Fatalf("round %d: %+v, %v", round, o, err)
		}
		armed = true
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_, _, _ = bound.Apply(context.Background(), "k", algorithm.Request{Cost: 1})
		}()
		armed = false
	}
	if keys := s.Stats().Keys; keys != 1 {
		t.Errorf("%d keys", keys)
	}
}

// quota is an algorithm of the user's that never forgets.
type quota struct{}

func (quota) Spec() algorithm.Spec { return algorithm.Spec{Kind: "quota/1"} }

func (quota) Step(s algorithm.State, _ algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
	const most = 3
	o := algorithm.Outcome{Limit: most, Remaining: most - s.Word(0), RetryAfter: algorithm.Never, ResetAfter: algorithm.Never}
	if r.Cost <= o.Remaining {
		o.Allowed, o.RetryAfter = true, 0
		if r.Cost > 0 {
			o.Remaining -= r.Cost
			s = algorithm.NewState(s.Word(0) + r.Cost)
		}
	}
	return s, o
}

func TestStateThatIsNeverFreshAgainIsNeverDropped(t *testing.T) {
	s := opened(t, nil)
	ops := []store.Op{{Slot: store.Slot{Key: "k", Algorithm: quota{}}, Request: algorithm.Request{Cost: 1}}}
	admitted := 0
	for range 100 {
		if _, committed, err := s.Apply(context.Background(), ops); err != nil {
			t.Fatal(err)
		} else if committed {
			admitted++
		}
		s.Sweep(algorithm.MaxInstant)
	}
	if admitted != 3 {
		t.Errorf("%d admitted of a quota of 3", admitted)
	}
}

func TestNothingIsHeldAfterClose(t *testing.T) {
	limit := algorithm.Must(algorithm.NewGCRA(algorithm.PerMinute(1), 1))
	for range 20 {
		s, err := New(&Options{MaxKeys: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for i := 0; ; i++ {
					op := store.Op{Slot: store.Slot{Key: strconv.Itoa(g) + " " + strconv.Itoa(i), Algorithm: limit}, Request: algorithm.Request{Cost: 1}}
					if _, _, err := s.Apply(context.Background(), []store.Op{op}); errors.Is(err, store.ErrClosed) {
						return
					} else if err != nil {
						panic(fmt.Sprint("apply: ", err))
					}
				}
			})
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if keys := s.Stats().Keys; keys != 0 {
			t.Fatalf("%d keys are held after Close", keys)
		}
	}
}

// A server keeps a state for a whole number of milliseconds. Memory that dropped
// it a part of one earlier would answer differently once the limit changes.
func TestSlotIsHeldForItsWholeTTL(t *testing.T) {
	const at = 906
	s := opened(t, &Options{Clock: &clockOf{time.UnixMicro(at)}})
	ops := []store.Op{{
		Slot:    store.Slot{Key: "k", Algorithm: algorithm.Must(algorithm.NewSlidingCounter(algorithm.PerSecond(5)))},
		Request: algorithm.Request{Cost: 5},
	}}
	if _, _, err := s.Apply(context.Background(), ops); err != nil {
		t.Fatal(err)
	}
	ttl := algorithm.Instant(store.TTL(ops[0].Outcome.ResetAfter) / time.Microsecond)
	if ttl != 3_000_000 {
		t.Fatalf("a TTL of %v", ttl)
	}
	if s.Sweep(at + ttl - 1); s.Stats().Keys != 1 {
		t.Error("dropped before its TTL")
	}
	if s.Sweep(at + ttl); s.Stats().Keys != 0 {
		t.Error("held after its TTL")
	}
}

func TestExpiryIsTheTTLOfEveryStore(t *testing.T) {
	for _, reset := range []time.Duration{
		0, 1, 999, time.Microsecond, 999 * time.Microsecond, time.Millisecond, 1001 * time.Microsecond,
		algorithm.MaxPeriod, algorithm.MaxTimeToFull + time.Duration(algorithm.MaxInstant)*time.Microsecond,
	} {
		reset = reset.Truncate(time.Microsecond)
		want := 17 + algorithm.Instant(store.TTL(reset)/time.Microsecond)
		if got := expiry(17, &algorithm.Outcome{ResetAfter: reset}); got != want {
			t.Errorf("ResetAfter %v: expires at %v, want %v", reset, got, want)
		}
	}
	if got := expiry(algorithm.MaxInstant, &algorithm.Outcome{ResetAfter: algorithm.Never}); got <= algorithm.MaxInstant {
		t.Errorf("Never expires at %v", got)
	}
}
