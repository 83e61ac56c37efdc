package store_test

import (
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	"pgregory.net/rapid"
)

// T2: rounding a life time down frees a key before its time.
func TestLawTTLIsNeverShorterThanResetAfterAndGrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const longest = int64(algorithm.MaxInstant) + int64(algorithm.MaxTimeToFull/time.Microsecond)
		micros := rapid.OneOf(
			rapid.Int64Range(0, 5000), rapid.Int64Range(0, longest), rapid.Int64Range(longest-5000, longest),
		).Draw(t, "ResetAfter in µs")
		reset := time.Duration(micros) * time.Microsecond
		ttl := store.TTL(reset)
		if ttl < reset+store.Grace {
			t.Errorf("a key that is fresh after %v is kept for %v: %v too short", reset, ttl, reset+store.Grace-ttl)
		}
		if ttl >= reset+store.Grace+time.Millisecond || ttl%time.Millisecond != 0 {
			t.Errorf("a key that is fresh after %v is kept for %v: not rounded up to whole ms", reset, ttl)
		}
	})
}

func TestTTLRoundsUp(t *testing.T) {
	for reset, want := range map[time.Duration]time.Duration{
		0:                                     time.Second,
		time.Microsecond:                      1001 * time.Millisecond,
		999 * time.Microsecond:                1001 * time.Millisecond,
		time.Millisecond:                      1001 * time.Millisecond,
		1001 * time.Microsecond:               1002 * time.Millisecond,
		333_334 * time.Microsecond:            1334 * time.Millisecond,
		algorithm.MaxPeriod - time.Nanosecond: algorithm.MaxPeriod + time.Second,
	} {
		if got := store.TTL(reset); got != want {
			t.Errorf("TTL(%v) is %v, want %v", reset, got, want)
		}
	}
}

// A state that is dropped after its TTL was fresh a second before: so a clock
// that falls back by the grace does not meet a key that has gone too early.
func TestLawTTLIsInvisible(t *testing.T) {
	specs := []string{"gcra:1000/1s,burst=1", "gcra:7/3s", "token-bucket:3/7us", "leaky-bucket:1/2500ms",
		"fixed-window:5/1ms", "sliding-log:2/90s", "sliding-counter:5/10s"}
	rapid.Check(t, func(t *rapid.T) {
		a, err := algorithm.ParseSpec(rapid.SampledFrom(specs).Draw(t, "limit"))
		if err != nil {
			t.Fatal(err)
		}
		now := at + algorithm.Instant(rapid.Int64Range(0, 2_000_000).Draw(t, "start"))
		var s algorithm.State
		var o algorithm.Outcome
		for range rapid.IntRange(1, 4).Draw(t, "units") {
			if next, took := a.Step(s, now, algorithm.Request{Cost: 1}); took.Allowed {
				s, o = next, took
			}
		}
		gone := now + algorithm.Instant((store.TTL(o.ResetAfter)-store.Grace)/time.Microsecond)
		for _, cost := range []int64{0, 1, o.Limit} {
			_, kept := a.Step(s, gone, algorithm.Request{Cost: cost})
			_, fresh := a.Step(algorithm.State{}, gone, algorithm.Request{Cost: cost})
			if kept != fresh {
				t.Errorf("%v, cost %d: with the state %+v, without it %+v", a, cost, kept, fresh)
			}
		}
	})
}

func TestTTLThatNoDurationHoldsIsTheLongest(t *testing.T) {
	for _, reset := range []time.Duration{algorithm.Never, algorithm.Never - store.Grace, algorithm.Never - store.Grace - time.Microsecond} {
		if got := store.TTL(reset); got != algorithm.Never {
			t.Errorf("TTL(%v) is %v", reset, got)
		}
	}
	longest := algorithm.MaxTimeToFull + time.Duration(algorithm.MaxInstant)*time.Microsecond
	if got := store.TTL(longest); got != longest+store.Grace {
		t.Errorf("TTL(%v) is %v", longest, got)
	}
}
