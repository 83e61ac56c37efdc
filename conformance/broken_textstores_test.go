package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// brokenTexts are text stores with one fault each, and the checks that are meant
// for it: faults that can be seen only past the store, and declared abilities that
// are not what was declared.
var brokenTexts = []struct {
	name   string
	limits textLimits
	fault  func(s *textStore)
	meant  []string
}{
	{"a denial and a look extend a TTL", textLimits{}, func(s *textStore) { s.faults.alwaysWrites = true },
		[]string{"stored/untouched-by-denials-and-looks", "stored/nothing-for-a-fresh-key"}},
	{"a peek extends a TTL", textLimits{}, func(s *textStore) { s.faults.peeksExtend = true },
		[]string{"stored/untouched-by-denials-and-looks"}},
	{"a TTL is in another unit", textLimits{}, func(s *textStore) {
		s.faults.ttl = func(d time.Duration) time.Duration { return 1000 * d }
	}, []string{"stored/for-a-while"}},
	{"a TTL is set in a step of its own, which does not come", textLimits{}, func(s *textStore) {
		s.faults.ttl = func(time.Duration) time.Duration { return algorithm.Never }
	}, []string{"stored/for-a-while"}},
	{"a TTL is that of the limit alone, without the grace", textLimits{}, shortBy(store.Grace),
		[]string{"stored/for-a-while", "expiry/clock-behind"}},
	{"a TTL is a millisecond short", textLimits{}, shortBy(time.Millisecond), []string{"stored/for-a-while"}},
	{"a TTL is 3.9 s less than ResetAfter", textLimits{}, shortBy(store.Grace + 3900*time.Millisecond),
		[]string{"stored/for-a-while"}},
	{"a TTL is 3.9 s less than ResetAfter, by a clock of its own", textLimits{ownClock: true}, shortBy(store.Grace + 3900*time.Millisecond),
		[]string{"stored/for-a-while"}},
	{"a TTL has no grace, by a clock of its own", textLimits{ownClock: true}, shortBy(store.Grace),
		[]string{"stored/for-a-while"}},
	{"a TTL is 0", textLimits{}, shortBy(algorithm.Never), []string{"stored/for-a-while", "stored/is-the-state"}},
	{"a TTL is 0, by a clock of its own", textLimits{ownClock: true}, shortBy(algorithm.Never), []string{"stored/for-a-while"}},
	{"a TTL is shown as 0", textLimits{}, func(s *textStore) { s.faults.showsZero = true }, []string{"stored/for-a-while"}},
	{"a TTL is floored to whole seconds", textLimits{}, func(s *textStore) {
		s.faults.ttl = func(d time.Duration) time.Duration { return max(time.Second, d.Truncate(time.Second)-time.Second) }
	}, []string{"expiry/never-decides", "expiry/swept"}},
	{"a refused Apply of several ops extends TTLs", textLimits{}, func(s *textStore) {
		s.faults.rewrites = func(_ *store.Op, before algorithm.State, ops int, committed bool) bool {
			return ops > 1 && !committed && !before.Fresh()
		}
	}, []string{"stored/untouched-by-denials-and-looks"}},
	{"a refused Apply of several ops leaves empty records", textLimits{}, func(s *textStore) {
		s.faults.rewrites = func(_ *store.Op, before algorithm.State, ops int, committed bool) bool {
			return ops > 1 && !committed && before.Fresh()
		}
	}, []string{"stored/nothing-for-a-fresh-key"}},
	{"a look in a committed Apply extends a TTL", textLimits{}, func(s *textStore) {
		s.faults.rewrites = func(op *store.Op, before algorithm.State, ops int, committed bool) bool {
			return ops > 1 && committed && !before.Fresh()
		}
	}, []string{"stored/untouched-by-denials-and-looks"}},
	{"a look in a committed Apply leaves an empty record", textLimits{}, func(s *textStore) {
		s.faults.rewrites = func(op *store.Op, before algorithm.State, ops int, committed bool) bool {
			return ops > 1 && committed && before.Fresh()
		}
	}, []string{"stored/nothing-for-a-fresh-key"}},
	{"a state that was reset leaves an empty one", textLimits{}, func(s *textStore) { s.faults.resetLeaves = true },
		[]string{"stored/nothing-for-a-fresh-key"}},
	{"a state has a word too many", textLimits{}, func(s *textStore) {
		s.faults.write = func(state algorithm.State) string {
			if state.Words() == 1 {
				return state.String() + " 0 1"
			}
			return state.String()
		}
	}, []string{"stored/is-the-state"}},
	{"a sweep drops what is fresh, without the grace", textLimits{}, func(s *textStore) {
		s.faults.sweep = func(now, until algorithm.Instant) bool { return until-1_000_000 <= now }
	}, []string{"expiry/swept", "expiry/clock-behind"}},
	{"a sweep drops nothing", textLimits{}, func(s *textStore) {
		s.faults.sweep = func(_, _ algorithm.Instant) bool { return false }
	}, []string{"expiry/swept"}},

	{"damage is taken for a fresh key", textLimits{}, func(s *textStore) {
		s.faults.corrupt = func(*textStore, place) (algorithm.State, error) { return algorithm.State{}, nil }
	}, []string{"corrupt/is-an-error", "corrupt/charges-nobody", "corrupt/harms-no-other"}},
	{"damage is thrown away", textLimits{}, func(s *textStore) {
		s.faults.corrupt = func(s *textStore, p place) (algorithm.State, error) {
			delete(s.entries, p)
			return algorithm.State{}, store.ErrCorrupt
		}
	}, []string{"corrupt/is-an-error"}},
	{"damage is an error of another kind", textLimits{}, func(s *textStore) {
		s.faults.corrupt = func(*textStore, place) (algorithm.State, error) {
			return algorithm.State{}, fmt.Errorf("%w: no such state", store.ErrUnavailable)
		}
	}, []string{"corrupt/is-an-error"}},
	{"damage stops all others", textLimits{}, func(s *textStore) {
		s.faults.corrupt = func(s *textStore, _ place) (algorithm.State, error) {
			s.faults.stopped = true
			return algorithm.State{}, store.ErrCorrupt
		}
	}, []string{"corrupt/harms-no-other"}},
	{"damage is met after the others were charged", textLimits{}, func(s *textStore) { s.faults.chargesFirst = true },
		[]string{"corrupt/charges-nobody", "take/refused-changes-nothing"}},

	{"one op a call is declared, and several are taken", textLimits{oneOp: true}, func(s *textStore) { s.faults.refuse = store.Validate },
		[]string{"capability/one-op"}},
	{"one op a call is declared, and the rest are left out", textLimits{oneOp: true}, func(s *textStore) {
		s.faults.refuse = func(ops []store.Op) error {
			if err := store.Validate(ops); err != nil || len(ops) == 1 {
				return err
			}
			_, _, _ = s.decide(context.Background(), ops[:1], true)
			return textLimits{oneOp: true}.refuse(ops)
		}
	}, []string{"capability/one-op"}},
	{"one key a call is declared, and all are taken", textLimits{oneKey: true}, func(s *textStore) { s.faults.refuse = store.Validate },
		[]string{"capability/one-key"}},
	{"one key a call is refused as if it were the network", textLimits{oneKey: true}, func(s *textStore) {
		s.faults.refuse = func(ops []store.Op) error {
			err := textLimits{oneKey: true}.refuse(ops)
			if errors.Is(err, store.ErrCrossNode) {
				err = store.ErrUnavailable
			}
			return err
		}
	}, []string{"capability/one-key"}},
	{"only built-in kinds are declared, and any is run", textLimits{builtInOnly: true}, func(s *textStore) { s.faults.refuse = store.Validate },
		[]string{"capability/built-in-only"}},
	{"never forgets, and does", textLimits{neverForgets: true}, func(s *textStore) { s.faults.dropsAtOnce = true },
		[]string{"capability/never-forgets"}},
	{"its own clock is the caller's", textLimits{ownClock: true}, func(s *textStore) { s.clock = s.given }, []string{"capability/own-clock"}},
	{"its own clock counts milliseconds", textLimits{ownClock: true}, func(s *textStore) {
		s.clock = clockFunc{s.clock, func(t time.Time) time.Time { return time.UnixMicro(t.UnixMilli()) }}
	}, []string{"capability/own-clock"}},
	{"its own clock joins its parts as text", textLimits{ownClock: true}, func(s *textStore) {
		s.clock = clockFunc{s.clock, func(t time.Time) time.Time {
			// Seconds, a dot, and microseconds without their leading zeros.
			micros, scale := t.UnixMicro()%1_000_000, int64(1)
			for micros*scale*10 < 1_000_000 && micros > 0 {
				scale *= 10
			}
			return time.UnixMicro(t.Unix()*1_000_000 + micros*scale)
		}}
	}, []string{"capability/own-clock"}},
}

// shortBy makes TTLs shorter by d, at the least 0.
func shortBy(d time.Duration) func(s *textStore) {
	return func(s *textStore) {
		s.faults.ttl = func(ttl time.Duration) time.Duration { return max(0, ttl-d) }
	}
}
