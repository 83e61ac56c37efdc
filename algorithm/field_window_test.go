package algorithm_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// apache/shenyu #6754: old entries were counted, then removed.
func TestLogForgetsBeforeItCounts(t *testing.T) {
	play(t, "sliding-log:2/10s", `
		0s     1  ok
		1s     1  ok
		10.5s  1  ok  remaining=0
		10.6s  1  no  retry=400ms`)
}

// sockudo/sockudo #251, peterkhayes/rolling-rate-limiter #11: calls with equal
// time stamps became one entry.
func TestLogCountsEqualInstants(t *testing.T) {
	play(t, "sliding-log:20/60s", `
		5s  20x1  ok  remaining=0
		5s  80x1  no  retry=60s`)
	play(t, "sliding-log:3/10s", `
		1s   2  ok  remaining=1
		1s   2  no  remaining=1 retry=10s
		1s   1  ok  remaining=0
		11s  3  ok  remaining=0`)
}

// brandur/redis-cell #56, hashicorp/boundary #4094, fastify/fastify-rate-limit
// #325: the wait was cut to whole seconds. The exact one is right.
func TestRetryAfterKeepsItsFraction(t *testing.T) {
	play(t, "fixed-window:1/10s", `
		0s     1  ok
		100ms  1  no  retry=9.9s
		10s    1  ok`)
	play(t, "fixed-window:1/500ms sliding-log:1/500ms", `
		0s  1  ok
		0s  1  no  retry=500ms`)
}

// alisaifee/flask-limiter #62: between decision and header the window ended, and
// the reset was minus the epoch.
func TestResetStaysWithinTheWindow(t *testing.T) {
	a := mustSpec(t, "fixed-window:2/1s")
	if _, o := a.Step(algorithm.State{}, starts[1], take(0)); o.Remaining != 2 || o.ResetAfter != 0 {
		t.Errorf("a key that was never used: %+v", o)
	}
	var s algorithm.State
	for i := range 201 {
		var o algorithm.Outcome
		s, o = a.Step(s, starts[1]+900_000+algorithm.Instant(i)*1000, take(1))
		if o.ResetAfter <= 0 || o.ResetAfter > time.Second || !o.Allowed && (o.RetryAfter <= 0 || o.RetryAfter > time.Second) {
			t.Errorf("call %d: %+v", i, o)
		}
		if first := i < 2 || i == 100 || i == 101; o.Allowed != first {
			t.Errorf("call %d: allowed %t", i, o.Allowed)
		}
	}
}

// apache/apisix #9964, envoyproxy/ratelimit #165: a denial had the reset 0.
func TestDenialKeepsTheReset(t *testing.T) {
	play(t, "fixed-window:2/60s", `
		0s   1  ok  remaining=1 reset=60s
		5s   1  ok  remaining=0 reset=55s
		10s  1  no  remaining=0 reset=50s retry=50s`)
}

// apache/apisix #13704: Remaining left out the previous window.
func TestCounterRemainingHoldsThePreviousWindow(t *testing.T) {
	play(t, "sliding-counter:100/60s", `
		10s  40  ok  remaining=60
		75s  20  ok  remaining=50
		75s  0   ok  remaining=50
		75s  51  no  remaining=50 retry=1.5s
		75s  50  ok  remaining=0`)
}

// tempesta-tech/xFW #79: the share of the previous window was cut to a whole
// number, which for limit 1 is 0.
func TestCounterRoundsThePreviousWindowUp(t *testing.T) {
	play(t, "sliding-counter:1/1s", `
		500ms    1  ok
		1.5s     1  no
		1.999s   1  no  retry=1ms
		2s       1  ok`)
	play(t, "sliding-counter:3/1s", `
		900ms  3x1  ok
		1.1s   1    no
		1.4s   1    ok
		1.7s   1    ok  remaining=0`)
}

// mennanov/limiters #110, peterkhayes/rolling-rate-limiter #9, Kong/docs.konghq.com
// #6586: denied calls were counted, so steady traffic was never let in again.
func TestDenialsDoNotStarve(t *testing.T) {
	seconds, half := every(time.Second, 21*time.Second), every(30*time.Second, time.Hour)
	s := func(n ...time.Duration) (at []time.Duration) {
		for _, d := range n {
			at = append(at, d*time.Second)
		}
		return at
	}
	if _, when := admitted(mustSpec(t, "sliding-log:1/5s"), seconds...); !slices.Equal(when, s(0, 5, 10, 15, 20)) {
		t.Errorf("the log admits at %v", when)
	}
	if _, when := admitted(mustSpec(t, "sliding-counter:1/5s"), seconds...); !slices.Equal(when, s(0, 10, 20)) {
		t.Errorf("the counter admits at %v", when)
	}
	if n, _ := admitted(mustSpec(t, "sliding-log:10/10m"), half...); n != 60 {
		t.Errorf("the log admits %d of %d", n, len(half))
	}
	if n, _ := admitted(mustSpec(t, "sliding-counter:10/10m"), half...); n != 55 {
		t.Errorf("the counter admits %d of %d", n, len(half))
	}
}

// ELares/IronTraffic #212, block/buzz #3477, dudleycarr/ratelimit.js #14: how far
// each window algorithm goes over the limit in a trailing window.
func TestWindowsReachTheirBounds(t *testing.T) {
	burst := func(at time.Duration) []time.Duration { return slices.Repeat([]time.Duration{at}, 150) }
	for _, c := range []struct {
		spec   string
		second time.Duration
		want   int
	}{
		{"fixed-window:100/60s", 60 * time.Second, 200},
		{"sliding-counter:100/60s", 119_980 * time.Millisecond, 199},
		{"sliding-log:100/60s", 119_980 * time.Millisecond, 100},
	} {
		if n, _ := admitted(mustSpec(t, c.spec), append(burst(59_990*time.Millisecond), burst(c.second)...)...); n != c.want {
			t.Errorf("%s admits %d at 59.99 s and %v, want %d", c.spec, n, c.second, c.want)
		}
	}
}

// express-rate-limit/express-rate-limit #546, animir/node-rate-limiter-flexible
// #71: windows longer than 2^31 ms ended at once.
func TestLongWindowsAreNotCutShort(t *testing.T) {
	play(t, "fixed-window:5/8760h", `
		0s     5x1  ok  remaining=0
		1s     1    no  retry=31535999s
		720h   1    no  retry=8040h
		8760h  1    ok  remaining=4`)
	for _, ms := range []int64{1<<31 - 1, 1 << 31} {
		play(t, fmt.Sprintf("fixed-window:5/%dms", ms), fmt.Sprintf(`
			0s     5  ok
			1ms    1  no  retry=%dms
			%dms   1  no  retry=1ms
			%dms   1  ok`, ms-1, ms-1, ms))
	}
}

// cristipufu/aspnetcore-redis-rate-limiting #62, taskforcesh/bullmq #1565,
// tj/node-ratelimiter #11: windows that are not whole seconds broke or did not
// limit.
func TestWindowsNeedNotBeWholeSeconds(t *testing.T) {
	play(t, "fixed-window:2/500ms", `
		0s      2x1  ok
		499ms   1    no  retry=1ms
		500ms   2x1  ok
		500ms   1    no`)
	play(t, "sliding-log:1/1.5s", `
		100ms   1  ok
		1.599s  1  no  retry=1ms
		1.6s    1  ok`)
	tight := every(time.Millisecond, 11*time.Second)
	_, when := admitted(mustSpec(t, "gcra:300/1s"), tight...)
	for second := 1; second <= 10; second++ {
		n := 0
		for _, at := range when {
			if int(at/time.Second) == second {
				n++
			}
		}
		if n < 299 || n > 301 {
			t.Errorf("300 per second, after the burst: %d in second %d", n, second)
		}
	}
	for _, k := range kinds {
		if _, err := k.Build(algorithm.Every(time.Second/3), 1); err == nil {
			t.Errorf("%s accepts a period of a third of a second, which is not whole microseconds", k.Name)
		}
	}
}

// Kong/kong #2817 and #9581: a month of 30 days. A rule is a duration; what is
// not one is refused.
func TestMonthIsNotADuration(t *testing.T) {
	for _, spec := range []string{"fixed-window:5/month", "fixed-window:5/1mo", "fixed-window:5/1M", "fixed-window:5/30d", "fixed-window:5/1y"} {
		if a, err := algorithm.ParseSpec(spec); err == nil {
			t.Errorf("%s is read as %v", spec, a)
		}
	}
	a := mustSpec(t, "fixed-window:5/720h")
	january := algorithm.Instant(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro())
	s, _ := a.Step(algorithm.State{}, january, take(5))
	// 1 January 2026 is day 20,454; the window of 30 days around it ends
	// with day 20,459.
	_, o := a.Step(s, january, take(1))
	if want := 6 * 24 * time.Hour; o.Allowed || o.RetryAfter != want {
		t.Errorf("5 per 720 h on 1 January, the sixth: %+v, want a wait of %v", o, want)
	}
}

// anthropics/claude-code #10845, epam/ai-dial-core #1951: days of 23 or 25 hours.
// A window of 24 h is a UTC day, whatever the clocks on the wall do.
func TestDayWindowIsAUTCDay(t *testing.T) {
	a := mustSpec(t, "fixed-window:5/24h")
	for _, day := range []time.Time{
		time.Date(2025, 11, 2, 14, 0, 0, 0, time.UTC), time.Date(2026, 3, 8, 13, 0, 0, 0, time.UTC),
	} {
		at, err := algorithm.InstantOf(day)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := a.Step(algorithm.State{}, at, take(5))
		_, o := a.Step(s, at, take(1))
		if want := 24*time.Hour - day.Sub(day.Truncate(24*time.Hour)); o.Allowed || o.RetryAfter != want {
			t.Errorf("used up at %v: %+v, want a wait of %v", day, o, want)
		}
	}
}
