package algorithm

import (
	"time"

	"github.com/weirgo/weir/internal/exact"
)

// TokenBucket holds up to burst tokens, starts full, gains L/P tokens each µs
// and pays one for each unit of cost.
//
// A closed interval of t µs sees at most B + ⌊t·L/P⌋ admitted; the bound is
// reached. See GCRA, which decides equally on a clock that does not go back and
// needs less state. Under a clock that goes back a token bucket stands still
// and keeps admitting from what it holds, where GCRA counts the time lost as
// debt.
//
// The state is the instant of the last change and the tokens it left, followed
// by the numerator and denominator of a fraction of a token where there is one:
// "last tokens [f P]"; tokens are below 0 where the key is in debt. Decisions are
// O(1).
//
// Source: RFC 2697 and RFC 2698 (token buckets C and E); J. Turner (1986).
type TokenBucket struct {
	limit, period int64 // as given; µs
	burst         int64
	units, per    int64  // limit and period in lowest terms
	fill          int64  // µs from empty to full, rounded up
	fraction      *shape // of a state with a fraction over per
}

// KindTokenBucket is the kind and state layout of a TokenBucket.
const KindTokenBucket = "token-bucket/1"

var (
	_ InPlace      = (*TokenBucket)(nil)
	_ StateChecker = (*TokenBucket)(nil)
	_ Charger      = (*TokenBucket)(nil)
)

func tokenBucketFamily() Family {
	return Family{
		Name: "token-bucket", Kind: KindTokenBucket, Option: "burst",
		Build:     func(r Rate, capacity int64) (Algorithm, error) { return lift(NewTokenBucket(r, capacity)) },
		Summary:   `decides as gcra, in the words people know: tokens that refill`,
		Layout:    "last tokens [f P]",
		Bound:     func(s Spec, t time.Duration) int64 { return rateOver(s.Params[2], s, t) },
		BoundText: "B + ⌊t·L/P⌋",
		Samples:   []string{"token-bucket:1/1µs", "token-bucket:7/3s,burst=3", "token-bucket:1000000000000/9600h"},
	}
}

// NewTokenBucket returns a token bucket that gains r.Units per r.Per and holds
// at most burst tokens. burst runs from 1 to MaxUnits and must fill within
// MaxTimeToFull at that rate; the usual choice is r.Units. What lies outside is
// a *ParameterError.
func NewTokenBucket(r Rate, burst int64) (*TokenBucket, error) {
	name := nameOf(KindTokenBucket)
	if err := r.check(name); err != nil {
		return nil, err
	}
	if err := r.checkBurst(name, "burst", burst); err != nil {
		return nil, err
	}
	t := &TokenBucket{limit: r.Units, period: int64(r.Per / time.Microsecond), burst: burst}
	t.units, t.per = r.reduced()
	t.fill = t.wait(burst, 0)
	t.fraction = &shape{words: 4, w3: t.per}
	return t, nil
}

// Spec implements Algorithm. The parameters are limit, period in µs, and burst.
func (t *TokenBucket) Spec() Spec {
	return Spec{Kind: KindTokenBucket, Params: [4]int64{t.limit, t.period, t.burst}}
}

// Step implements Algorithm.
func (t *TokenBucket) Step(s State, now Instant, r Request) (next State, o Outcome) {
	t.StepInPlace(&s, now, r, &o)
	return s, o
}

// StepInPlace implements InPlace.
func (t *TokenBucket) StepInPlace(s *State, now Instant, r Request, o *Outcome) {
	if r.Verb != Take {
		t.other(s, now, r, o)
		return
	}
	at := int64(now.bounded())
	e, tokens, part := t.level(s, at)
	behind := e - at // how far the clock lies behind the last change
	*o = Outcome{Limit: t.burst}
	switch {
	case uint64(r.Cost) > uint64(t.burst):
		o.RetryAfter = Never
	case r.Cost > 0 && r.Cost > tokens:
		o.RetryAfter = micros(behind + t.wait(r.Cost-tokens, part))
	default:
		o.Allowed = true
		if r.Cost > 0 {
			tokens -= r.Cost
			*s = t.store(e, tokens, part)
		}
	}
	if tokens >= 0 {
		o.Remaining = tokens
	} else {
		o.Debt = -tokens
	}
	// A full bucket is not fresh before its last change: what is taken now
	// comes back from then on only.
	o.ResetAfter = micros(behind)
	if tokens < t.burst {
		o.ResetAfter += micros(t.wait(t.burst-tokens, part))
	}
}

// other is StepInPlace for a charge or a refund.
func (t *TokenBucket) other(s *State, now Instant, r Request, o *Outcome) {
	at := int64(now.bounded())
	e, tokens, part := t.level(s, at)
	lowest := -t.MaxDebt()
	*o = Outcome{Allowed: true}
	switch {
	case r.Verb == Charge && uint64(r.Cost) > uint64(t.burst-lowest), r.Cost < 0, r.Verb != Charge && r.Verb != Refund:
		*o = Outcome{RetryAfter: Never}
	case r.Cost == 0:
	case r.Verb == Charge && tokens-r.Cost < lowest:
		*o = Outcome{RetryAfter: micros(e - at + t.wait(lowest+r.Cost-tokens, part))}
	case r.Verb == Charge:
		*s = t.store(e, tokens-r.Cost, part)
	case tokens == t.burst: // nothing to give back
	case r.Cost >= t.burst-tokens:
		*s = t.store(e, t.burst, 0)
	default:
		*s = t.store(e, tokens+r.Cost, part)
	}
	var look Outcome
	t.StepInPlace(s, now, Request{}, &look)
	o.answer(r.Verb, look)
}

// MaxDebt implements Charger.
func (t *TokenBucket) MaxDebt() int64 { return maxDebt(t.units, t.per, t.burst) }

// level returns the effective instant and what the bucket holds then: whole
// tokens and a numerator over per.
func (t *TokenBucket) level(s *State, now int64) (e, tokens, part int64) {
	if s.shape == nil {
		return now, t.burst, 0
	}
	e, tokens = max(now, s.w0), s.w1
	if s.shape.words == 4 {
		if part = s.w2; s.shape.w3 != t.per {
			// From before a change of parameters: down, against the caller.
			part, _ = exact.MulDiv(part, t.per, max(1, s.shape.w3))
		}
	}
	full := t.fill
	if tokens < 0 {
		// Another limit may have left a debt that this one would not pay back in time.
		if lowest := -t.MaxDebt(); tokens < lowest {
			tokens, part = lowest, 0
		}
		full = t.wait(t.burst-tokens, part)
	}
	if elapsed := e - s.w0; elapsed >= full {
		return e, t.burst, 0
	} else if elapsed > 0 {
		gained, rest := exact.MulAddDiv(elapsed, t.units, part, t.per)
		tokens, part = tokens+gained, rest
	}
	if tokens >= t.burst {
		return e, t.burst, 0
	}
	return e, tokens, part
}

// wait returns how many µs it takes to gain n tokens less part/per of one,
// rounded up. n is at least 1 and at most burst and the largest debt.
func (t *TokenBucket) wait(n, part int64) int64 {
	return exact.Up(exact.MulAddDiv(n, t.per, -part, t.units))
}

func (t *TokenBucket) store(at, tokens, part int64) State {
	if part == 0 {
		return State{w0: at, w1: tokens, shape: twoWords}
	}
	return State{at, tokens, part, t.fraction}
}

// CheckState implements StateChecker: an instant and a count of tokens, or
// these and a proper fraction of a token.
func (t *TokenBucket) CheckState(s State) error {
	if s.Fresh() {
		return nil
	}
	if n := s.Words(); n != 2 && n != 4 {
		return refuseShape(s)
	}
	if s.w0 < 0 || s.w0 > int64(MaxInstant) {
		return refuseState(Instant(s.w0).String())
	}
	if s.w1 < -MaxUnits || s.w1 > MaxUnits {
		return refuseState(Instant(s.w1).String())
	}
	const longest = int64(MaxPeriod / time.Microsecond)
	if f, per := s.w2, s.Word(3); s.Words() == 4 && (per < 2 || per > longest || f < 1 || f >= per) {
		return refuseState(Instant(f).String() + " " + Instant(per).String())
	}
	return nil
}

// String returns the spec, such as "token-bucket:100/1m,burst=20", as ParseSpec
// reads it.
func (t *TokenBucket) String() string {
	return formatSpec(KindTokenBucket, t.limit, t.period, "burst", t.burst)
}
