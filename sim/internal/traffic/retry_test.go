package traffic

import (
	"math"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/scenario"
)

const ms = time.Millisecond

func TestRetryWithoutJitterIsExact(t *testing.T) {
	us := time.Microsecond
	for _, c := range []struct {
		name    string
		retries scenario.Retries
		failure Failure
		want    time.Duration // below 0: gives up
	}{
		{"none", scenario.Retries{}, Failure{Attempt: 1}, -1},
		{"none", scenario.Retries{Kind: "none"}, Failure{Attempt: 1, RetryAfter: ms}, -1},
		{"immediate", scenario.Retries{Kind: "immediate", Attempts: 3}, Failure{Attempt: 3}, 0},
		{"immediate", scenario.Retries{Kind: "immediate", Attempts: 3}, Failure{Attempt: 4}, -1},
		{"fixed", scenario.Retries{Kind: "fixed"}, Failure{Attempt: math.MaxInt64}, time.Second},
		{"fixed", scenario.Retries{Kind: "fixed", Wait: 5 * ms, Attempts: 1}, Failure{Attempt: 2}, -1},
		{"exponential first", scenario.Retries{Kind: "exponential"}, Failure{Attempt: 1}, 100 * ms},
		{"exponential third", scenario.Retries{Kind: "exponential"}, Failure{Attempt: 3}, 400 * ms},
		{"exponential cap", scenario.Retries{Kind: "exponential"}, Failure{Attempt: 8}, 10 * time.Second},
		{"exponential below the cap", scenario.Retries{Kind: "exponential"}, Failure{Attempt: 7}, 6400 * ms},
		{"exponential late", scenario.Retries{Kind: "exponential"}, Failure{Attempt: math.MaxInt64}, 10 * time.Second},
		{"exponential 63", scenario.Retries{Kind: "exponential"}, Failure{Attempt: 64}, 10 * time.Second},
		{"exponential before the first", scenario.Retries{Kind: "exponential"}, Failure{Attempt: -5}, 100 * ms},
		{"exponential long base", scenario.Retries{Kind: "exponential", Base: time.Hour}, Failure{Attempt: 5}, time.Hour},
		{"exponential longest", scenario.Retries{Kind: "exponential", Base: us, Cap: longest}, Failure{Attempt: 45}, 1 << 44 * us},
		{"exponential past the longest", scenario.Retries{Kind: "exponential", Base: us, Cap: longest}, Failure{Attempt: 47}, longest},
		{"obey", scenario.Retries{Kind: "obey"}, Failure{Attempt: 1, RetryAfter: 1234 * us}, 1234 * us},
		{"obey rounds up", scenario.Retries{Kind: "obey"}, Failure{Attempt: 1, RetryAfter: 1234*us + 1}, 1235 * us},
		{"obey early", scenario.Retries{Kind: "obey", Offset: -us}, Failure{Attempt: 1, RetryAfter: 1234 * us}, 1233 * us},
		{"obey late", scenario.Retries{Kind: "obey", Offset: us}, Failure{Attempt: 1, RetryAfter: 1234 * us}, 1235 * us},
		{"obey moves on", scenario.Retries{Kind: "obey", Offset: -time.Second}, Failure{Attempt: 1, RetryAfter: ms}, us},
		{"obey unknown", scenario.Retries{Kind: "obey", Offset: us}, Failure{Attempt: 1}, time.Second},
		{"obey unknown, own wait", scenario.Retries{Kind: "obey", Wait: 5 * ms}, Failure{Attempt: 1, RetryAfter: -1}, 5 * ms},
		{"obey never", scenario.Retries{Kind: "obey"}, Failure{Attempt: 1, RetryAfter: algorithm.Never}, -1},
		{"obey long", scenario.Retries{Kind: "obey", Offset: longest}, Failure{Attempt: 1, RetryAfter: algorithm.Never - 1}, time.Duration(random.Max) * us},
	} {
		micros, again := NewRetry(c.retries).Next(c.failure, nil)
		wait := time.Duration(micros) * time.Microsecond
		if !again {
			wait = -1
		}
		if wait != c.want {
			t.Errorf("%s: wait %v, want %v", c.name, wait, c.want)
		}
	}
}

func TestRetryWithJitterIsEvenWithinItsRange(t *testing.T) {
	for _, c := range []struct {
		name     string
		retries  scenario.Retries
		failure  Failure
		from, to time.Duration
	}{
		{"full", scenario.Retries{Kind: "full-jitter"}, Failure{Attempt: 3}, 0, 400 * ms},
		{"equal", scenario.Retries{Kind: "equal-jitter"}, Failure{Attempt: 3}, 200 * ms, 400 * ms},
		{"decorrelated, first", scenario.Retries{Kind: "decorrelated-jitter"}, Failure{Attempt: 1}, 100 * ms, 300 * ms},
		{"decorrelated, later", scenario.Retries{Kind: "decorrelated-jitter"}, Failure{Attempt: 9, Waited: 1_000_000}, 100 * ms, 3 * time.Second},
		{"obey", scenario.Retries{Kind: "obey", Jitter: ms}, Failure{Attempt: 1, RetryAfter: 10 * ms}, 10 * ms, 11 * ms},
		{"obey unknown", scenario.Retries{Kind: "obey", Jitter: ms}, Failure{Attempt: 1}, time.Second, time.Second + ms},
	} {
		p := NewRetry(c.retries)
		draw := random.New(1).Stream(c.name)
		least, most, sum := c.to, c.from, time.Duration(0)
		const n = 20_000
		for range n {
			micros, again := p.Next(c.failure, draw)
			wait := time.Duration(micros) * time.Microsecond
			if !again || wait < c.from || wait > c.to || wait%time.Microsecond != 0 {
				t.Fatalf("%s: wait %v (%v), outside %v to %v", c.name, wait, again, c.from, c.to)
			}
			least, most, sum = min(least, wait), max(most, wait), sum+wait
		}
		width := c.to - c.from
		if off := (sum/n - (c.from+c.to)/2).Abs(); least > c.from+width/100 || most < c.to-width/100 || off > width/50 {
			t.Errorf("%s: waits from %v to %v around %v, want %v to %v", c.name, least, most, sum/n, c.from, c.to)
		}
	}
}

func TestDecorrelatedJitterHoldsItsCap(t *testing.T) {
	p := NewRetry(scenario.Retries{Kind: "decorrelated-jitter", Cap: longest})
	draw := random.New(1).Stream("cap")
	for _, waited := range []int64{micros(longest), math.MaxInt64, -1, math.MinInt64} {
		for range 1000 {
			if wait, _ := p.Next(Failure{Attempt: 2, Waited: waited}, draw); wait < 100_000 || wait > micros(longest) {
				t.Fatalf("after %v it waits %v", waited, wait)
			}
		}
	}
}

// A caller of GCRA that obeys is admitted at each second try; one that comes 1 µs early
// is refused once more each time.
func TestObeyMeetsTheLimitToTheMicrosecond(t *testing.T) {
	gcra, err := algorithm.NewGCRA(algorithm.PerSecond(7), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		offset time.Duration
		wants  int // tries for 100 admissions
	}{{0, 199}, {-time.Microsecond, 298}} {
		p := NewRetry(scenario.Retries{Kind: "obey", Offset: c.offset, Wait: time.Microsecond})
		var state algorithm.State
		now, tries := algorithm.Instant(1_000_000), 0
		for admitted, attempt := 0, int64(1); admitted < 100; tries++ {
			var o algorithm.Outcome
			if state, o = gcra.Step(state, now, algorithm.Request{Cost: 1}); o.Allowed {
				admitted++
				attempt = 1
				continue
			}
			wait, again := p.Next(Failure{Attempt: attempt, RetryAfter: o.RetryAfter}, nil)
			if !again {
				t.Fatal("it gave up")
			}
			now += algorithm.Instant(wait)
			attempt++
		}
		if tries != c.wants {
			t.Errorf("offset %v: %d tries for 100 admissions, want %d", c.offset, tries, c.wants)
		}
	}
}
