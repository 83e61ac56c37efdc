package conformance

import (
	"sync"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// checkKind is a kind of algorithm with limits that differ in what is hard:
// round ones, fractions, very short and very long ones.
type checkKind struct {
	name   string
	limits []algorithm.Algorithm
	needs  needs
	place  int // among the kinds
}

// checkKinds are the six kinds of package algorithm, and one of the suite's.
var checkKinds = sync.OnceValue(func() []checkKind {
	all := []checkKind{
		{name: "gcra", limits: checkLimits("gcra:5/1s", "gcra:7/3s,burst=4", "gcra:1000/1s,burst=1", "gcra:3/7us", "gcra:1000003/24h,burst=50")},
		{name: "token-bucket", limits: checkLimits("token-bucket:5/1s", "token-bucket:7/3s,burst=4", "token-bucket:3/7us", "token-bucket:1000003/24h,burst=50")},
		{name: "leaky-bucket", limits: checkLimits("leaky-bucket:5/1s", "leaky-bucket:7/3s,capacity=4", "leaky-bucket:3/7us", "leaky-bucket:1/1h,capacity=3")},
		{name: "fixed-window", limits: checkLimits("fixed-window:5/1s", "fixed-window:7/3s", "fixed-window:3/7us", "fixed-window:100/24h")},
		{name: "sliding-log", limits: checkLimits("sliding-log:5/1s", "sliding-log:7/3s", "sliding-log:3/7us", "sliding-log:6/24h")},
		{name: "sliding-counter", limits: checkLimits("sliding-counter:5/1s", "sliding-counter:7/3s", "sliding-counter:3/7us", "sliding-counter:1000003/24h")},
		{name: "written-elsewhere", limits: []algorithm.Algorithm{checkPause{capacity: 5, each: 400_000}, checkPause{capacity: 3, each: 1}}, needs: needsCustom},
	}
	for i := range all {
		all[i].place = i
	}
	return all
})

func checkLimits(specs ...string) []algorithm.Algorithm {
	limits := make([]algorithm.Algorithm, len(specs))
	for i, spec := range specs {
		limits[i] = algorithm.Must(algorithm.ParseSpec(spec))
	}
	return limits
}

// kinds are those that the store runs.
func (w *checkWorld) kinds() []checkKind {
	all := checkKinds()
	if !w.can(needsCustom) {
		all = all[:len(all)-1]
	}
	return all
}

// some are the limits of a kind; in the quick profile it is one of them, round for
// every other kind and with fractions for the next.
func (k checkKind) some() []algorithm.Algorithm {
	if quick() {
		return k.limits[k.place%2:][:1]
	}
	return k.limits
}

// slots are slots of one key and limit name, one of each kind, with a capacity
// of five.
func (w *checkWorld) slots(key, limit string) []store.Slot {
	var slots []store.Slot
	for _, k := range w.kinds() {
		a := k.limits[0]
		if _, custom := a.(checkPause); !custom {
			a = w.limit(k.name + ":5/1s")
		} else if w.config().OwnClock {
			a = checkPause{capacity: 5, each: 24 * 3600 * 1_000_000}
		}
		slots = append(slots, store.Slot{Key: key, Limit: limit, Algorithm: a})
	}
	return slots
}

// checkPause is an algorithm as somebody else might write it: without
// StepInPlace, and with a state of four words, some of them large and one of
// them negative. It admits any cost up to its capacity and then nothing until
// a pause of each µs a unit is over.
//
// The last three words only follow from the first. It panics where they do not,
// so that a store that loses a word is found out.
type checkPause struct{ capacity, each int64 }

func (p checkPause) Spec() algorithm.Spec {
	return algorithm.Spec{Kind: "conformance.pause/1", Params: [4]int64{p.capacity, p.each}}
}

func (p checkPause) String() string { return "conformance.pause" }

func (p checkPause) state(until int64) algorithm.State {
	return algorithm.NewState(until, -until-1, algorithm.MaxWord, until%1000)
}

// Step implements algorithm.Algorithm.
func (p checkPause) Step(s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
	var left int64
	if !s.Fresh() {
		if !s.Equal(p.state(s.Word(0))) {
			panic("conformance: a state came back from the store changed: " + s.String())
		}
		left = max(0, s.Word(0)-int64(now))
	}
	o := algorithm.Outcome{Limit: p.capacity}
	wait := func() time.Duration { return time.Duration(left) * time.Microsecond }
	switch {
	case uint64(r.Cost) > uint64(p.capacity):
		o.RetryAfter = algorithm.Never
	case r.Cost > 0 && left > 0:
		o.RetryAfter = wait()
	default:
		o.Allowed = true
		if r.Cost > 0 {
			left = r.Cost * p.each
			s = p.state(int64(now) + left)
		}
	}
	if left == 0 {
		o.Remaining = p.capacity
	}
	o.ResetAfter = wait()
	return s, o
}
