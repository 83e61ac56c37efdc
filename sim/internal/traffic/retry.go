package traffic

import (
	"math"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/scenario"
)

// Failure is what a retry policy knows of a request that was not admitted.
type Failure struct {
	// Attempt counts the tries so far: 1 after the first.
	Attempt int64
	// RetryAfter is what the decision said; algorithm.Never where no wait helps;
	// 0 where there was no decision.
	RetryAfter time.Duration
	// Waited is the wait before this attempt in µs; 0 for the first.
	Waited int64
}

// Retry is a retry policy. It keeps nothing between calls: one policy serves all
// callers.
type Retry struct {
	attempts int64
	wait     waits
}

// waits returns the wait after a failure in µs, or below 0 to give up.
type waits func(f Failure, draw *random.Stream) int64

// NewRetry returns a retry policy.
func NewRetry(r scenario.Retries) Retry {
	r = scenario.Complete(r)
	policy := Retry{attempts: r.Attempts}
	if r.Attempts == 0 {
		policy.attempts = math.MaxInt64
	}
	b := backoff{micros(r.Base), micros(r.Cap)}
	switch r.Kind {
	case "none":
		policy.wait = func(Failure, *random.Stream) int64 { return -1 }
	case "immediate":
		policy.wait = func(Failure, *random.Stream) int64 { return 0 }
	case "fixed":
		wait := micros(r.Wait)
		policy.wait = func(Failure, *random.Stream) int64 { return wait }
	case "exponential":
		policy.wait = func(f Failure, _ *random.Stream) int64 { return b.at(f.Attempt - 1) }
	case "full-jitter":
		policy.wait = func(f Failure, draw *random.Stream) int64 { return draw.Uniform(0, b.at(f.Attempt-1)) }
	case "equal-jitter":
		policy.wait = func(f Failure, draw *random.Stream) int64 {
			whole := b.at(f.Attempt - 1)
			return draw.Uniform(whole/2, whole)
		}
	case "decorrelated-jitter":
		policy.wait = func(f Failure, draw *random.Stream) int64 {
			last := min(max(f.Waited, b.base), b.top)
			return min(b.top, draw.Uniform(b.base, 3*last))
		}
	case "obey":
		policy.wait = obey(micros(r.Wait), micros(r.Offset), micros(r.Jitter))
	default:
		panic("traffic: no retries " + r.Kind)
	}
	return policy
}

// Next returns how long to wait in µs, from 0, before the request is tried again, or
// false to give up. It draws from the stream only where its kind has jitter.
func (r Retry) Next(f Failure, draw *random.Stream) (wait int64, again bool) {
	if f.Attempt > r.attempts {
		return 0, false
	}
	wait = r.wait(f, draw)
	return max(wait, 0), wait >= 0
}

// backoff is the waits of the exponential policies in µs, after Exponential Backoff
// And Jitter (Brooker 2015).
type backoff struct{ base, top int64 }

// at returns min(top, base·2^a) for the a-th wait, from 0.
func (b backoff) at(a int64) int64 {
	a = max(a, 0)
	if a > 62 || b.base > b.top>>a {
		return b.top
	}
	return b.base << a
}

// obey returns to the instant that the refusal named, plus offset and jitter. An offset
// of −1 µs is a greedy client that is refused once more each time. It waits 1 µs at
// least: otherwise that client would ask for ever at one instant.
func obey(unknown, offset, jitter int64) waits {
	return func(f Failure, draw *random.Stream) int64 {
		if f.RetryAfter == algorithm.Never {
			return -1
		}
		at := unknown
		if f.RetryAfter > 0 {
			// Rounded up: to come early would be no obedience.
			at = min((int64(f.RetryAfter)-1)/int64(time.Microsecond)+1, random.Max) + offset
		}
		if jitter > 0 {
			at += draw.Uniform(0, jitter)
		}
		return min(max(at, 1), random.Max)
	}
}
