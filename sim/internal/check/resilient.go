package check

import (
	"math"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/sim/internal/model"
	"github.com/weirgo/weir/store"
)

// Cached checks the answer that a deny cache gave in place of the server: a denial, where the
// server would deny at that instant, with a wait that is no longer than the server's.
func (c *Checker) Cached(ops []store.Op, slots []*Slot) {
	for i := range ops {
		o, s, cost := &ops[i].Outcome, slots[i], ops[i].Request.Cost
		c.Goals[DeniedByCache]++
		if o.Allowed || o.RetryAfter <= 0 {
			c.Fail(DenyCache, "allowed %t, and retry after %v, without the server", o.Allowed, o.RetryAfter)
		}
		if s.lossy || s.losses > 0 || c.ClocksVary || c.ClocksDrift || s.state != nil && s.state.several {
			continue // the server may know less than it did, or what another limit has left, or its clock may be ahead of the wait
		}
		at := s.clock(c).Read()
		if s.model.Room(at, cost) {
			c.Fail(DenyCache, "a cost of %d was denied without the server, which has room for it", cost)
		}
		if wait := s.model.Retry(at, cost); micros(o.RetryAfter) > wait && !c.ClocksDiffer {
			c.Fail(DenyCache, "RetryAfter without the server is %d µs, and the server's is %d µs", micros(o.RetryAfter), wait)
		}
	}
}

// LocalLimit is what a limit is in the local store of a node.
type LocalLimit struct {
	*model.Limit
	bound func(interval time.Duration) int64
}

// NewLocalLimit returns what the limit is in the local store of one of k nodes: rate and burst,
// or the count of a window, divided by k, at least 1.
func NewLocalLimit(l *Limit, k int64) (*LocalLimit, error) {
	spec := l.Algorithm.Spec()
	family, _ := algorithm.FamilyOf(spec.Kind)
	rate, capacity := family.Parameters(spec)
	capacity = max(1, capacity/k)
	var a algorithm.Algorithm
	var err error
	if family.Option == "" || rate.Per > algorithm.MaxPeriod/time.Duration(k) {
		a, err = family.With(spec, max(1, rate.Units/k), capacity)
	} else {
		rate.Per *= time.Duration(k)
		a, err = family.Build(rate, capacity)
	}
	if err != nil {
		return nil, err
	}
	m, err := model.New(a)
	if err != nil {
		return nil, err
	}
	return &LocalLimit{m, func(interval time.Duration) int64 { return family.Bound(a.Spec(), interval) }}, nil
}

// admittedLocally checks the bound of the failure mode local: all nodes together. at is when the local store
// decided.
func (c *Checker) admittedLocally(s *Slot, cost, at int64) {
	f := s.Limit.Local
	if f == nil || c.ClocksVary || c.ClocksDrift || s.state != nil && (s.state.several || s.state.locally) {
		return // what a limit admits depends on the others that had the state
	}
	if s.locally == 0 {
		s.localSince = at
	}
	s.localSince = min(s.localSince, at)
	AddUnits(&s.locally, cost)
	one := f.bound(time.Duration(c.Now-s.localSince) * time.Microsecond)
	if one > math.MaxInt64/4/(c.Nodes+c.Crashes) {
		return // no sum of units reaches it
	}
	if bound := c.Nodes*one + c.Crashes*f.Capacity; s.locally > bound {
		c.Fail(LocalSum, "%d nodes have admitted %d units by their local stores in %d µs, and their limits allow %d", c.Nodes, s.locally, c.Now-s.localSince, bound)
	}
}
