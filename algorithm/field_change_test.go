package algorithm_test

import (
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// mailgun/gubernator #37 and #40, apache/apisix #187, golang/go #23575: a state
// kept the limit that it was made with.
func TestLoweredLimitTakesEffectAtOnce(t *testing.T) {
	play(t, "token-bucket:100/60s", `
		0s  1    ok  limit=100 remaining=99
		limit token-bucket:10/60s
		0s  1    ok  limit=10 remaining=9
		0s  9x1  ok  remaining=0
		0s  1    no  remaining=0 retry=6s
		limit token-bucket:100/60s
		0s  1    no  limit=100 remaining=0 retry=600ms`)
	play(t, "gcra:100/60s", `
		0s  1    ok  limit=100 remaining=99
		limit gcra:10/60s
		0s  9x1  ok  limit=10 remaining=0
		0s  1    no  remaining=0`)
}

// 3scale/APIcast #667: a shorter window took effect when the longer one ended.
func TestShortenedWindowTakesEffectAtOnce(t *testing.T) {
	play(t, "fixed-window:5/3600s", `
		0s   5x1  ok
		limit fixed-window:5/60s
		11s  1    no  retry=49s reset=49s
		21s  1    no  retry=39s
		51s  1    no  retry=9s
		60s  5x1  ok  remaining=0
		61s  1    no  retry=59s`)
	play(t, "fixed-window:5/60s", `
		0s     5x1  ok
		limit fixed-window:5/3600s
		11s    1    no  retry=3589s
		3599s  1    no  retry=1s
		3600s  5x1  ok`)
	play(t, "fixed-window:5/60s", `
		70s    5x1  ok
		limit fixed-window:5/3600s
		71s    1    no  retry=3529s
		limit fixed-window:5/60s
		120s   5x1  ok
		limit fixed-window:5/3600s
		121s   1    no`)
}

// nuetzliches/hookaido #239, milvus-io/milvus #35699: every reload of the same
// limit filled every bucket.
func TestReloadKeepsTheState(t *testing.T) {
	rate := algorithm.PerSecond(1)
	s, _ := algorithm.Must(algorithm.NewTokenBucket(rate, 10)).Step(algorithm.State{}, starts[1], take(10))
	for i := range 100 {
		reloaded := algorithm.Must(algorithm.NewTokenBucket(rate, 10))
		var o algorithm.Outcome
		if s, o = reloaded.Step(s, starts[1]+algorithm.Instant(i)*1000, take(1)); o.Allowed {
			t.Fatalf("call %d after %v is admitted", i, time.Duration(i)*time.Millisecond)
		}
	}
}

// resilience4j/resilience4j #2489: limit minus available became negative, and
// the refill stopped for ever.
func TestLoweredLimitKeepsRefilling(t *testing.T) {
	for _, kind := range []string{"fixed-window", "sliding-log", "token-bucket", "gcra", "leaky-bucket"} {
		play(t, kind+":5/1s", `
			500ms  0    ok  limit=5 remaining=5
			limit `+kind+`:2/1s
			500ms  0    ok  limit=2 remaining=2
			1.1s   2x1  ok  remaining=0
			1.1s   1    no
			2.1s   2x1  ok  remaining=0
			2.1s   1    no
			3.1s   2x1  ok  remaining=0
			3.1s   1    no`)
	}
	// The same with everything used before: what was used may outlast the
	// change, but what remains is never negative nor above the new limit.
	for _, k := range kinds {
		before := k.build(params{algorithm.PerSecond(5), 5})
		after := k.build(params{algorithm.PerSecond(2), 2})
		s, _ := before.Step(algorithm.State{}, starts[1], take(5))
		total, tenth := int64(0), algorithm.Instant(100_000) // of a period
		if k.Calendar {
			tenth *= 24 * 60 * 60 // of a day
		}
		for i := range algorithm.Instant(100) {
			var o algorithm.Outcome
			s, o = after.Step(s, starts[1]+i*tenth, take(1))
			if o.Remaining < 0 || o.Remaining > 2 {
				t.Errorf("%s after %d µs: %d remain", k.Name, i*tenth, o.Remaining)
			}
			if o.Allowed {
				total++
			}
		}
		if total < 8 {
			t.Errorf("%s, lowered to 2 per period, admits %d in 10 of them", k.Name, total)
		}
	}
}
