package traffic

import (
	"cmp"
	"time"

	"github.com/weirgo/weir/sim/random"
)

// backoff is the waits of the exponential policies in µs, after Exponential Backoff
// And Jitter (Brooker 2015).
type backoff struct{ base, top int64 }

// newBackoff returns the builder of a policy that waits as one of the four functions
// says.
func newBackoff(wait func(backoff, Failure, *random.Stream) int64) func(Retries) (waits, error) {
	return func(r Retries) (waits, error) {
		defaults(&r.Base, 100*time.Millisecond)
		defaults(&r.Cap, max(10*time.Second, r.Base))
		b := backoff{micros(r.Base), micros(r.Cap)}
		return func(f Failure, draw *random.Stream) int64 { return wait(b, f, draw) },
			cmp.Or(span(r.Kind, "base", r.Base, time.Microsecond, longest), span(r.Kind, "cap", r.Cap, r.Base, longest))
	}
}

// at returns min(top, base·2^a) for the a-th wait, from 0.
func (b backoff) at(a int64) int64 {
	a = max(a, 0)
	if a > 62 || b.base > b.top>>a {
		return b.top
	}
	return b.base << a
}

func wholeBackoff(b backoff, f Failure, _ *random.Stream) int64 { return b.at(f.Attempt - 1) }

func fullJitter(b backoff, f Failure, draw *random.Stream) int64 {
	return draw.Uniform(0, b.at(f.Attempt-1))
}

func equalJitter(b backoff, f Failure, draw *random.Stream) int64 {
	whole := b.at(f.Attempt - 1)
	return draw.Uniform(whole/2, whole)
}

func decorrelatedJitter(b backoff, f Failure, draw *random.Stream) int64 {
	last := min(max(micros(f.Waited), b.base), b.top)
	return min(b.top, draw.Uniform(b.base, 3*last))
}
