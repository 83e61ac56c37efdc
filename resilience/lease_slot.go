package resilience

import (
	"math"
	"slices"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/exact"
	"github.com/weirgo/weir/store"
)

// kind is what a lease has to know of a kind of algorithm.
type kind struct {
	family  *algorithm.Family
	aligned bool // units end with their window, and are given back to it
}

// leasable returns the kinds that can be leased: those of this project whose units may be
// used later than they were taken. See Lease.
func leasable() map[string]kind {
	kinds := make(map[string]kind)
	for _, f := range algorithm.Families() {
		a, err := algorithm.ParseSpec(f.Samples[0])
		if err != nil {
			panic(err) // a sample is valid
		}
		_, isQueue := a.(algorithm.Queue)
		_, isCharger := a.(algorithm.Charger)
		if isCharger && !isQueue && !f.Log {
			kinds[f.Kind] = kind{family: &f, aligned: f.Aligned}
		}
	}
	return kinds
}

// grant is units that were taken from the store and are not used yet.
type grant struct {
	units     int64
	at        algorithm.Instant // of the take, on the clock of the store
	sent      time.Time         // when it was asked for
	received  time.Time
	algorithm algorithm.Algorithm
	spec      algorithm.Spec
	ends      algorithm.Instant // of a window by the calendar; 0 is not known yet

	// The answer of the store.
	limit int64
	reset time.Duration
}

// age is how long ago the grant was asked for, at most: the longer one where monotonic
// time and wall time differ, as after a machine was suspended. Where the clock has gone
// back it is without end.
func (g *grant) age(now time.Time) time.Duration {
	age, wall := now.Sub(g.sent), now.Round(0).Sub(g.sent.Round(0))
	if age < 0 {
		return math.MaxInt64
	}
	return max(age, wall)
}

// valid reports whether the units may be used: within their life, and in an aligned
// window before the store can have come to its end, also where the clock of the store is
// fast by one thousandth.
func (g *grant) valid(now time.Time, life time.Duration, k kind) bool {
	age := g.age(now)
	if age >= life {
		return false
	}
	if !k.aligned {
		return true
	}
	left := int64(0)
	if k.family.Calendar {
		if g.ends == 0 {
			g.ends = g.at // never valid where the zone is not known
			if w, err := k.family.With(g.spec, g.spec.Params[0], g.spec.Params[0]); err == nil {
				_, g.ends = w.(*algorithm.CalendarWindow).Window(g.at)
			}
		}
		left = int64(g.ends - g.at)
	} else {
		rate, _ := k.family.Parameters(g.spec)
		period := int64(rate.Per / time.Microsecond)
		left = period - int64(g.at)%period
	}
	return int64((age+age/1000)/time.Microsecond) < left
}

// returnable returns how many of the units may be given back, to a store that applies
// it no later than delay from now: not the units that a rate has regained since the grant.
func (g *grant) returnable(now time.Time, delay time.Duration, k kind) int64 {
	if k.aligned {
		return g.units
	}
	age := g.age(now)
	if age > math.MaxInt64-delay {
		return 0
	}
	rate, _ := k.family.Parameters(g.spec)
	elapsed := (age + delay + time.Microsecond - 1) / time.Microsecond
	regained := exact.Product(int64(elapsed), rate.Units).Ceil(int64(rate.Per / time.Microsecond))
	return max(0, g.units-regained)
}

// refund is the op that gives units back.
func (g *grant) refund(id store.SlotID, units int64) store.Op {
	return store.Op{
		Slot:    store.Slot{Key: id.Key, Limit: id.Limit, Algorithm: g.algorithm},
		Request: algorithm.Request{Verb: algorithm.Refund, Cost: units, At: g.at},
	}
}

// leased is a slot that is watched. It is guarded by the lock of its shard.
type leased struct {
	id    store.SlotID
	stats *LeaseStats // of its shard
	spec  algorithm.Spec
	kind  kind

	grants []grant       // that can be used, the oldest first: at most two
	stale  []grant       // that cannot be used any more, and wait to be given back
	size   int64         // units of the latest grant
	busy   bool          // a call that takes or gives back units is on its way
	moves  int64         // beginnings and ends of such calls
	done   chan struct{} // closed at the end of the call on its way; nil: nobody waits
	epoch  int64         // counts the resets
	room   int64         // Remaining of the last answer of the store; below 0: not known
	pause  time.Time     // no grant before it

	began       time.Time // the tick
	now, before demand    // of this tick, and of the one before
	last        time.Time // when it was asked last
}

// demand is what was asked of a slot.
type demand struct{ asks, units int64 }

// hotAsks is how many asks within one or two ticks make a slot hot.
const hotAsks = 8

// note notes an ask.
func (s *leased) note(now time.Time, tick time.Duration, cost int64) {
	switch since := now.Sub(s.began); {
	case since < -tick || since >= 2*tick: // less below 0 is a caller whom others have overtaken
		s.began, s.before, s.now = now, demand{}, demand{}
	case since >= tick:
		s.began, s.before, s.now = s.began.Add(tick), s.now, demand{}
	}
	s.last = now
	s.now.asks++
	s.now.units += min(cost, math.MaxInt64-s.now.units)
}

// begin notes that a call begins that takes or gives back units: one at a time.
func (s *leased) begin() {
	s.busy = true
	s.moves++
}

// end notes that the call has ended.
func (s *leased) end() {
	s.busy = false
	s.moves++
	if s.done != nil {
		close(s.done)
		s.done = nil
	}
}

// wait returns what is closed at the end of the call on its way; nil: there is none.
func (s *leased) wait() <-chan struct{} {
	if !s.busy {
		return nil
	}
	if s.done == nil {
		s.done = make(chan struct{})
	}
	return s.done
}

// held is how many units can be handed out.
func (s *leased) held() (units int64) {
	for i := range s.grants {
		units += s.grants[i].units
	}
	return units
}

// expire moves grants that may not be used any more aside.
func (s *leased) expire(now time.Time, life time.Duration) {
	for i := len(s.grants) - 1; i >= 0; i-- {
		if !s.grants[i].valid(now, life, s.kind) {
			s.remove(i)
		}
	}
}

// remove moves a grant aside.
func (s *leased) remove(i int) {
	s.setAside(s.grants[i])
	s.grants = slices.Delete(s.grants, i, i+1)
}

// maxStale is how many grants wait to be given back, at most: more are lost.
const maxStale = 8

// setAside keeps a grant to be given back.
func (s *leased) setAside(g grant) {
	if g.units == 0 {
		return
	}
	if len(s.stale) == maxStale {
		s.stats.Lost += s.stale[0].units
		s.stale = slices.Delete(s.stale, 0, 1)
	}
	s.stale = append(s.stale, g)
}

func (s *leased) setAllAside() {
	for len(s.grants) > 0 {
		s.remove(0)
	}
}

// change begins anew with other parameters.
func (s *leased) change(spec algorithm.Spec, k kind) {
	s.setAllAside()
	s.spec, s.kind, s.room, s.size = spec, k, -1, 0
	s.now, s.before = demand{}, demand{}
}

// drop forgets all units.
func (s *leased) drop() {
	for _, g := range slices.Concat(s.grants, s.stale) {
		s.stats.Lost += g.units
	}
	s.grants, s.stale, s.room, s.size = nil, nil, -1, 0
	s.epoch++
}

// add keeps a grant to be used.
func (s *leased) add(g grant) {
	if len(s.grants) > 0 && s.grants[0].units == 0 {
		s.grants = s.grants[:0]
	}
	s.grants = append(s.grants, g)
	s.size = g.units
}

// want returns how many units to take beyond cost: 0 for none.
func (s *leased) want(cost int64, o *LeaseOptions) int64 {
	if max(s.now.asks, s.before.asks) < hotAsks || s.room < 0 {
		return 0
	}
	share := int64(o.MaxShare * float64(s.room)) // room is at most the capacity
	units := min(max(s.now.units, s.before.units), o.Units, share, s.room-cost)
	if units < max(2, cost) {
		return 0
	}
	return units
}

// answer is the answer to a request that is admitted from the units held, which are what is
// left after it.
func (s *leased) answer(now time.Time, o *algorithm.Outcome) (at algorithm.Instant) {
	g := &s.grants[len(s.grants)-1] // the latest answer of the store
	moved := max(0, now.Sub(g.received)).Truncate(time.Microsecond)
	*o = algorithm.Outcome{
		Allowed: true, Limit: g.limit, Remaining: min(g.limit, max(0, s.room)+s.held()),
		ResetAfter: max(0, g.reset-moved),
	}
	return min(g.at+algorithm.Instant(moved/time.Microsecond), algorithm.MaxInstant)
}

// use admits cost from the units held, which are at least as many.
func (s *leased) use(now time.Time, cost int64, o *algorithm.Outcome) (at algorithm.Instant) {
	rest := cost
	for i := range s.grants {
		used := min(rest, s.grants[i].units)
		s.grants[i].units -= used
		rest -= used
	}
	if len(s.grants) > 1 && s.grants[0].units == 0 {
		s.grants = slices.Delete(s.grants, 0, 1)
	}
	s.stats.Local++
	s.stats.Used += cost
	return s.answer(now, o)
}
