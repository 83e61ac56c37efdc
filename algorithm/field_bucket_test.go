package algorithm_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// spring-cloud/spring-cloud-gateway #4084, WeTransfer/prorate #29,
// firecracker-microvm/firecracker #3370: a clock of whole seconds, and a
// fraction that polling threw away.
func TestBucketRefillsInsideASecond(t *testing.T) {
	play(t, "token-bucket:10/1s gcra:10/1s leaky-bucket:10/1s", `
		0s      10   ok  remaining=0
		500ms   5x1  ok  remaining=0
		500ms   2x1  no  remaining=0 retry=100ms`)
	play(t, "token-bucket:10/1s gcra:10/1s leaky-bucket:10/1s", `
		0s      10   ok
		190ms   2    no  remaining=1 retry=10ms
		200ms   2    ok  remaining=0`)
}

// inngest/inngest #3290, alicebob/miniredis #117: an arrival time stored as
// 1.7629000001245e+15.
func TestStateTextKeepsEveryMicrosecond(t *testing.T) {
	const now = algorithm.Instant(1_762_900_000_123_456)
	second := algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(1000), 1))
	s, a := second.Step(algorithm.State{}, now, take(1))
	s, b := second.Step(s, now+999, take(1))
	if text := s.String(); text != "1762900000124456" {
		t.Errorf("the state is %q", text)
	}
	_, c := second.Step(s, now+1000, take(1))
	if !a.Allowed || b.Allowed || b.RetryAfter != time.Microsecond || !c.Allowed {
		t.Errorf("1000/s, burst 1: at 0 %+v, after 999 µs %+v, after 1000 µs %+v", a, b, c)
	}
	day := algorithm.Must(algorithm.NewGCRA(algorithm.PerDay(1), 1))
	if s, _ = day.Step(algorithm.State{}, now, take(1)); s.String() != "1762986400123456" {
		t.Errorf("the state of 1 per 24 h is %q", s)
	}
	for year := 1970; year <= 2190; year++ {
		at, err := algorithm.InstantOf(time.Date(year, 7, 1, 12, 0, 0, 123_456_789, time.UTC))
		if err != nil {
			t.Fatal(err)
		}
		s, _ := day.Step(algorithm.State{}, at, take(1))
		read, err := algorithm.ParseState(s.String())
		if err != nil || !read.Equal(s) || read.Word(0) != int64(at)+86_400_000_000 {
			t.Errorf("in %d the state %q reads back as %q, %v", year, s, read, err)
		}
	}
}

// taylorhakes/python-redis-cache #45: seconds and microseconds joined as text,
// so that 1000 µs came before 999 µs.
func TestInstantsOrderMicroseconds(t *testing.T) {
	previous := algorithm.Instant(-1)
	for µs := 98_000; µs <= 102_000; µs++ {
		at, err := algorithm.InstantOf(time.Unix(1_234_567, int64(µs)*1000))
		if err != nil || at <= previous {
			t.Fatalf("1234567 s and %d µs is %v, after %v (%v)", µs, at, previous, err)
		}
		previous = at
	}
	play(t, "sliding-log:1/10s", `
		1234567.000999s  1  ok
		1234567.001s     1  no  retry=9.999999s`)
}

// ProfessionalWiki/MediaWiki-MCP-Server #557, SandeepVashishtha/Eventra #6488,
// rsyslog/rsyslog #1369: negative elapsed time drained the bucket.
func TestTokenBucketKeepsItsTokensWhenTheClockGoesBack(t *testing.T) {
	play(t, "token-bucket:1/1s,burst=5", `
		100s  1  ok  remaining=4
		89s   1  ok  remaining=3
		89s   1  ok  remaining=2`)
}

// spring-cloud/spring-cloud-gateway #2412: a late node's older time stamp was
// stored, and the same second refilled again.
func TestTokenBucketIsNotRefilledTwiceForASecond(t *testing.T) {
	rounds := strings.Repeat(`
		99s   1   no  remaining=0 retry=1.1s
		100s  10  no  remaining=0 retry=1s`, 10)
	play(t, "token-bucket:10/1s gcra:10/1s", "100s 10 ok remaining=0\n"+rounds)
}

// antifuchs/ratelimit_meter #36: the whole arrival time was given as the wait.
func TestGCRARetryAfterIsOneUnit(t *testing.T) {
	play(t, "gcra:1/1s,burst=5 token-bucket:1/1s,burst=5", `
		0s  5x1  ok  remaining=0 reset=5s
		0s  1    no  remaining=0 retry=1s reset=5s
		1s  1    ok  remaining=0`)
}

// rwz/redis-gcra #6, golang/time #22, golang/go #52584: whether a cost that can
// never pass drains the bucket.
func TestImpossibleCostChangesNothing(t *testing.T) {
	play(t, "token-bucket:300/1m gcra:300/1m leaky-bucket:300/1m fixed-window:300/1m sliding-counter:300/1m sliding-log:300/1m", `
		0s  301  no  remaining=300 retry=never reset=0s
		0s  1    ok  remaining=299
		0s  299  ok  remaining=0`)
}

// golang/go #80698 and #16854, boinkor-net/governor #11: a cost above the burst
// waits for ever, or passes.
func TestCostAboveCapacityIsNeverAdmitted(t *testing.T) {
	play(t, "token-bucket:10/1s gcra:10/1s leaky-bucket:10/1s fixed-window:10/1s sliding-counter:10/1s sliding-log:10/1s", `
		0s  11                   no  retry=never remaining=10
		0s  9223372036854775807  no  retry=never remaining=10
		0s  10                   ok  remaining=0
		0s  11                   no  retry=never`)
	play(t, "token-bucket:10/1s,burst=1 gcra:10/1s,burst=1 leaky-bucket:10/1s,capacity=1", `
		0s  5  no  retry=never remaining=1`)
}

// songzhibin97/gkit #133, golang/go #54082, mailgun/gubernator #156: a negative
// cost created capacity, and cost 0 meant different things.
func TestNegativeCostGivesNothingBack(t *testing.T) {
	play(t, "token-bucket:5/1m gcra:5/1m leaky-bucket:5/1m fixed-window:5/1m sliding-counter:5/1m sliding-log:5/1m", `
		0s  5                     ok  remaining=0
		0s  -3                    no  remaining=0 retry=never
		0s  -9223372036854775808  no  remaining=0 retry=never
		0s  1                     no  remaining=0
		0s  0                     ok  remaining=0 retry=0s`)
}

// golang/go #39984, #47221, #18763, #68541, traefik/traefik #9621: rate 0 meant
// no limit at all.
func TestLimitOfZeroIsRefused(t *testing.T) {
	for _, k := range kinds {
		for _, burst := range []int64{1, 100} {
			var refused *algorithm.ParameterError
			if _, err := k.Build(algorithm.PerSecond(0), burst); !errors.As(err, &refused) || refused.Field != "limit" {
				t.Errorf("%s with limit 0: %v", k.Name, err)
			}
		}
		if _, err := algorithm.ParseSpec(k.Name + ":0/1s"); err == nil {
			t.Errorf("%s:0/1s is accepted", k.Name)
		}
	}
}

// inngest/inngest #1459, traefik/traefik #8330, xanzy/go-gitlab #1837: a default
// burst of limit/10, or of 1.
func TestBurstIsTheLimitWhereNotGiven(t *testing.T) {
	play(t, "gcra:5/24h token-bucket:5/24h leaky-bucket:5/24h", `
		0s  5x1  ok  limit=5 remaining=0
		0s  1    no  retry=17280s`)
	play(t, "gcra:6/60s token-bucket:6/60s leaky-bucket:6/60s", `
		0s  6x1  ok  limit=6 remaining=0
		0s  1    no  retry=10s`)
}

// spring-cloud/spring-cloud-gateway #2453: with a burst below the rate nothing
// was stored.
func TestBurstBelowTheRateLimits(t *testing.T) {
	play(t, "token-bucket:3/1s,burst=1 gcra:3/1s,burst=1", `
		0s     1  ok
		10ms   1  no  retry=323334us
		340ms  1  ok`)
	play(t, "gcra:1000/1s,burst=1", `
		0s  1  ok  reset=1ms
		0s  1  no  retry=1ms`)
}

// netdata.cloud on nginx limit_req, traefik/traefik #8330: a queue delays, where
// callers expected a burst.
func TestLeakyBucketDelaysInOrder(t *testing.T) {
	a := mustSpec(t, "leaky-bucket:10/1s,capacity=21")
	var s algorithm.State
	for i := range 30 {
		var o algorithm.Outcome
		s, o = a.Step(s, starts[1], take(1))
		switch {
		case i < 21 && (!o.Allowed || o.Delay != time.Duration(i)*100*time.Millisecond):
			t.Errorf("request %d of 30: %+v", i, o)
		case i >= 21 && (o.Allowed || o.RetryAfter != 100*time.Millisecond || o.Delay != 0):
			t.Errorf("request %d of 30: %+v", i, o)
		}
	}
	if _, o := a.Step(s, starts[1]+100_000, take(1)); !o.Allowed || o.Delay != 2*time.Second {
		t.Errorf("one more after 0.1 s: %+v", o)
	}
	play(t, "leaky-bucket:10/1s,capacity=1", `
		0s     1  ok  delay=0s
		10ms   1  no  retry=90ms
		100ms  1  ok  delay=0s`)
}

// resilience4j/resilience4j #2336 and #1283: callers waited longer than allowed.
func TestLeakyBucketKeepsTheLongestDelay(t *testing.T) {
	play(t, "leaky-bucket:5/1s,capacity=1000", `
		max-delay 3s
		0s      16x1   ok  delay=3s
		0s      184x1  no  delay=0s retry=200ms remaining=984
		200ms   1      ok  delay=3s
		200ms   1      no  retry=200ms`)
}

// bucket4j/bucket4j #51: tokens × elapsed time passed 2^63.
func TestLongIdlenessFillsTheBucket(t *testing.T) {
	play(t, "token-bucket:1000000/24h gcra:1000000/24h", `
		0s      1000000  ok  remaining=0
		43200s  500000   ok  remaining=0
		43200s  1        no  retry=86400us
		end     1000000  ok  remaining=0`)
	if _, err := algorithm.InstantOf(time.Now().AddDate(300, 0, 0)); err == nil {
		t.Error("an instant in 300 years is accepted")
	}
}

// sethvargo/go-limiter #57: a clock a little behind wrapped around, and the key
// was taken for an old one.
func TestBucketInUseStaysEmptyWhenTheClockGoesBack(t *testing.T) {
	timeline := `
		1000s   10  ok  remaining=0
		999.9s  1   no  retry=60.1s`
	for at := 1060 * time.Second; at <= 1600*time.Second; at += 60 * time.Second {
		timeline += "\n" + at.String() + " 1 ok remaining=0\n" + at.String() + " 1 no retry=60s"
	}
	play(t, "token-bucket:10/600s gcra:10/600s", timeline)
}

// go-redis/redis_rate #24 and #92, boinkor-net/governor #219 and #39: a burst of
// the limit admits up to twice the limit in a period.
func TestBurstAddsToTheRate(t *testing.T) {
	var at []time.Duration
	for i := range 30 {
		second := time.Duration(i) * time.Second
		at = append(at, second, second+250*time.Millisecond)
	}
	for spec, want := range map[string]int{
		"token-bucket:17/30s": 33, "gcra:17/30s": 33,
		"token-bucket:17/30s,burst=1": 15, "gcra:17/30s,burst=1": 15,
		"sliding-log:17/30s": 17,
	} {
		if n, _ := admitted(mustSpec(t, spec), at...); n != want {
			t.Errorf("%s admits %d of 60 calls, want %d", spec, n, want)
		}
	}
}
