package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/internal/race"
	"github.com/weirgo/weir/resilience"
	"github.com/weirgo/weir/store"
)

func newDenyCache(tb testing.TB, inner store.Store, opts resilience.DenyCacheOptions) *resilience.DenyCache {
	tb.Helper()
	c, err := resilience.NewDenyCache(inner, &opts)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func TestDenyCacheConforms(t *testing.T) {
	conformance.TestStore(t, func(tb testing.TB, clk clock.Clock) store.Store {
		return newDenyCache(tb, newMemory(tb, clk), resilience.DenyCacheOptions{Clock: clk})
	}, nil)
}

// counted counts the calls of Apply that reach a store.
func counted(inner store.Store, calls *int) store.Store {
	return store.Wrap(inner, store.Hooks{Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
		*calls++
		return next(ctx, ops)
	}})
}

// cacheBench is a cache around a store in memory with the same clock.
type cacheBench struct {
	*testing.T
	*hand
	memory store.Store
	cache  *resilience.DenyCache
	calls  int
}

func newCacheBench(t *testing.T, opts resilience.DenyCacheOptions) *cacheBench {
	t.Helper()
	b := &cacheBench{T: t, hand: newHand()}
	b.memory = newMemory(t, b.hand)
	opts.Clock = b.hand
	b.cache = newDenyCache(t, counted(b.memory, &b.calls), opts)
	return b
}

// asks applies an op, which must be answered so, and reach the store or not.
func (b *cacheBench) asks(op store.Op, allowed, reaches bool) algorithm.Outcome {
	b.Helper()
	before := b.calls
	ops := []store.Op{op}
	_, committed, err := b.cache.Apply(background, ops)
	if err != nil || committed != allowed || ops[0].Outcome.Allowed != allowed {
		b.Errorf("%+v, committed %t, %v; want allowed %t", ops[0].Outcome, committed, err, allowed)
	}
	if (b.calls > before) != reaches {
		b.Errorf("the call reaches the store: %t, want %t", b.calls > before, reaches)
	}
	return ops[0].Outcome
}

// one is a take of one unit.
func one(tb testing.TB, spec string) store.Op { return opOf(tb, spec, "k", 1)[0] }

func of(op store.Op, r algorithm.Request) store.Op {
	op.Request = r
	return op
}

func TestDenyCacheAnswersUntilRetryAfter(t *testing.T) {
	for _, f := range algorithm.Families() {
		t.Run(f.Name, func(t *testing.T) {
			b := newCacheBench(t, resilience.DenyCacheOptions{})
			spec := f.Name + ":1/10s"
			if f.Calendar {
				spec = f.Name + ":1/day"
			}
			op := one(t, spec)
			b.asks(op, true, true)
			first := b.asks(op, false, true)
			b.move(time.Millisecond)
			if o := b.asks(op, false, false); o.RetryAfter != first.RetryAfter-time.Millisecond || o.ResetAfter != first.ResetAfter-time.Millisecond || o.Remaining != 0 || o.Limit != 1 {
				t.Errorf("%+v after %+v", o, first)
			}
			b.move(first.RetryAfter - 2*time.Millisecond)
			b.move(time.Millisecond - time.Microsecond)
			if o := b.asks(op, false, false); o.RetryAfter != time.Microsecond {
				t.Errorf("1 µs before its end: %+v", o)
			}
			b.move(time.Microsecond)
			b.asks(op, true, true)
			if s := b.cache.Stats(); s.Denied != 2 || s.Asked != 3 || s.Entries != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestDenyCacheCostsOneCallForEachWait: a key that is denied all the time.
func TestDenyCacheCostsOneCallForEachWait(t *testing.T) {
	b := newCacheBench(t, resilience.DenyCacheOptions{})
	ops := opOf(t, "gcra:1/1s", "k", 1)
	admitted := 0
	for range 100_000 {
		if _, committed, err := b.cache.Apply(background, ops); err != nil {
			t.Fatal(err)
		} else if committed {
			admitted++
		}
		b.move(100 * time.Microsecond)
	}
	if admitted != 10 || b.calls != 20 {
		t.Errorf("%d admitted with %d calls in 10 s, want 10 with 20", admitted, b.calls)
	}
}

func TestDenyCacheForgetsWhatChanges(t *testing.T) {
	changed := one(t, "gcra:1/10s")
	larger := one(t, "gcra:1/10s,burst=5")
	for _, c := range []struct {
		name    string
		change  func(b *cacheBench)
		op      store.Op
		allowed bool
	}{
		{"reset", func(b *cacheBench) {
			if err := b.cache.Reset(background, []store.Slot{changed.Slot}); err != nil {
				b.Error(err)
			}
		}, changed, true},
		{"refund", func(b *cacheBench) {
			b.asks(of(changed, algorithm.Request{Cost: 1, Verb: algorithm.Refund}), true, true)
		}, changed, true},
		{"charge", func(b *cacheBench) {
			b.asks(of(changed, algorithm.Request{Cost: 1, Verb: algorithm.Charge}), true, true)
		}, changed, false},
		{"other parameters", func(*cacheBench) {}, larger, true},
		{"other parameters that were used", func(b *cacheBench) { b.asks(larger, true, true) }, changed, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newCacheBench(t, resilience.DenyCacheOptions{})
			b.asks(changed, true, true)
			b.asks(changed, false, true)
			c.change(b)
			b.asks(c.op, c.allowed, true)
		})
	}
}

// TestDenyCacheSeesOtherProcessesLate: at most as late as the end of the wait.
func TestDenyCacheSeesOtherProcessesLate(t *testing.T) {
	b := newCacheBench(t, resilience.DenyCacheOptions{})
	op := one(t, "fixed-window:1/10s")
	b.asks(op, true, true)
	wait := b.asks(op, false, true).RetryAfter
	if err := b.memory.Reset(background, []store.Slot{op.Slot}); err != nil {
		t.Fatal(err)
	}
	b.move(wait - time.Microsecond)
	b.asks(op, false, false)
	b.move(time.Microsecond)
	b.asks(op, true, true)
}

func TestDenyCachePassesOnWhatItCannotKnow(t *testing.T) {
	op := one(t, "leaky-bucket:1/10s,capacity=2")
	b := newCacheBench(t, resilience.DenyCacheOptions{})
	b.asks(op, true, true)
	b.asks(of(op, algorithm.Request{Cost: 1, MaxDelay: time.Nanosecond}), false, true) // would be admitted without it
	b.asks(op, true, true)
	b.asks(op, false, true)
	b.asks(of(op, algorithm.Request{Cost: 1, MaxDelay: time.Nanosecond}), false, true)
	b.asks(of(op, algorithm.Request{Cost: 3}), false, true)
	b.asks(of(op, algorithm.Request{}), true, true) // a look
	b.asks(op, false, false)
	ended, cancel := context.WithCancel(background)
	cancel()
	if _, _, err := b.cache.Apply(ended, []store.Op{op}); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
	b.move(-time.Second) // nothing is known of that time
	b.asks(op, false, true)
}

// TestDenyCacheOfSeveralLimits: answered where all are known to deny, and never in part.
func TestDenyCacheOfSeveralLimits(t *testing.T) {
	b := newCacheBench(t, resilience.DenyCacheOptions{})
	user, org := opOf(t, "gcra:1/10s", "user", 1)[0], opOf(t, "gcra:2/10s", "org", 1)[0]
	take := func(reaches, allowed bool) []store.Op {
		t.Helper()
		before := b.calls
		ops := []store.Op{user, org}
		if _, committed, err := b.cache.Apply(background, ops); err != nil || committed != allowed || (b.calls > before) != reaches {
			t.Errorf("%+v, %v; reached the store: %t", ops, err, b.calls > before)
		}
		return ops
	}
	take(true, true)
	if ops := take(true, false); !ops[1].Outcome.Allowed || ops[1].Outcome.Remaining != 1 {
		t.Errorf("the organisation as a look: %+v", ops[1].Outcome)
	}
	b.asks(user, false, false)
	take(true, false)
	b.asks(org, true, true)
	b.asks(org, false, true)
	if ops := take(false, false); ops[0].Outcome.Allowed || ops[1].Outcome.Allowed {
		t.Errorf("%+v", ops)
	}
}

func TestDenyCacheKeepsTheLeastCost(t *testing.T) {
	b := newCacheBench(t, resilience.DenyCacheOptions{AnyCost: true})
	op := one(t, "fixed-window:10/10s")
	b.asks(of(op, algorithm.Request{Cost: 8}), true, true)
	b.asks(of(op, algorithm.Request{Cost: 5}), false, true)
	b.asks(of(op, algorithm.Request{Cost: 6}), false, false)
	if o := b.asks(of(op, algorithm.Request{Cost: 11}), false, false); o.RetryAfter != algorithm.Never {
		t.Errorf("above the capacity: %+v", o)
	}
	b.asks(of(op, algorithm.Request{Cost: 3}), false, true)
	b.asks(of(op, algorithm.Request{Cost: 3}), false, false)
	b.asks(of(op, algorithm.Request{Cost: 2}), true, true)
	b.asks(of(op, algorithm.Request{Cost: 1}), false, true)
	b.asks(of(op, algorithm.Request{Cost: 3}), false, false)
}

// TestDenyCacheForgetsADenialThatAResetOvertook: the denial was decided before the Reset
// and arrives after it, or while it is under way.
func TestDenyCacheForgetsADenialThatAResetOvertook(t *testing.T) {
	for _, when := range []string{"reset begins and ends", "reset is under way", "refund ends", "take with other parameters"} {
		t.Run(when, func(t *testing.T) {
			memory := newMemory(t, nil)
			var during func()
			inReset := make(chan func()) // what to do while a reset is under way
			slow := store.Wrap(memory, store.Hooks{
				Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
					at, committed, err := next(ctx, ops)
					if do := during; do != nil {
						during = nil
						do()
					}
					return at, committed, err
				},
				Reset: func(ctx context.Context, slots []store.Slot, next func(context.Context, []store.Slot) error) error {
					err := next(ctx, slots)
					if when == "reset is under way" {
						(<-inReset)()
					}
					return err
				},
			})
			cache := newDenyCache(t, slow, resilience.DenyCacheOptions{})
			op := one(t, "gcra:1/1h")
			take := func(op store.Op) bool {
				_, committed, err := cache.Apply(background, []store.Op{op})
				if err != nil {
					t.Error(err)
				}
				return committed
			}
			take(op)
			reset := make(chan error, 1)
			during = func() {
				switch when {
				case "reset begins and ends":
					reset <- cache.Reset(background, []store.Slot{op.Slot})
				case "reset is under way":
					began := make(chan struct{})
					go func() { reset <- cache.Reset(background, []store.Slot{op.Slot}) }()
					inReset <- func() { close(began); (<-inReset)() }
					<-began
				case "refund ends":
					take(of(op, algorithm.Request{Cost: 1, Verb: algorithm.Refund}))
					reset <- nil
				case "take with other parameters": // of a rate that makes nothing better here
					take(one(t, "gcra:1/1h,burst=5"))
					reset <- nil
				}
			}
			if take(op) {
				t.Fatal("the denial that is overtaken is none")
			}
			if n := cache.Stats().Entries; n != 0 {
				t.Errorf("%d denials are remembered", n)
			}
			if when == "reset is under way" {
				inReset <- func() {}
			}
			if err := <-reset; err != nil {
				t.Fatal(err)
			}
			if when != "take with other parameters" && !take(op) {
				t.Error("denied after the slot was made fresh")
			}
		})
	}
}

func TestDenyCacheIsBounded(t *testing.T) {
	for _, most := range []int{1, 100, 10_000} {
		b := newCacheBench(t, resilience.DenyCacheOptions{MaxEntries: most})
		for i := range 3 * most {
			ops := opOf(t, "gcra:1/1h", fmt.Sprint(i), 1)
			for range 2 {
				if _, _, err := b.cache.Apply(background, ops); err != nil {
					t.Fatal(err)
				}
			}
		}
		if n := b.cache.Stats().Entries; n > most || n < most/2 {
			t.Errorf("%d entries, at most %d", n, most)
		}
		b.asks(opOf(t, "gcra:1/1h", fmt.Sprint(3*most-1), 1)[0], false, false)
		b.asks(opOf(t, "gcra:1/1h", "0", 1)[0], false, true)
	}
	b := newCacheBench(t, resilience.DenyCacheOptions{})
	long := opOf(t, "gcra:1/1h", strings.Repeat("k", 1001), 1)[0]
	b.asks(long, true, true)
	b.asks(long, false, true)
	b.asks(long, false, true)
}

func TestDenyCacheOptionsOutOfBoundsAreRefused(t *testing.T) {
	var none *hand
	for field, opts := range map[string]resilience.DenyCacheOptions{
		"DenyCacheOptions.MaxEntries": {MaxEntries: -1},
		"DenyCacheOptions.Clock":      {Clock: none},
	} {
		if c, err := resilience.NewDenyCache(newMemory(t, nil), &opts); !errors.Is(err, store.ErrInvalid) || c != nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := resilience.NewDenyCache(nil, nil); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("no store: %v", err)
	}
}

func TestDenyCacheAfterClose(t *testing.T) {
	c := newDenyCache(t, newMemory(t, nil), resilience.DenyCacheOptions{})
	op := one(t, "gcra:1/1h")
	for range 2 {
		_, _, _ = c.Apply(background, []store.Op{op})
	}
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := c.Apply(background, []store.Op{op}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("%v", err)
	}
	if s := c.Stats(); s.Entries != 0 {
		t.Errorf("%+v", s)
	}
}

// TestDenyCacheUnderConcurrentCallers: for the race detector. After each Reset the first
// take is admitted, whatever other callers were told before.
func TestDenyCacheUnderConcurrentCallers(t *testing.T) {
	c := newDenyCache(t, newMemory(t, nil), resilience.DenyCacheOptions{MaxEntries: 64})
	var group sync.WaitGroup
	for i := range 256 {
		group.Go(func() {
			shared, own := opOf(t, "gcra:1/1h", fmt.Sprint(i%4), 1)[0], opOf(t, "gcra:1/1h", fmt.Sprint("own", i), 1)[0]
			for range 50 {
				for range 3 {
					if _, _, err := c.Apply(background, []store.Op{shared}); err != nil {
						t.Error(err)
					}
				}
				if err := c.Reset(background, []store.Slot{own.Slot, shared.Slot}); err != nil {
					t.Error(err)
				}
				for _, want := range []bool{true, false, false} {
					if _, committed, err := c.Apply(background, []store.Op{own}); err != nil || committed != want {
						t.Errorf("committed %t, want %t: %v", committed, want, err)
					}
				}
			}
		})
	}
	group.Wait()
	if s := c.Stats(); s.Denied == 0 {
		t.Errorf("%+v", s)
	}
}

func TestDenyCacheDeniesWithoutAllocating(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	b := newCacheBench(t, resilience.DenyCacheOptions{})
	ops := []store.Op{one(t, "gcra:1/1h")}
	for range 2 {
		_, _, _ = b.cache.Apply(background, ops)
	}
	if n := testing.AllocsPerRun(100, func() { _, _, _ = b.cache.Apply(background, ops) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkDenyCacheDenied(b *testing.B) {
	c := newDenyCache(b, newMemory(b, nil), resilience.DenyCacheOptions{})
	l, err := weir.New(c, weir.Must(weir.ParseLimit("l", "gcra:1/1h")), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := l.Allow(background, "user:000000000000042"); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(c.Stats().Asked), "asked")
}
