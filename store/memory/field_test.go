package memorystore_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/race"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// Cases that were reported of other limiters, with their sources.

// One entry for each client address, kept for ever: scans and spoofed headers
// grew the process until it was killed.
// pinchtab/pinchtab #94, didip/tollbooth #32, go-goyave/goyave PR 120
func TestMemoryComesBackWhenKeysAreIdle(t *testing.T) {
	keys := 1_000_000
	if testing.Short() || race.Enabled {
		keys = 20_000
	}
	for _, spec := range []string{"gcra:10/1s", "token-bucket:10/1s", "leaky-bucket:10/1s", "fixed-window:10/1s", "sliding-log:10/1s", "sliding-counter:10/1s"} {
		if spec != "gcra:10/1s" {
			keys = min(keys, 100_000)
		}
		clk := newMovable()
		s := newStore(t, &memorystore.Options{Clock: clk})
		before, _ := heap()
		bound, err := store.FeaturesOf(s).Bind("", parse(t, spec))
		if err != nil {
			t.Fatal(err)
		}
		for i := range keys {
			if _, _, err := bound.Apply(context.Background(), strconv.Itoa(i), algorithm.Request{Cost: 1}); err != nil {
				t.Fatal(err)
			}
		}
		full, _ := heap()
		if held := s.Stats().Keys; held != keys {
			t.Fatalf("%s: %d keys are held", spec, held)
		}
		clk.now = clk.now.Add(3 * time.Second)
		now, err := algorithm.InstantOf(clk.now)
		if err != nil {
			t.Fatal(err)
		}
		if dropped := s.Sweep(now); dropped != keys || s.Stats().Keys != 0 {
			t.Errorf("%s: %d of %d dropped, %d left", spec, dropped, keys, s.Stats().Keys)
		}
		after, _ := heap()
		const rest = 1 << 20 // pages that are kept for the next keys
		if after > before+rest && after > 2*before {
			t.Errorf("%s: the heap went from %d to %d bytes, and is at %d when all keys are gone", spec, before, full, after)
		}
		runtime.KeepAlive(s)
	}
}

// Unsigned "now minus last use" wrapped when the clock went back a little, and a
// key in use was dropped; elsewhere expiry ran from creation, not from use.
// sethvargo/go-limiter #57, traefik/traefik PR 8254
func TestLiveKeyIsNotSwept(t *testing.T) {
	clk := newMovable()
	s := newStore(t, &memorystore.Options{Clock: clk})
	a := parse(t, "token-bucket:10/600s,burst=10")
	start := clk.now
	at := func(seconds float64) { clk.now = start.Add(time.Duration(seconds * float64(time.Second))) }
	sweep := func() {
		now, err := algorithm.InstantOf(clk.now)
		if err != nil {
			t.Fatal(err)
		}
		s.Sweep(now)
	}
	take := func(n int64) bool {
		op := []store.Op{{Slot: store.Slot{Key: "a", Algorithm: a}, Request: algorithm.Request{Cost: n}}}
		_, committed, err := s.Apply(context.Background(), op)
		if err != nil {
			t.Fatal(err)
		}
		return committed
	}
	at(1000)
	if !take(10) {
		t.Fatal("a fresh bucket does not give its burst")
	}
	at(999.9)
	sweep()
	if take(1) {
		t.Error("admitted at 999.9: the sweep has made the key fresh")
	}
	admitted := 0
	for tenths := 10_000; tenths <= 16_000; tenths++ {
		seconds := float64(tenths) / 10
		at(seconds)
		if tenths%100 == 0 {
			sweep()
		}
		if tenths%600 == 400 && take(1) { // 1060, 1120, … from 1000
			admitted++
			if take(1) {
				t.Errorf("two admitted at %v", seconds)
			}
		}
	}
	if admitted != 10 {
		t.Errorf("%d admitted from 1060 to 1600, one each 60 s, and must be 10", admitted)
	}
}

// New keys, a sweeper and readers crashed the process, or let too many through.
// mennanov/limiters #71, didip/tollbooth #6, letsencrypt/boulder #8629
func TestManyKeysFromManyGoroutinesWhileSweeping(t *testing.T) {
	const callers, keys, limit = 64, 10_000, 5
	calls := 2000
	if testing.Short() {
		calls = 300
	}
	s := newStore(t, &memorystore.Options{SweepEvery: time.Millisecond, MaxKeys: 2 * keys})
	a := parse(t, "gcra:5/1h")
	brief := parse(t, "gcra:1000/1s,burst=1")
	var admitted, asked [keys]atomic.Int64
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			ctx := context.Background()
			ops := make([]store.Op, 2)
			for n := range calls {
				k := (i*calls + n*7919) % keys
				ops[0] = store.Op{Slot: store.Slot{Key: strconv.Itoa(k), Algorithm: a}, Request: algorithm.Request{Cost: 1}}
				ops[1] = store.Op{Slot: store.Slot{Key: "brief" + strconv.Itoa(k%100), Limit: strconv.Itoa(n % 10), Algorithm: brief}}
				_, committed, err := s.Apply(ctx, ops[:1+n%2])
				if err != nil {
					t.Error(err)
					return
				}
				asked[k].Add(1)
				if committed {
					admitted[k].Add(1)
				}
				if n%10 == 0 { // something for the sweeper, and for Reset
					ops[1].Request.Cost = 1
					if _, _, err := s.Apply(ctx, ops[1:]); err != nil {
						t.Error(err)
					}
					if err := s.Reset(ctx, []store.Slot{ops[1].Slot}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	for k := range keys {
		if got, want := admitted[k].Load(), min(limit, asked[k].Load()); got != want {
			t.Fatalf("key %d: %d of %d were admitted, and must be %d", k, got, asked[k].Load(), want)
		}
	}
}

// H4: at one instant exactly the capacity passes, however many ask.
func TestTenThousandGoroutinesTakeExactlyTheBurst(t *testing.T) {
	const callers, burst = 10_000, 777
	for _, spec := range []string{"gcra:777/1h", "token-bucket:777/1h", "leaky-bucket:777/1h", "fixed-window:777/1h", "sliding-log:777/1h", "sliding-counter:777/1h"} {
		s := newStore(t, &memorystore.Options{Clock: newMovable()})
		bound, err := store.FeaturesOf(s).Bind("", parse(t, spec))
		if err != nil {
			t.Fatal(err)
		}
		var admitted atomic.Int64
		var all sync.WaitGroup
		start := make(chan struct{})
		for range callers {
			all.Go(func() {
				<-start
				o, _, err := bound.Apply(context.Background(), "a", algorithm.Request{Cost: 1})
				if err != nil {
					t.Error(err)
				}
				if o.Allowed {
					admitted.Add(1)
				}
			})
		}
		close(start)
		all.Wait()
		if got := admitted.Load(); got != burst {
			t.Errorf("%s: %d admitted, and must be %d", spec, got, burst)
		}
	}
}

// A window longer than 2^31 ms became a timer of 1 ms: the key was dropped at
// once, or the clean-up ran in a hot loop.
// express-rate-limit/express-rate-limit #546, elizaOS/eliza #20541
func TestWindowsLongerThan25DaysAreKept(t *testing.T) {
	for _, window := range []time.Duration{2147483647 * time.Millisecond, 2147483648 * time.Millisecond, 365 * 24 * time.Hour, 400 * 24 * time.Hour} {
		clk := newMovable()
		s := newStore(t, &memorystore.Options{Clock: clk, MaxKeys: 2})
		a := algorithm.Must(algorithm.NewFixedWindow(algorithm.Rate{Units: 5, Per: window}))
		bound, err := store.FeaturesOf(s).Bind("", a)
		if err != nil {
			t.Fatal(err)
		}
		// From the start of a window on, which is aligned to the epoch.
		start := time.UnixMicro((clk.now.UnixMicro()/window.Microseconds() + 1) * window.Microseconds())
		for _, step := range []struct {
			after   time.Duration
			cost    int64
			allowed bool
		}{{0, 5, true}, {time.Second, 1, false}, {25 * 24 * time.Hour / 2, 1, false}, {window - time.Microsecond, 1, false}, {window, 1, true}} {
			clk.now = start.Add(step.after)
			now, _ := algorithm.InstantOf(clk.now)
			s.Sweep(now)
			o, _, err := bound.Apply(context.Background(), "a", algorithm.Request{Cost: step.cost})
			if err != nil || o.Allowed != step.allowed {
				t.Errorf("%v: %v after the start: %+v, error %v", window, step.after, o, err)
			}
			if !step.allowed && o.RetryAfter != window-step.after {
				t.Errorf("%v: %v after the start: retry after %v", window, step.after, o.RetryAfter)
			}
		}
	}
}

// J1: what is asked of one key never shows in the answers to another, though
// they share a shard, a page and a name.
func TestKeysOfOneShardDoNotTouchEachOther(t *testing.T) {
	clk := newMovable()
	crowded, alone := newStore(t, &memorystore.Options{Clock: clk}), newStore(t, &memorystore.Options{Clock: clk})
	ctx := context.Background()
	for i := range 3000 {
		clk.now = clk.now.Add(time.Duration(i%97) * time.Millisecond)
		for n, spec := range fixedSize {
			a := parse(t, spec)
			noise := []store.Op{{Slot: store.Slot{Key: fmt.Sprint(i%500, n), Limit: "l", Algorithm: a}, Request: algorithm.Request{Cost: int64(i % 4)}}}
			if _, _, err := crowded.Apply(ctx, noise); err != nil {
				t.Fatal(err)
			}
			if i%50 == 0 {
				if err := crowded.Reset(ctx, []store.Slot{{Key: fmt.Sprint((i+250)%500, n), Limit: "l", Algorithm: a}}); err != nil {
					t.Fatal(err)
				}
			}
			if i%7 != n%7 {
				continue
			}
			var got [2]algorithm.Outcome
			for k, s := range []*memorystore.Store{crowded, alone} {
				op := []store.Op{{Slot: store.Slot{Key: "watched", Limit: "l", Algorithm: a}, Request: algorithm.Request{Cost: int64(1 + i%3)}}}
				if _, _, err := s.Apply(ctx, op); err != nil {
					t.Fatal(err)
				}
				got[k] = op[0].Outcome
			}
			if got[0] != got[1] {
				t.Fatalf("%s, call %d: beside others %+v, alone %+v", spec, i, got[0], got[1])
			}
		}
	}
}

func TestErrorsOfTheStoreShowNoKey(t *testing.T) {
	s := newStore(t, &memorystore.Options{Clock: newMovable(), MaxKeys: 1})
	a := parse(t, "gcra:5/1h")
	const secret = "somebody@example.com"
	var seen []error
	for _, key := range []string{"other", secret} {
		_, _, err := s.Apply(context.Background(), []store.Op{{Slot: store.Slot{Key: key, Algorithm: a}, Request: algorithm.Request{Cost: 1}}})
		seen = append(seen, err)
	}
	if !errors.Is(seen[1], store.ErrFull) || seen[1].Error() != "store: full" {
		t.Errorf("got %v", seen[1])
	}
}
