package traffic

import (
	"cmp"
	"math"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/random"
)

// Retries is what callers do after a refusal or an error, as data. A field that
// its kind does not take is refused; one that is left out takes the default in
// brackets.
type Retries struct {
	// Kind is one of
	//   - none: give up;
	//   - immediate: ask again at once, Attempts times, 1 to 1000 (required);
	//   - fixed: wait Wait [1s];
	//   - exponential: wait c = min(Cap, Base·2^a), a from 0 [10s, 100ms];
	//   - full-jitter: wait 0 to c, evenly;
	//   - equal-jitter: wait c/2 to c, evenly;
	//   - decorrelated-jitter: wait min(Cap, a draw from Base to 3 × the last wait);
	//   - obey: wait RetryAfter + Offset [0s] + 0 to Jitter [0s], but 1 µs at least;
	//     where no RetryAfter is known, Wait [1s] + 0 to Jitter; give up where it is
	//     Never.
	// Left out it is none.
	Kind string `yaml:"kind,omitempty"`
	// Attempts is how many times a caller asks again at most. Left out there is no
	// bound, but for immediate.
	Attempts int64         `yaml:"attempts,omitempty"`
	Wait     time.Duration `yaml:"wait,omitempty"`
	Base     time.Duration `yaml:"base,omitempty"`
	Cap      time.Duration `yaml:"cap,omitempty"`
	Offset   time.Duration `yaml:"offset,omitempty"`
	Jitter   time.Duration `yaml:"jitter,omitempty"`
}

// Failure is what a retry policy knows of a request that was not admitted.
type Failure struct {
	// Attempt counts the tries so far: 1 after the first.
	Attempt int64
	// RetryAfter is what the decision said; algorithm.Never where no wait helps;
	// 0 where there was no decision.
	RetryAfter time.Duration
	// Waited is the wait before this attempt; 0 for the first.
	Waited time.Duration
}

// Retry is a retry policy. It keeps nothing between calls: one policy serves all
// callers.
type Retry interface {
	// Next returns how long to wait, in whole µs from 0, before the request is
	// tried again, or false to give up. It draws from the stream only where its
	// kind has jitter.
	Next(f Failure, draw *random.Stream) (wait time.Duration, again bool)
}

var retryKinds = []kind[func(Retries) (waits, error)]{
	{"none", "", newNoRetry},
	{"immediate", "attempts", newImmediateRetry},
	{"fixed", "attempts wait", newFixedRetry},
	{"exponential", "attempts base cap", newBackoff(wholeBackoff)},
	{"full-jitter", "attempts base cap", newBackoff(fullJitter)},
	{"equal-jitter", "attempts base cap", newBackoff(equalJitter)},
	{"decorrelated-jitter", "attempts base cap", newBackoff(decorrelatedJitter)},
	{"obey", "attempts wait offset jitter", newObey},
}

// NewRetry returns a retry policy. The error is an *algorithm.ParameterError.
func NewRetry(r Retries) (Retry, error) {
	name := cmp.Or(r.Kind, "none")
	k, err := choose("retry", name, retryKinds, r)
	if err != nil {
		return nil, err
	}
	r.Kind = "retry " + name
	if err := between(r.Kind, "attempts", r.Attempts, 0, math.MaxInt64); err != nil {
		return nil, err
	}
	wait, err := k.build(r)
	if err != nil {
		return nil, err
	}
	return policy{cmp.Or(r.Attempts, math.MaxInt64), wait}, nil
}

// policy is a Retry: so many attempts, with the waits of a function.
type policy struct {
	attempts int64
	wait     waits
}

// waits returns the wait after a failure in µs, or below 0 to give up.
type waits func(f Failure, draw *random.Stream) int64

func (p policy) Next(f Failure, draw *random.Stream) (wait time.Duration, again bool) {
	if f.Attempt > p.attempts {
		return 0, false
	}
	micros := p.wait(f, draw)
	if micros < 0 {
		return 0, false
	}
	return time.Duration(micros) * time.Microsecond, true
}

func newNoRetry(Retries) (waits, error) {
	return func(Failure, *random.Stream) int64 { return -1 }, nil
}

func newImmediateRetry(r Retries) (waits, error) {
	return func(Failure, *random.Stream) int64 { return 0 }, between(r.Kind, "attempts", r.Attempts, 1, 1000)
}

func newFixedRetry(r Retries) (waits, error) {
	defaults(&r.Wait, time.Second)
	wait := micros(r.Wait)
	return func(Failure, *random.Stream) int64 { return wait }, span(r.Kind, "wait", r.Wait, time.Microsecond, longest)
}

// newObey returns to the instant that the refusal named, a little off where asked
// for. An Offset of −1µs is a greedy client that is refused once more each time. It
// waits 1 µs at least: else that client would ask for ever at one instant.
func newObey(r Retries) (waits, error) {
	defaults(&r.Wait, time.Second)
	unknown, offset, jitter := micros(r.Wait), micros(r.Offset), micros(r.Jitter)
	wait := func(f Failure, draw *random.Stream) int64 {
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
	return wait, cmp.Or(span(r.Kind, "wait", r.Wait, time.Microsecond, longest),
		span(r.Kind, "offset", r.Offset, -longest, longest),
		span(r.Kind, "jitter", r.Jitter, 0, longest))
}
