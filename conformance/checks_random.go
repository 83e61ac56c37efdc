package conformance

import (
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	"pgregory.net/rapid"
)

// modelChecks compare the store with the model over random histories.
func modelChecks() []Check {
	c := Check{
		Name:     "model/random-history",
		Property: "P3",
		Rule:     "over any history of calls and clock readings the store answers as the pure functions do, field by field",
	}
	c.body = func(c Check, t TB, open Opener) {
		t.Helper()
		rapid.Check(t, func(t *rapid.T) {
			r := randomHistory{checkWorld: newCheckWorldAt(randomStart(t), c, t, open), T: t}
			r.kinds = r.checkWorld.kinds()
			r.binds = store.FeaturesOf(r.store).Bind != nil
			for range rapid.IntRange(1, 40).Draw(t, "events") {
				r.event()
			}
		})
	}
	return []Check{c}
}

// randomHistory draws what happens to a store. Keys, names and limits are few,
// so that calls meet; parameters change as different limits of one kind are
// drawn for a slot.
type randomHistory struct {
	*checkWorld
	*rapid.T
	kinds []checkKind
	binds bool
	last  []store.Op // of the last call, with the answers
}

func (r *randomHistory) number(label string, from, to int) int {
	return rapid.IntRange(from, to).Draw(r.T, label)
}

// randomStart draws what the clock shows first.
func randomStart(t *rapid.T) algorithm.Instant {
	return rapid.SampledFrom([]algorithm.Instant{
		0, 1, 999, 1 << 50, 1<<50 - 1, checkStart, checkStart - 1, checkStart + 123_456, algorithm.MaxInstant - 400*24*3600*1_000_000,
	}).Draw(t, "start")
}

func (r *randomHistory) event() {
	r.checkWorld.throughBound = r.binds && r.number("through a Bound", 0, 1) == 1
	switch r.number("event", 0, 9) {
	case 0, 1, 2:
		r.setClock(r.reading())
	case 3:
		ops := r.ops()
		r.peek(ops...)
		r.last = ops
	case 4:
		var slots []store.Slot
		for _, op := range r.ops() {
			slots = append(slots, op.Slot)
		}
		r.reset(slots...)
	default:
		ops := r.ops()
		r.apply(ops...)
		r.last = ops
	}
}

// ops draws one to five ops of different slots.
func (r *randomHistory) ops() []store.Op {
	var ops []store.Op
	places := map[checkPlace]bool{}
	most := 5
	if !r.can(needsOps) {
		most = 1
	}
	for range r.number("ops", 1, most) {
		s := r.slot()
		if len(ops) > 0 && !r.can(needsKeys) {
			s.Key = ops[0].Key
		}
		if place := checkPlaceOf(s); !places[place] {
			places[place] = true
			if r.doubtful(s) {
				r.reset(s)
			}
			ops = append(ops, store.Op{Slot: s, Request: r.request(s)})
		}
	}
	return ops
}

func (r *randomHistory) slot() store.Slot {
	if n := len(r.last); n > 0 && r.number("slot", 0, 1) == 0 {
		return r.last[r.number("again", 0, n-1)].Slot
	}
	k := r.kinds[r.number("kind", 0, len(r.kinds)-1)]
	return store.Slot{
		Key:       rapid.SampledFrom([]string{"a", "b", "\x00{b}:"}).Draw(r.T, "key"),
		Limit:     rapid.SampledFrom([]string{"", "l"}).Draw(r.T, "name"),
		Algorithm: k.limits[r.number("limit", 0, len(k.limits)-1)],
	}
}

// request draws a cost around what remains and around the capacity.
func (r *randomHistory) request(s store.Slot) (request algorithm.Request) {
	_, look := s.Algorithm.Step(r.model[checkPlaceOf(s)].state, r.now(), algorithm.Request{})
	switch r.number("cost", 0, 7) {
	case 0:
		request.Cost = 0
	case 1:
		request.Cost = look.Remaining
	case 2:
		request.Cost = look.Remaining + 1
	case 3:
		request.Cost = look.Limit + int64(r.number("above", 0, 1))
	case 4:
		request.Cost = 1<<63 - 1
	case 5:
		request.Cost = 2
	default:
		request.Cost = 1
	}
	switch r.number("bound on the delay", 0, 5) {
	case 0:
		request.MaxDelay = time.Duration(r.number("ns", 1, 2000))
	case 1:
		request.MaxDelay = max(0, look.Delay+time.Duration(r.number("off by µs", -1, 1))*time.Microsecond)
	}
	return request
}

// reading draws what the clock shows next: mostly an instant that matters, of
// the last call or of a window, or one beside it.
func (r *randomHistory) reading() algorithm.Instant {
	now := r.now()
	beside := algorithm.Instant(r.number("beside", -1, 1))
	var o algorithm.Outcome
	a := r.kinds[0].limits[0]
	if n := len(r.last); n > 0 {
		op := r.last[r.number("as told to", 0, n-1)]
		o, a = op.Outcome, op.Algorithm
	}
	period := algorithm.Instant(max(1, a.Spec().Params[1]))
	at := now
	switch r.number("clock", 0, 9) {
	case 0, 1:
		if o.RetryAfter != algorithm.Never {
			at = now + algorithm.Instant(o.RetryAfter/time.Microsecond) + beside
		}
	case 2:
		at = now + algorithm.Instant(o.ResetAfter/time.Microsecond) + beside
	case 3:
		at = (now/period+algorithm.Instant(r.number("edges on", 0, 2)))*period + beside
	case 4:
		at = now + 1
	case 5:
		at = now + algorithm.Instant(rapid.Int64Range(0, int64(period)).Draw(r.T, "part of a period"))
	case 6:
		at = now + algorithm.Instant(rapid.Int64Range(0, 40*24*3600*1_000_000).Draw(r.T, "long"))
	case 7:
		at = now - algorithm.Instant(r.number("back by µs", 1, 1_000_000))
	case 8:
		at = now - algorithm.Instant(rapid.Int64Range(1, 2*int64(period)).Draw(r.T, "back by periods"))
	case 9:
		at = r.latest - algorithm.Instant(r.number("behind the latest by µs", 0, 1_000_000))
	}
	return min(max(at, 0), algorithm.MaxInstant)
}
