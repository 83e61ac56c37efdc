package conformance_test

import (
	"context"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// brokenVerbs are mistakes in charges and refunds, of algorithms that are sound
// otherwise.
var brokenVerbs = []brokenAlgorithm{
	{"M8-charge-counts-exactly", "a charge is denied as a take is", onVerb(soundBucket, algorithm.Charge, asTake)},
	{"M8-charge-counts-exactly", "a charge counts twice", onVerb(soundWindow, algorithm.Charge, func(a alg, s st, now at, r req) (st, out) {
		s, _ = a.Step(s, now, r)
		return a.Step(s, now, r)
	})},
	{"M8-charge-counts-exactly", "the debt is not shown", onVerb(soundBucket, algorithm.Charge, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		o.Debt = 0
		return next, o
	})},
	{"M8-charge-of-what-remains-is-a-take", "a charge is said to last longer", onVerb(soundWindow, algorithm.Charge, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		if s.Fresh() && o.Debt == 0 && r.Cost > 0 {
			o.ResetAfter++
		}
		return next, o
	})},
	{"I3-charge-ends-at-the-largest-debt", "a debt has no end", onVerb(soundBucket, algorithm.Charge, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		o.Allowed, o.RetryAfter = true, 0
		return next, o
	})},
	{"I3-charge-ends-at-the-largest-debt", "a denied charge waits for nothing", onVerb(soundBucket, algorithm.Charge, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		if !o.Allowed && o.RetryAfter != algorithm.Never {
			o.RetryAfter = time.Microsecond
		}
		return next, o
	})},
	{"I4-refund-undoes-its-take", "a refund comes from the window of now", onVerb(soundWindow, algorithm.Refund, func(a alg, s st, now at, r req) (st, out) {
		r.At = 0
		return a.Step(s, now, r)
	})},
	{"I4-refund-undoes-its-take", "a unit is kept as a fee", onVerb(soundBucket, algorithm.Refund, func(a alg, s st, now at, r req) (st, out) {
		r.Cost = max(0, r.Cost-1)
		return a.Step(s, now, r)
	})},
	{"I4-refund-gives-no-more-than-it-says", "a refund is a reset", onVerb(soundWindow, algorithm.Refund, func(a alg, _ st, now at, r req) (st, out) {
		return a.Step(st{}, now, r)
	})},
	{"I4-refund-gives-no-more-than-it-says", "a refund of a fresh key writes", onVerb(soundWindow, algorithm.Refund, func(a alg, s st, now at, r req) (st, out) {
		next, o := a.Step(s, now, r)
		if next.Fresh() {
			next = algorithm.NewState(int64(now)-int64(now)%60_000_000, 0)
		}
		return next, o
	})},
	{"I6-settling-is-charging-the-actual-cost", "a refund gives all back", onVerb(soundBucket, algorithm.Refund, func(a alg, s st, now at, r req) (st, out) {
		r.Cost = algorithm.MaxUnits
		return a.Step(s, now, r)
	})},
	{"I6-settling-is-charging-the-actual-cost", "a refund that came later is ignored", onVerb(soundBucket, algorithm.Refund, func(a alg, s st, now at, r req) (st, out) {
		if r.At != now {
			r.Cost = 0
		}
		return a.Step(s, now, r)
	})},
	{"I1-verbs-at-the-edges", "an unknown verb is a take", func() algorithm.Algorithm {
		return charger{mistaken{soundBucket(), func(a alg, s st, now at, r req) (st, out) {
			if r.Verb < 0 || r.Verb > algorithm.Refund {
				r.Verb = algorithm.Take
			}
			return a.Step(s, now, r)
		}}, soundBucket().(algorithm.Charger).MaxDebt()}
	}},
	{"I1-verbs-at-the-edges", "a charge below 0 is a refund", onVerb(soundBucket, algorithm.Charge, func(a alg, s st, now at, r req) (st, out) {
		if r.Cost < 0 {
			r = req{Verb: algorithm.Refund, Cost: 1, At: now}
		}
		return a.Step(s, now, r)
	})},
}

func asTake(a alg, s st, now at, r req) (st, out) {
	r.Verb = algorithm.Take
	return a.Step(s, now, r)
}

// charger is mistaken, with the verbs.
type charger struct {
	mistaken
	most int64
}

func (c charger) MaxDebt() int64 { return c.most }

// onVerb is an algorithm that makes a mistake where it is asked with a verb.
func onVerb(sound func() alg, v algorithm.Verb, step func(a alg, s st, now at, r req) (st, out)) func() alg {
	return func() alg {
		a := sound()
		return charger{mistaken{a, func(a alg, s st, now at, r req) (st, out) {
			if r.Verb == v {
				return step(a, s, now, r)
			}
			return a.Step(s, now, r)
		}}, a.(algorithm.Charger).MaxDebt()}
	}
}

// brokenVerbStores are stores with a mistake in what they do with charges and refunds.
var brokenVerbStores = []brokenStore{
	{"a charge is a take", func(f *faultyStore) {
		f.rewrite = func(op *store.Op) {
			if op.Request.Verb == algorithm.Charge {
				op.Request.Verb = algorithm.Take
			}
		}
	}, []string{"verb/charge-and-refund", "timeline/charge-and-refund", "model/random-history"}},
	{"a refund is of the window of now", stepping(func(a algorithm.Algorithm, s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
		if r.Verb == algorithm.Refund {
			r.At = now
		}
		return a.Step(s, now, r)
	}), []string{"timeline/reported", "timeline/charge-and-refund"}},
	{"a refund of a refused Apply is given", func(f *faultyStore) {
		f.apply = func(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
			at, committed, err := f.plainStore.Apply(ctx, ops)
			for i := range ops {
				if op := ops[i : i+1 : i+1]; err == nil && !committed && op[0].Request.Verb == algorithm.Refund {
					_, _, err = f.plainStore.Apply(ctx, []store.Op{op[0]})
				}
			}
			return at, committed, err
		}
	}, []string{"verb/all-or-nothing"}},
	{"a verb that an algorithm does not know is a take", func(f *faultyStore) {
		f.rewrite = func(op *store.Op) {
			if _, is := op.Algorithm.(algorithm.Charger); !is {
				op.Request.Verb = algorithm.Take
			}
		}
	}, []string{"input/refused"}},
}
