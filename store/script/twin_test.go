package script

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/loglist"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	"pgregory.net/rapid"
)

// kindsUnderTest build the algorithms from drawn parameters.
var kindsUnderTest = []struct {
	name  string
	build func(r algorithm.Rate, burst int64) (algorithm.Algorithm, error)
}{
	{"gcra", func(r algorithm.Rate, b int64) (algorithm.Algorithm, error) { return algorithm.NewGCRA(r, b) }},
	{"token-bucket", func(r algorithm.Rate, b int64) (algorithm.Algorithm, error) { return algorithm.NewTokenBucket(r, b) }},
	{"leaky-bucket", func(r algorithm.Rate, b int64) (algorithm.Algorithm, error) { return algorithm.NewLeakyBucket(r, b) }},
	{"fixed-window", func(r algorithm.Rate, _ int64) (algorithm.Algorithm, error) { return algorithm.NewFixedWindow(r) }},
	{"sliding-log", func(r algorithm.Rate, _ int64) (algorithm.Algorithm, error) { return algorithm.NewSlidingLog(r) }},
	{"sliding-counter", func(r algorithm.Rate, _ int64) (algorithm.Algorithm, error) { return algorithm.NewSlidingCounter(r) }},
	{"calendar-window", func(r algorithm.Rate, _ int64) (algorithm.Algorithm, error) {
		return algorithm.NewCalendarWindow(r.Units, calendars[int64(r.Per/time.Microsecond)%int64(len(calendars))])
	}},
}

var calendars = []algorithm.Calendar{
	{Unit: "day"}, {Unit: "month", Zone: "Europe/Berlin", Anchor: "31"}, {Unit: "week", Zone: "America/New_York", Anchor: "sunday"},
	{Unit: "day", Zone: "Australia/Lord_Howe"}, {Unit: "quarter", Zone: "Asia/Kathmandu", Anchor: "02-30"}, {Unit: "year", Zone: "Pacific/Apia", Anchor: "02-29"},
}

// drawNumber draws small numbers, any up to most, and those at most.
func drawNumber(t *rapid.T, name string, most int64) int64 {
	switch rapid.IntRange(0, 3).Draw(t, name+" is") {
	case 0:
		return rapid.Int64Range(1, min(20, most)).Draw(t, name)
	case 1:
		return most - rapid.Int64Range(0, min(3, most-1)).Draw(t, name+" below most by")
	case 2:
		return min(most, rapid.SampledFrom([]int64{7, 97, 4096, 999_983, 3_000_000, 86_400_000_000, 999_999_999_989}).Draw(t, name))
	}
	return rapid.Int64Range(1, most).Draw(t, name)
}

func drawAlgorithm(t *rapid.T, build func(algorithm.Rate, int64) (algorithm.Algorithm, error)) algorithm.Algorithm {
	for {
		rate := algorithm.Rate{
			Units: drawNumber(t, "limit", algorithm.MaxUnits),
			Per:   time.Duration(drawNumber(t, "period", int64(algorithm.MaxPeriod/time.Microsecond))) * time.Microsecond,
		}
		burst := drawNumber(t, "burst", algorithm.MaxUnits)
		for burst > 1 {
			if a, err := build(rate, burst); err == nil {
				return a
			}
			burst /= 7
		}
		if a, err := build(rate, 1); err == nil {
			return a
		}
	}
}

// stored is the state text of a key as it lies on the server.
func stored(w *wire, name, kind string) string {
	args := []string{"GET", name}
	if kind == algorithm.KindSlidingLog {
		args = []string{"EVAL", "return table.concat(redis.call('LRANGE', KEYS[1], 0, -1), ' ')", "1", name}
		text, err := w.Do(context.Background(), &Command{Args: args})
		if err != nil {
			return "error: " + err.Error()
		}
		return loglist.Text(strings.Split(text, " "))
	}
	text, err := w.Do(context.Background(), &Command{Args: args})
	if err != nil {
		return "error: " + err.Error()
	}
	return text
}

// TestTwinsDecideAndStoreAsGoDoes (P3, A5): for any history of requests, instants and
// changes of parameters, each Lua twin gives every decision of the Go function and
// leaves the bytes of its state, alone and in a list. Half of the histories run the
// debug build, where every number is looked at.
func TestTwinsDecideAndStoreAsGoDoes(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		for _, kind := range kindsUnderTest {
			t.Run(kind.name, func(t *testing.T) {
				w, clock := dialWire(t, server), &manualClock{}
				plain, debug := open(t, w, &Options{Clock: clock}), open(t, w, &Options{Clock: clock})
				debugBuild(debug)
				run, name := 0, t.Name()
				rapid.Check(t, func(t *rapid.T) {
					run++
					s := plain
					if rapid.Bool().Draw(t, "the debug build") {
						s = debug
					}
					twinHistory(t, w, s, clock, kind.build, name+strconv.Itoa(run))
				})
			})
		}
	})
}

// everything admits all that the histories ask of it, whatever the clock does.
var everything = algorithm.Must(algorithm.NewTokenBucket(algorithm.Rate{Units: algorithm.MaxUnits, Per: time.Hour}, algorithm.MaxUnits))

func twinHistory(t *rapid.T, w *wire, s *Store, clock *manualClock, build func(algorithm.Rate, int64) (algorithm.Algorithm, error), key string) {
	ctx := context.Background()
	a := drawAlgorithm(t, build)
	states := map[string]algorithm.State{} // by what tells them apart: the period of a window does
	now := algorithm.Instant(rapid.Int64Range(0, int64(algorithm.MaxInstant)).Draw(t, "start"))
	_, o := a.Step(algorithm.State{}, now, algorithm.Request{})
	var taken []algorithm.Instant
	for range rapid.IntRange(1, 12).Draw(t, "requests") {
		switch rapid.IntRange(0, 9).Draw(t, "the clock") {
		case 0:
			now = algorithm.Instant(rapid.Int64Range(0, int64(algorithm.MaxInstant)).Draw(t, "jumps to"))
		case 1:
			now = max(0, now-algorithm.Instant(rapid.Int64Range(0, 5_000_000).Draw(t, "goes back by")))
		case 2, 3:
			now = after(now, o.RetryAfter)
		case 4:
			now = after(now, o.RetryAfter-time.Microsecond)
		case 5:
			now = after(now, o.ResetAfter)
		case 6:
			now = after(now, time.Duration(rapid.Int64Range(0, 1000).Draw(t, "goes on by"))*time.Microsecond)
		}
		if rapid.IntRange(0, 7).Draw(t, "the limit changes at 0") == 0 {
			a = drawAlgorithm(t, build)
		}
		state := states[a.Spec().StoredKind()]
		r := algorithm.Request{}
		switch rapid.IntRange(0, 5).Draw(t, "the cost") {
		case 0:
			r.Cost = 0
		case 1:
			r.Cost = max(o.Remaining, 1)
		case 2:
			r.Cost = o.Remaining + 1
		case 3:
			r.Cost = rapid.Int64Range(1, max(1, o.Limit)).Draw(t, "cost")
		case 4:
			r.Cost = rapid.Int64Range(0, 1<<62).Draw(t, "any cost")
		case 5:
			r.Cost = 1
		}
		if rapid.IntRange(0, 3).Draw(t, "a bound on the delay at 0") == 0 {
			r.MaxDelay = time.Duration(rapid.Int64Range(0, max(1, int64(o.ResetAfter))).Draw(t, "longest delay"))
		}
		switch taken = append(taken, now); rapid.IntRange(0, 5).Draw(t, "the verb") {
		case 4:
			r.Verb, r.MaxDelay = algorithm.Charge, 0
			if debt := a.(algorithm.Charger).MaxDebt(); rapid.IntRange(0, 2).Draw(t, "the largest debt at 0") == 0 {
				r.Cost = max(0, o.Remaining-o.Debt+debt+rapid.Int64Range(-1, 1).Draw(t, "off by"))
			}
		case 5:
			r.Verb, r.MaxDelay, r.At = algorithm.Refund, 0, rapid.SampledFrom(taken).Draw(t, "taken at")
		}
		clock.set(now)
		ops := []store.Op{{Slot: store.Slot{Key: key, Algorithm: a}, Request: r}}
		if rapid.Bool().Draw(t, "in a list") {
			ops = append(ops, store.Op{Slot: store.Slot{Key: key + " other", Algorithm: everything}, Request: algorithm.Request{Cost: 1}})
		}
		peeked := []store.Op{ops[0]}
		if _, err := s.Peek(ctx, peeked); err != nil {
			t.Fatalf("peek: %v", err)
		}
		at, committed, err := s.Apply(ctx, ops)
		if err != nil {
			t.Fatalf("apply %+v of %v at %d: %v; state %q", r, a, now, err, state)
		}
		var want algorithm.Outcome
		before := state
		state, want = a.Step(state, now, r)
		states[a.Spec().StoredKind()] = state
		if diff := cmp.Diff(want, ops[0].Outcome); diff != "" || at != now || committed != want.Allowed {
			t.Fatalf("%v of %v at %d on %q: committed %v at %d (-want +got):\n%s", r, a, now, before, committed, at, diff)
		}
		if diff := cmp.Diff(want, peeked[0].Outcome); diff != "" {
			t.Fatalf("peek %v of %v at %d on %q (-want +got):\n%s", r, a, now, before, diff)
		}
		o = want
		if got := stored(w, s.name(&ops[0].Slot), a.Spec().Kind); got != state.String() {
			t.Fatalf("%v of %v at %d on %q: stored %q, want %q", r, a, now, before, got, state)
		}
	}
}

// after is now + d, within the instants.
func after(now algorithm.Instant, d time.Duration) algorithm.Instant {
	if d == algorithm.Never {
		return now
	}
	return min(max(0, now+algorithm.Instant(d/time.Microsecond)), algorithm.MaxInstant)
}
