package weir_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/race"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
	"pgregory.net/rapid"
)

func newMulti(t tb, s store.Store) *weir.MultiLimiter {
	t.Helper()
	multi, err := weir.NewMultiLimiter(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return multi
}

// ask asks the limit of a spec for cost; the spec is also its name.
func ask(t tb, key, spec string, cost int64) weir.Ask {
	t.Helper()
	return limit(t, spec).ForN(key, cost)
}

func take(t *testing.T, multi *weir.MultiLimiter, asks ...weir.Ask) weir.Result {
	t.Helper()
	r, err := multi.Take(background, asks...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTakeChargesEveryLimitOrNone(t *testing.T) {
	clk := &movable{midnight}
	multi := newMulti(t, newMemory(t, &memorystore.Options{Clock: clk}))
	at := midnight.UTC()
	asks := []weir.Ask{ask(t, "203.0.113.7", "gcra:2/1s", 1), ask(t, "user:7", "leaky-bucket:1/1s,capacity=3", 1), ask(t, "org:3", "sliding-log:1/10s", 1)}
	want := weir.Result{
		Allowed: true,
		Decisions: []weir.Decision{
			{Allowed: true, Limit: 2, Remaining: 1, ResetAfter: 500 * time.Millisecond, At: at},
			{Allowed: true, Limit: 3, Remaining: 2, ResetAfter: time.Second, At: at},
			{Allowed: true, Limit: 1, Remaining: 0, ResetAfter: 10 * time.Second, At: at},
		},
		Binding: 2, // the smallest Remaining
	}
	if diff := cmp.Diff(want, take(t, multi, asks...)); diff != "" {
		t.Errorf("admitted (-want +got):\n%s", diff)
	}
	// The organisation has none left: the others answer as to a look.
	want = weir.Result{
		Decisions: []weir.Decision{
			{Allowed: true, Limit: 2, Remaining: 1, ResetAfter: 500 * time.Millisecond, At: at},
			{Allowed: true, Limit: 3, Remaining: 2, ResetAfter: time.Second, Delay: time.Second, At: at},
			{Limit: 1, RetryAfter: 10 * time.Second, ResetAfter: 10 * time.Second, At: at},
		},
		Binding:    2,
		RetryAfter: 10 * time.Second,
	}
	for range 3 { // which changes nothing
		if diff := cmp.Diff(want, take(t, multi, asks...)); diff != "" {
			t.Errorf("refused (-want +got):\n%s", diff)
		}
	}
	// Without it the two others go on from where they were.
	r := take(t, multi, asks[:2]...)
	if !r.Allowed || r.Delay != time.Second || r.Binding != 0 || r.Decisions[0].Remaining != 0 || r.Decisions[1].Remaining != 1 {
		t.Errorf("got %+v", r)
	}
}

func TestBindingLimitIsTheOneThatMatters(t *testing.T) {
	day, hour, minute := "fixed-window:5/24h", "fixed-window:3/1h", "fixed-window:3/1m"
	for _, c := range []struct {
		name    string
		used    map[string]int64
		asks    []weir.Ask
		binding int
		retry   time.Duration
	}{
		{"the smallest Remaining", nil, []weir.Ask{ask(t, "a", day, 1), ask(t, "a", hour, 2)}, 1, 0},
		{"the first of equals when allowed", nil, []weir.Ask{ask(t, "a", day, 3), ask(t, "a", hour, 1), ask(t, "a", minute, 1)}, 0, 0},
		{"a look counts as well", map[string]int64{minute: 3}, []weir.Ask{ask(t, "a", day, 1), ask(t, "a", minute, 0)}, 1, 0},
		{"the longest wait", map[string]int64{hour: 3, minute: 3}, []weir.Ask{ask(t, "a", minute, 1), ask(t, "a", hour, 1), ask(t, "a", day, 1)}, 1, time.Hour},
		{"the first of equals when denied", map[string]int64{hour: 3}, []weir.Ask{ask(t, "a", day, 1), ask(t, "a", hour, 1), ask(t, "b", hour, 1)}, 1, time.Hour},
		{"Never is the longest", map[string]int64{day: 5}, []weir.Ask{ask(t, "a", day, 1), ask(t, "a", minute, 4)}, 1, weir.Never},
		{"what is denied, not what has least left", map[string]int64{hour: 1, minute: 3}, []weir.Ask{ask(t, "a", minute, 0), ask(t, "a", hour, 3)}, 1, time.Hour},
	} {
		clk := &movable{midnight}
		multi := newMulti(t, newMemory(t, &memorystore.Options{Clock: clk}))
		for spec, cost := range c.used {
			take(t, multi, ask(t, "a", spec, cost), ask(t, "b", spec, cost))
		}
		for _, call := range []func(context.Context, ...weir.Ask) (weir.Result, error){multi.Peek, multi.Take} {
			r, err := call(background, c.asks...)
			if err != nil || r.Binding != c.binding || r.RetryAfter != c.retry || r.Allowed != (c.retry == 0) {
				t.Errorf("%s: binding %d, retry after %v, allowed %t, error %v; want %d, %v",
					c.name, r.Binding, r.RetryAfter, r.Allowed, err, c.binding, c.retry)
			}
		}
	}
}

func TestMultiLimiterErrorsAreNoDecisions(t *testing.T) {
	s := newMemory(t, nil)
	multi := newMulti(t, s)
	good := ask(t, "secret key", "gcra:5/1s", 1)
	nameless, negative, late, headless := good, good, good, good
	nameless.Key, negative.Cost, late.MaxDelay, headless.Limit.Algorithm = "", -1, -1, nil
	ended, cancel := context.WithCancel(background)
	cancel()
	other := ask(t, "secret key", "gcra:6/1s", 1)
	for what, c := range map[string]struct {
		ctx  context.Context
		asks []weir.Ask
		want error
	}{
		"no ops":           {background, nil, store.ErrInvalid},
		"too many ops":     {background, slices.Repeat([]weir.Ask{good}, store.MaxOps+1), store.ErrInvalid},
		"an empty key":     {background, []weir.Ask{other, nameless}, store.ErrInvalid},
		"a negative cost":  {background, []weir.Ask{other, negative}, store.ErrInvalid},
		"a negative delay": {background, []weir.Ask{other, late}, store.ErrInvalid},
		"no algorithm":     {background, []weir.Ask{other, headless}, store.ErrInvalid},
		"a slot twice":     {background, []weir.Ask{other, good, good}, store.ErrDuplicateSlot},
		"an ended context": {ended, []weir.Ask{other, good}, context.Canceled},
	} {
		for _, call := range []func(context.Context, ...weir.Ask) (weir.Result, error){multi.Take, multi.Peek} {
			r, err := call(c.ctx, c.asks...)
			if !errors.Is(err, c.want) || r.Allowed || r.Decisions != nil || strings.Contains(err.Error(), "secret key") {
				t.Errorf("%s: %+v, error %v; want %v", what, r, err, c.want)
			}
		}
	}
	if r := take(t, multi, good, other); r.Decisions[0].Remaining != 4 || r.Decisions[1].Remaining != 5 {
		t.Errorf("an error has charged a limit: %+v", r)
	}

	second := newMulti(t, s)
	for range 2 {
		if err := multi.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, call := range []func(context.Context, ...weir.Ask) (weir.Result, error){multi.Take, multi.Peek} {
		if r, err := call(background, good); !errors.Is(err, store.ErrClosed) || r.Decisions != nil {
			t.Errorf("after Close: %+v, error %v", r, err)
		}
	}
	if r := take(t, second, good); !r.Allowed {
		t.Error("closing a MultiLimiter has closed the store")
	}
	_ = s.Close()
	if _, err := second.Take(background, good); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after Close of the store: %v", err)
	}
}

// TestErrorNamesTheAsk: by its index, whatever is wrong with it.
func TestErrorNamesTheAsk(t *testing.T) {
	multi := newMulti(t, newMemory(t, nil))
	good := ask(t, "k", "gcra:5/1s", 1)
	for name, spoil := range map[string]func(*weir.Ask){
		"no name":         func(a *weir.Ask) { a.Limit.Name = "" },
		"no algorithm":    func(a *weir.Ask) { a.Limit.Algorithm = nil },
		"no key":          func(a *weir.Ask) { a.Key = "" },
		"no cost":         func(a *weir.Ask) { a.Cost = 0 },
		"a negative cost": func(a *weir.Ask) { a.Cost = -1 },
	} {
		bad := good
		spoil(&bad)
		var refused *store.InputError
		if _, err := multi.Take(background, good, bad); !errors.As(err, &refused) || refused.Op != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNewMultiLimiterRefusesWhatCannotWork(t *testing.T) {
	var none *memorystore.Store
	for what, c := range map[string]struct {
		s    store.Store
		opts *weir.Options
		part string
	}{
		"no store":                 {nil, nil, "store nil"},
		"a nil pointer to a store": {none, nil, "store nil"},
	} {
		multi, err := weir.NewMultiLimiter(c.s, c.opts)
		if !errors.Is(err, store.ErrInvalid) || multi != nil || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %v, error %v", what, multi, err)
		}
	}
	if _, err := weir.NewMultiLimiter(newMemory(t, nil), &weir.Options{}); err != nil {
		t.Error(err)
	}
}

// A look at a leaky bucket has the Delay of a unit that nobody takes, and so has a
// refund: neither makes a caller wait.
func TestNobodyWaitsForWhatTakesNothing(t *testing.T) {
	multi := newMulti(t, newMemory(t, &memorystore.Options{Clock: &movable{midnight}}))
	const queue = "leaky-bucket:1/1h,capacity=9"
	refund := ask(t, "a", queue, 1)
	refund.Verb, refund.At = algorithm.Refund, midnight
	for _, c := range []struct {
		asks  []weir.Ask
		delay time.Duration
	}{
		{[]weir.Ask{ask(t, "a", queue, 3)}, 0},
		{[]weir.Ask{ask(t, "a", queue, 0), ask(t, "a", "gcra:1/1s", 1)}, 0},
		{[]weir.Ask{ask(t, "a", queue, 1)}, 3 * time.Hour},
		{[]weir.Ask{refund}, 0},
		{[]weir.Ask{ask(t, "a", queue, 1), ask(t, "b", queue, 0)}, 3 * time.Hour},
	} {
		r, err := multi.Take(background, c.asks...)
		if err != nil || !r.Allowed || r.Delay != c.delay {
			t.Errorf("%d asks, the first %v of %d: %+v, %v; want a Delay of %v", len(c.asks), c.asks[0].Verb, c.asks[0].Cost, r, err, c.delay)
		}
	}
}

// X2, X3, X4, X6 over random limits and states: the answer is that of the single
// limits, in any order, and the wait is as short as can be.
func TestTakeIsTheConjunctionOfItsLimits(t *testing.T) {
	specs := []string{"gcra:7/3s,burst=4", "token-bucket:5/1s", "leaky-bucket:3/1s", "fixed-window:4/1s", "sliding-log:4/2s", "sliding-counter:4/1s"}
	rapid.Check(t, func(t *rapid.T) {
		clk := &movable{midnight}
		s := newMemory(t, &memorystore.Options{Clock: clk})
		multi := newMulti(t, s)
		var asks []weir.Ask
		for _, spec := range specs[:rapid.IntRange(1, len(specs)).Draw(t, "limits")] {
			o := ask(t, "a", spec, rapid.Int64Range(0, 3).Draw(t, "cost"))
			for range rapid.IntRange(0, 3).Draw(t, "used") {
				if _, err := multi.Take(background, ask(t, "a", spec, 1)); err != nil {
					t.Fatal(err)
				}
			}
			asks = append(asks, o)
		}
		clk.now = clk.now.Add(time.Duration(rapid.Int64Range(0, 1_500_000).Draw(t, "µs")) * time.Microsecond)
		decide := func(take bool, asks ...weir.Ask) weir.Result {
			call := multi.Peek
			if take {
				call = multi.Take
			}
			r, err := call(background, asks...)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}

		all, longest := true, time.Duration(0)
		for _, o := range asks {
			single := decide(false, o)
			all = all && single.Allowed
			longest = max(longest, single.RetryAfter)
		}
		forwards := decide(false, asks...)
		turned := slices.Clone(asks)
		slices.Reverse(turned)
		backwards := decide(false, turned...)
		slices.Reverse(backwards.Decisions)
		if forwards.Allowed != all || forwards.RetryAfter != longest {
			t.Fatalf("allowed %t, retry after %v; the single limits say %t, %v", forwards.Allowed, forwards.RetryAfter, all, longest)
		}
		if diff := cmp.Diff(forwards.Decisions, backwards.Decisions); diff != "" || backwards.Allowed != all || backwards.RetryAfter != longest {
			t.Fatalf("in the other order (+):\n%s", diff)
		}
		for i, d := range forwards.Decisions {
			b := forwards.Decisions[forwards.Binding]
			if !all && d.RetryAfter > b.RetryAfter || all && d.Remaining < b.Remaining {
				t.Fatalf("limit %d binds, and %d more so: %+v", forwards.Binding, i, forwards)
			}
		}
		if taken := decide(true, asks...); !cmp.Equal(taken, forwards) {
			t.Fatalf("peek foretells %+v\nand take answers %+v", forwards, taken)
		}
		if all || longest == weir.Never {
			return
		}
		clk.now = clk.now.Add(longest - time.Microsecond)
		if r := decide(true, asks...); r.Allowed {
			t.Fatalf("told to retry after %v, and admitted 1 µs before", longest)
		}
		clk.now = clk.now.Add(time.Microsecond)
		if r := decide(true, asks...); !r.Allowed {
			t.Fatalf("told to retry after %v, and then denied: %+v", longest, r)
		}
	})
}

func TestTakeMakesTwoAllocations(t *testing.T) {
	multi := newMulti(t, newMemory(t, nil))
	asks := []weir.Ask{ask(t, "a", "gcra:5/1s", 1), ask(t, "b", "fixed-window:5/1s", 1), ask(t, "c", "token-bucket:5/1s", 1)}
	n := testing.AllocsPerRun(1000, func() {
		if _, err := multi.Take(background, asks...); err != nil {
			t.Fatal(err)
		}
	})
	if n > 2 && !race.Enabled {
		t.Errorf("%v allocations", n)
	}
}
