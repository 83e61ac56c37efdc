package ui

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/observed"
	"github.com/weirgo/weir/internal/race"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// still returns a Recorder whose seconds a test turns over.
func still(t testing.TB, rules int) *Recorder {
	t.Helper()
	r := weir.Must(NewRecorder(&RecorderOptions{Rules: rules, manual: true}))
	t.Cleanup(func() { _ = r.Close() })
	return r
}

var start = time.Unix(1_800_000_000, 0)

func answer(allowed, shadow bool) weir.Observation {
	return weir.Observation{Limit: "api", Key: "k", Cost: 1, Shadow: shadow, Allowed: allowed, Decision: weir.Decision{Allowed: allowed, Limit: 10}}
}

// TestEachAnswerIsCountedAsItsResult: and looks and resets only where they fail.
func TestEachAnswerIsCountedAsItsResult(t *testing.T) {
	r := still(t, 0)
	see := func(o weir.Observation) { r.Observe(t.Context(), o) }
	see(answer(true, false))
	see(answer(false, false))
	see(answer(true, true))
	see(answer(false, true))
	for _, each := range []weir.Observation{
		{Kind: weir.KindPeek, Decision: weir.Decision{Allowed: true}}, {Kind: weir.KindReset},
		{Verb: algorithm.Refund, Cost: 3, Allowed: true, Decision: weir.Decision{Allowed: true}},
	} {
		see(each)
	}
	see(weir.Observation{Kind: weir.KindPeek, Err: store.ErrUnavailable})
	see(weir.Observation{Err: fmt.Errorf("x: %w", store.ErrUnavailable)})
	see(weir.Observation{Err: errors.New("user:4711")})
	see(weir.Observation{Kind: weir.KindWait, Err: &weir.WaitError{Cause: weir.ErrQueueFull}})
	degraded := answer(true, false)
	degraded.Decision.Degraded = true
	see(degraded)
	got := r.totals()
	if want := [...]int64{observed.Allowed: 2, observed.Denied: 2, observed.ShadowAllowed: 1, observed.ShadowDenied: 1}; got.results != want {
		t.Errorf("%v, want %v", got.results, want)
	}
	if got.failed != 3 || got.degraded != 1 || r.errors["unavailable"] != 2 || r.errors["other"] != 1 {
		t.Errorf("failed %d, degraded %d, %v", got.failed, got.degraded, r.errors)
	}
}

// TestTheRingIsTheSumOfItsSeconds: whatever the clock does, what is shown of the last n
// seconds is what was counted in them, and nothing is counted twice or lost within an hour.
func TestTheRingIsTheSumOfItsSeconds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r ring
		bySecond := map[int64]int64{} // by the end of a second
		var sum totals
		at, end := start, int64(0)
		for range rapid.IntRange(1, 60).Draw(t, "ticks") {
			at = at.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Second, 900 * time.Millisecond, 7 * time.Second, -5 * time.Second, -30 * time.Minute, -30 * 24 * time.Hour, 40 * time.Minute, 3 * time.Hour}).Draw(t, "step"))
			n := rapid.Int64Range(0, 9).Draw(t, "n")
			sum.results[0] += n
			r.push(at, sum)
			if back := end - at.Unix(); back > 0 { // what was counted before is as long ago as it was
				before := bySecond
				bySecond = map[int64]int64{}
				for second, count := range before {
					bySecond[second-back] = count
				}
			}
			end = at.Unix()
			bySecond[end] += n
		}
		for _, n := range []int64{1, 60, 299, hour, 10 * hour} {
			want := int64(0)
			for second, count := range bySecond {
				if second > end-min(n, hour) {
					want += count
				}
			}
			if got := r.since(n).results[0]; got != want {
				t.Fatalf("the last %d s: %d, want %d", n, got, want)
			}
		}
		for _, width := range []int64{1, 10} {
			got, last := int64(0), int64(0)
			points := r.points(hour, width)
			for _, p := range points {
				if p.at%width != 0 || p.at <= last {
					t.Fatalf("a part of %d s at %d behind %d", width, p.at, last)
				}
				last = p.at
				got += p.results[0]
			}
			want := int64(0)
			for second, count := range bySecond {
				if len(points) > 0 && second-1 >= points[0].at {
					want += count
				}
			}
			if got != want {
				t.Fatalf("parts of %d s: %d, want %d", width, got, want)
			}
		}
	})
}

// TestQuantilesAreThoseOfTheBuckets: evenly within one, and never above the last bound.
func TestQuantilesAreThoseOfTheBuckets(t *testing.T) {
	var l latency
	read := func() (t totals) {
		for i := range l.buckets {
			t.latency[i] = l.buckets[i].Load()
		}
		return t
	}
	empty := read()
	if q := empty.quantile(0.5); !math.IsNaN(q) {
		t.Errorf("nothing measured: %v", q)
	}
	for range 10 {
		l.add(80 * time.Microsecond) // 50 to 100 µs
	}
	if c := read(); math.Abs(c.quantile(0.5)-75e-6) > 1e-9 || math.Abs(c.quantile(1)-100e-6) > 1e-9 {
		t.Errorf("p50 %v, p100 %v", c.quantile(0.5), c.quantile(1))
	}
	for range 90 {
		l.add(time.Minute)
	}
	if c := read(); c.quantile(0.99) != 1 {
		t.Errorf("p99 %v, want the last bound", c.quantile(0.99))
	}
}

func ruleVerdict(rule string, allowed bool, remaining int64) *policy.Verdict {
	v := policy.RuleVerdict{Allowed: allowed, Decided: true, Decision: weir.Decision{Allowed: allowed, Limit: 10, Remaining: remaining}}
	v.Rule, v.Enforced = rule, true
	if !allowed {
		v.Standing = policy.Throttled
	}
	return &policy.Verdict{Allowed: allowed, Rules: []policy.RuleVerdict{v}}
}

// TestRulesAreCountedByTheMinute: for an hour, with the largest used part and the worst
// standing of the last 1 to 2 minutes.
func TestRulesAreCountedByTheMinute(t *testing.T) {
	r := still(t, 0)
	at := start
	for minute := range 90 {
		r.ObserveVerdict(t.Context(), ruleVerdict("user", minute%2 == 0, int64(minute%10)), nil)
		at = at.Add(time.Minute)
		r.tick(at)
	}
	c := r.rule("user")
	if c.total != (counts{observed.Allowed: 45, observed.Denied: 45}) || c.hour.answered() != 59 || len(c.minutesOfHour) != 60 {
		t.Errorf("%+v", c)
	}
	if c.used != 0.1 || c.standing != policy.Throttled {
		t.Errorf("used %v, standing %v: want those of the last minute", c.used, c.standing)
	}
	r.tick(at.Add(2 * time.Minute))
	if c := r.rule("user"); c.used != 0 || c.standing != policy.Normal || c.hour.answered() != 57 {
		t.Errorf("two quiet minutes later: %+v", c)
	}
	r.tick(at.Add(5 * time.Hour))
	if c := r.rule("user"); c.hour.answered() != 0 || c.total.answered() != 90 {
		t.Errorf("hours later: %+v", c)
	}
}

// TestAClockThatGoesBackKeepsTheHour: what was seen before is as long ago as it was, and the
// seconds and minutes go on from where the clock is.
func TestAClockThatGoesBackKeepsTheHour(t *testing.T) {
	r := still(t, 0)
	at := start
	answers := func() {
		r.Observe(t.Context(), answer(true, false))
		r.ObserveVerdict(t.Context(), ruleVerdict("user", true, 5), nil)
		r.tick(at)
	}
	for range 10 {
		at = at.Add(time.Minute)
		answers()
	}
	at = at.Add(-3650 * 24 * time.Hour)
	for range 5 {
		answers()
		at = at.Add(time.Minute)
	}
	r.tick(at)
	c := r.rule("user")
	if got := r.ring.since(90).results[observed.Allowed]; got != 1 {
		t.Errorf("%d answers in the last 90 s, want 1", got)
	}
	if got := r.ring.since(hour).results[observed.Allowed]; got != 15 || c.hour.answered() != 15 {
		t.Errorf("%d answers in the last hour, and %d of the rule, want 15", got, c.hour.answered())
	}
	if want := at.Truncate(time.Minute).Add(-59 * time.Minute).Unix(); c.firstOfMinutes != want {
		t.Errorf("the first minute of the rule is %d, want %d", c.firstOfMinutes, want)
	}
	if got := r.minutes(); got < 15 || got > 16 {
		t.Errorf("%d minutes were seen, want about 15", got)
	}
}

// TestRulesAreBounded: further ones count as other, and hostile IDs take no memory.
func TestRulesAreBounded(t *testing.T) {
	r := still(t, 2)
	for i := range 100 {
		r.ObserveVerdict(t.Context(), ruleVerdict(fmt.Sprint("rule", i), true, 1), nil)
	}
	r.ObserveVerdict(t.Context(), ruleVerdict("bad\xff", true, 1), nil)
	if n := len(*r.rules.byID.Load()); n != 3 {
		t.Errorf("%d rules, want 2 and other", n)
	}
	if c := r.rule("other"); c.total.answered() != 99 {
		t.Errorf("other: %+v", c)
	}
}

// TestSubjectsAreForgotten: after two periods.
func TestSubjectsAreForgotten(t *testing.T) {
	r := still(t, 0)
	r.tick(start)
	r.Observe(t.Context(), answer(false, false))
	if top := r.denied.Top(1, nil); len(top) != 1 || top[0].Key != "k" {
		t.Errorf("%+v", top)
	}
	r.tick(start.Add(subjectsPeriod))
	if top := r.busiest.Top(1, nil); len(top) != 1 {
		t.Errorf("%+v: want the subject of the period before", top)
	}
	r.tick(start.Add(2 * subjectsPeriod))
	if top := r.busiest.Top(1, nil); len(top) != 0 {
		t.Errorf("%+v: want none", top)
	}
	r.Observe(t.Context(), answer(false, false))
	r.tick(start.Add(9 * subjectsPeriod)) // of a machine that slept
	if top := r.busiest.Top(1, nil); len(top) != 0 {
		t.Errorf("%+v: want none", top)
	}
}

// TestConcurrentDecisionsAreAllCounted: while seconds turn over and pages are read.
func TestConcurrentDecisionsAreAllCounted(t *testing.T) {
	r := still(t, 0)
	var callers, reader sync.WaitGroup
	stop := make(chan struct{})
	reader.Go(func() {
		for at := start; ; at = at.Add(20 * time.Second) {
			select {
			case <-stop:
				return
			default:
			}
			r.tick(at)
			r.busiest.Top(10, nil)
			r.allRules()
		}
	})
	for range 4 {
		callers.Go(func() {
			for i := range 2000 {
				r.Observe(context.Background(), answer(i%2 == 0, false))
				r.ObserveVerdict(context.Background(), ruleVerdict(fmt.Sprint(i%5), true, 1), nil)
			}
		})
	}
	callers.Wait()
	close(stop)
	reader.Wait()
	if got := r.totals(); got.results[observed.Allowed] != 4000 || got.results[observed.Denied] != 4000 {
		t.Errorf("%+v", got)
	}
	total := int64(0)
	for _, each := range r.allRules() {
		total += each.total.answered()
	}
	if total != 8000 {
		t.Errorf("%d answers of rules, want 8000", total)
	}
}

// TestRecorderRefusesWrongOptions: with the field and what is allowed.
func TestRecorderRefusesWrongOptions(t *testing.T) {
	if _, err := NewRecorder(&RecorderOptions{Rules: -1}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("%v", err)
	}
}

// TestRecorderStopsWithClose: a second Close does nothing.
func TestRecorderStopsWithClose(t *testing.T) {
	r := weir.Must(NewRecorder(nil))
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	r.Observe(t.Context(), answer(true, false))
}

// TestDecisionsAllocateNothing: neither of a limit nor of a rule.
func TestDecisionsAllocateNothing(t *testing.T) {
	race.SkipAllocations(t)
	r := still(t, 0)
	allowed, denied := answer(true, false), answer(false, false)
	v := ruleVerdict("user", false, 0)
	ctx := t.Context()
	decide := func() {
		r.Observe(ctx, allowed)
		r.Observe(ctx, denied)
		r.ObserveVerdict(ctx, v, nil)
	}
	decide()
	if n := testing.AllocsPerRun(1000, decide); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// BenchmarkObserver is what a Recorder adds to a decision in memory, of one subject and of 1,024
// in turn: the fastest of many short rounds with it and without it, in turns, so that other
// work on the machine counts little.
func BenchmarkObserver(b *testing.B) {
	const round = 1024
	limit := weir.Must(weir.ParseLimit("limit", "gcra:1000000000/1s"))
	for _, subjects := range []int{1, round} {
		b.Run(fmt.Sprintf("subjects=%d", subjects), func(b *testing.B) {
			s := weir.Must(memorystore.New(nil))
			defer s.Close()
			limiters := [2]*weir.Limiter{
				weir.Must(weir.New(s, limit, nil)), weir.Must(weir.New(s, limit, &weir.Options{Observer: still(b, 0)})),
			}
			keys := make([]string, round)
			for i := range keys {
				keys[i] = fmt.Sprint("user:", i%subjects)
			}
			fastest := [2]time.Duration{time.Hour, time.Hour}
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				for i, l := range limiters {
					start := time.Now()
					for _, key := range keys {
						if _, err := l.Allow(ctx, key); err != nil {
							b.Fatal(err)
						}
					}
					fastest[i] = min(fastest[i], time.Since(start))
				}
			}
			b.ReportMetric(float64(fastest[0].Nanoseconds())/round, "ns/bare")
			b.ReportMetric(float64((fastest[1]-fastest[0]).Nanoseconds())/round, "ns/observer")
		})
	}
}

// BenchmarkObserve is what a Recorder does for one answer.
func BenchmarkObserve(b *testing.B) {
	for name, o := range map[string]weir.Observation{"allowed": answer(true, false), "denied": answer(false, false)} {
		b.Run(name, func(b *testing.B) {
			r := still(b, 0)
			b.ReportAllocs()
			for b.Loop() {
				r.Observe(b.Context(), o)
			}
		})
	}
	b.Run("verdict", func(b *testing.B) {
		r := still(b, 0)
		v := ruleVerdict("user", true, 5)
		b.ReportAllocs()
		for b.Loop() {
			r.ObserveVerdict(b.Context(), v, nil)
		}
	})
}

// TestAClockThatWasNeverSetIsNoPanic: a machine without a battery begins in 1970.
func TestAClockThatWasNeverSetIsNoPanic(t *testing.T) {
	r := still(t, 0)
	for _, at := range []int64{-5, 0, 1, 59, 61, start.Unix()} {
		r.Observe(t.Context(), answer(true, false))
		r.ObserveVerdict(t.Context(), &policy.Verdict{Rules: []policy.RuleVerdict{{PlannedLimit: policy.PlannedLimit{Rule: "a", Enforced: true}, Decided: true}}}, nil)
		r.tick(time.Unix(at, 0))
	}
	if c := r.rule("a"); c.total.answered() != 6 {
		t.Errorf("%d answers, want 6", c.total.answered())
	}
}
