package conformance_test

import (
	"sync"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// brokenLikeOthers are stores that make mistakes which other limiters made; see
// trackRecord.
var brokenLikeOthers = []brokenStore{
	{"time is whole seconds", withClock(func(t time.Time) time.Time { return t.Truncate(time.Second) }),
		[]string{"timeline/token-bucket"}},
	{"a clock that goes back takes tokens away", stepping(func(a algorithm.Algorithm, s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
		if a.Spec().Kind == algorithm.KindTokenBucket && s.Words() > 1 && int64(now) < s.Word(0) {
			s = algorithm.NewState(int64(now), max(0, s.Word(1)-1))
		}
		return a.Step(s, now, r)
	}), []string{"timeline/clock-back", "clock/no-order-grants"}},
	{"an entry that has left still counts", stepping(func(a algorithm.Algorithm, s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
		if _, o := a.Step(s, max(0, now-1), r); a.Spec().Kind == algorithm.KindSlidingLog && !o.Allowed {
			return s, o
		}
		return a.Step(s, now, r)
	}), []string{"timeline/sliding-log", "boundary/sliding-log"}},
	{"a wait is cut to whole seconds", func(f *faultyStore) {
		f.answer = func(op *store.Op) {
			if r := &op.Outcome.RetryAfter; *r != algorithm.Never {
				*r = r.Truncate(time.Second)
			}
		}
	}, []string{"boundary/gcra", "take/retry-after-is-tight"}},
	{"a wait is until the key is fresh", func(f *faultyStore) {
		f.answer = func(op *store.Op) {
			if o := &op.Outcome; !o.Allowed && o.RetryAfter != algorithm.Never {
				o.RetryAfter = o.ResetAfter
			}
		}
	}, []string{"timeline/gcra", "boundary/gcra"}},
	{"the reset is 0 where all is used up", func(f *faultyStore) {
		f.answer = func(op *store.Op) {
			if !op.Outcome.Allowed {
				op.Outcome.ResetAfter = 0
			}
		}
	}, []string{"timeline/reported"}},
	{"what remains leaves out the window before", func(f *faultyStore) {
		f.answer = func(op *store.Op) {
			if o := &op.Outcome; op.Algorithm != nil && op.Algorithm.Spec().Kind == algorithm.KindSlidingCounter && o.Remaining > 0 {
				p, found := f.states[placeOf(op.Slot)]
				if found {
					o.Remaining = max(o.Remaining, o.Limit-p.Word(1))
				}
			}
		}
	}, []string{"timeline/sliding-counter"}},
	{"a cost above the capacity is one of it", func(f *faultyStore) {
		f.rewrite = func(op *store.Op) {
			if _, look := op.Algorithm.Step(algorithm.State{}, 0, algorithm.Request{}); look.Limit > 0 {
				op.Request.Cost = min(op.Request.Cost, look.Limit)
			}
		}
	}, []string{"input/cost-at-the-edges", "timeline/cost"}},
	{"a lowered limit never fills again", func(f *faultyStore) {
		var mu sync.Mutex // checks call concurrently
		most := map[place]int64{}
		f.answer = func(op *store.Op) {
			if op.Algorithm == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			p, o := placeOf(op.Slot), &op.Outcome
			if most[p] = max(most[p], o.Limit); o.Limit < most[p] {
				o.Remaining = 0
			}
		}
	}, []string{"limits/lowered"}},
	{"an interval is whole microseconds", replacingGCRA(func(units int64, per time.Duration) algorithm.Rate {
		return algorithm.Rate{Units: 1, Per: max(time.Microsecond, (per / time.Duration(units)).Truncate(time.Microsecond))}
	}), []string{"timeline/gcra-fractions", "boundary/gcra"}},
	{"a rate is right within 1 %", replacingGCRA(func(units int64, per time.Duration) algorithm.Rate {
		return algorithm.Rate{Units: units, Per: (per + per/100).Truncate(time.Microsecond)}
	}), []string{"timeline/gcra", "boundary/gcra"}},
	{"a microsecond early is early enough", stepping(func(a algorithm.Algorithm, s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
		if r.Cost > 0 {
			if next, o := a.Step(s, now+1, r); o.Allowed {
				return next, o
			}
		}
		return a.Step(s, now, r)
	}), []string{"boundary/gcra", "timeline/gcra"}},
	{"at a power of two a new key is a used one", stepping(func(a algorithm.Algorithm, s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
		if s.Fresh() && now&(now-1) == 0 && now > 0 {
			s, _ = a.Step(s, now, algorithm.Request{Cost: 1})
		}
		return a.Step(s, now, r)
	}), []string{"clock/powers-of-two"}},
}
