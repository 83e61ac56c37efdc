package main

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/cmd/weir/internal/trace"
	"github.com/weirgo/weir/store"
)

// settleFlags say which costs of a trace are known at its start and which at its end.
type settleFlags struct {
	SettleColumn   string `placeholder:"NAME" help:"CSV, JSON: the column or member of the actual cost, which counts at the end of a request. Without --reserve-column a request is admitted where one unit is left."`
	ReserveColumn  string `placeholder:"NAME" help:"With --settle-column: the column or member of the cost that is reserved at the start."`
	DurationColumn string `placeholder:"NAME" help:"With --settle-column: how long a request took: CSV in --time-unit or seconds, JSON Lines in µs (default: 0, or as the format tells)."`
	SettleIntoDebt bool   `help:"With --reserve-column: count all of an excess over the reserved cost (default: as much as is left)."`
}

// check refuses flags that do not go together. Those that name columns are for the trace.
func (f *settleFlags) check(policies int) error {
	switch {
	case f.SettleIntoDebt && f.ReserveColumn == "":
		return usageError{errors.New("--settle-into-debt is for --reserve-column: must be left out")}
	case f.SettleColumn != "" && policies > 0:
		return usageError{errors.New("--settle-column is for --limit: must be left out with --policy")}
	}
	return nil
}

// reservations decide the requests of a trace whose costs are known at their end. A
// request that ends is settled before one that starts at the same instant.
type reservations struct {
	limiter *weir.Limiter
	known   *weir.Limiter // is asked for the actual costs at the start
	clock   *traceClock
	pending pendingHeap
	started int64
	sum     report.Settlement
	budgets []keyBudget // by the number of the key
}

// keyBudget is how long a key was in use, and its capacity.
type keyBudget struct{ first, last, capacity int64 }

// pending is an admitted request that has not ended.
type pending struct {
	event  trace.Event
	taken  time.Time
	number int64 // in the order of the starts
}

// newReservations takes the slots of a limit and of its copy with known costs.
func newReservations(states store.Store, limit, known store.Slot, clock *traceClock, flags settleFlags) (*reservations, error) {
	r := &reservations{clock: clock, sum: report.Settlement{Reserves: flags.ReserveColumn != "", IntoDebt: flags.SettleIntoDebt || flags.ReserveColumn == ""}}
	var err error
	if r.limiter, err = newLimiter(states, limit); err != nil {
		return nil, err
	}
	r.known, err = newLimiter(states, known)
	return r, err
}

// start settles what has ended, and decides a request.
func (r *reservations) start(ctx context.Context, e trace.Event) (weir.Decision, error) {
	if err := r.settleUntil(ctx, e.At); err != nil {
		return weir.Decision{}, err
	}
	r.clock.now = algorithm.Instant(e.At)
	known, err := r.known.AllowN(ctx, e.Key, e.Actual)
	if err != nil {
		return weir.Decision{}, err
	}
	var d weir.Decision
	if r.sum.Reserves {
		d, err = r.limiter.AllowN(ctx, e.Key, e.Cost)
	} else {
		d, err = r.limiter.PeekN(ctx, e.Key, 1)
	}
	if err != nil {
		return d, err
	}
	r.sum.Add(e.Cost, e.Actual, d.Allowed, known.Allowed)
	r.sum.HasEnds = r.sum.HasEnds || e.End > e.At
	r.use(e, d.Limit)
	if !d.Allowed {
		return d, nil
	}
	p := pending{e, d.At, r.started}
	r.started++
	if e.End > e.At {
		heap.Push(&r.pending, p)
		return d, nil
	}
	return d, r.settle(ctx, p)
}

// use notes when a key was in use.
func (r *reservations) use(e trace.Event, capacity int64) {
	for e.KeyIndex >= len(r.budgets) {
		r.budgets = append(r.budgets, keyBudget{first: math.MaxInt64})
	}
	b := &r.budgets[e.KeyIndex]
	b.first, b.last, b.capacity = min(b.first, e.At), max(b.last, e.At), capacity
}

// settleUntil settles all that ends at an instant or before, in the order of the ends.
func (r *reservations) settleUntil(ctx context.Context, at int64) error {
	for len(r.pending) > 0 && r.pending[0].event.End <= at {
		p := heap.Pop(&r.pending).(pending)
		r.clock.now = algorithm.Instant(p.event.End)
		if err := r.settle(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// settle replaces the cost that was reserved by the actual cost, as
// weir.Reservation.Settle does. It needs no ID: an error ends the replay.
func (r *reservations) settle(ctx context.Context, p pending) error {
	e := p.event
	excess := e.Actual - e.Cost
	d, err := weir.Decision{}, error(nil)
	switch {
	case excess < 0:
		d, err = r.limiter.Refund(ctx, e.Key, -excess, p.taken)
		excess = 0
	case r.sum.IntoDebt:
		d, err = r.limiter.Charge(ctx, e.Key, excess)
		excess = 0
	default:
		for n := excess; n > 0 && err == nil; n = min(n-1, d.Remaining) {
			if d, err = r.limiter.AllowN(ctx, e.Key, n); d.Allowed {
				excess -= n
				break
			}
		}
	}
	if tooDeep := (*weir.DebtError)(nil); errors.As(err, &tooDeep) {
		return inputError{fmt.Errorf("a cost of %d units: %w", e.Actual, err)}
	}
	if err != nil {
		return err
	}
	r.sum.Settle(excess, d.Debt)
	return nil
}

// finish settles what is left, and completes the sum.
func (r *reservations) finish(ctx context.Context) error {
	if err := r.settleUntil(ctx, math.MaxInt64); err != nil {
		return err
	}
	spec := r.limiter.Limit().Algorithm.Spec()
	family, _ := algorithm.FamilyOf(spec.Kind)
	rate, _ := family.Parameters(spec)
	for _, b := range r.budgets {
		switch {
		case b.last < b.first:
		case family.Calendar: // whole windows
			r.sum.AddBudget(family.Bound(spec, time.Duration(b.last-b.first)*time.Microsecond))
		default:
			high, low := bits.Mul64(uint64(rate.Units), uint64(b.last-b.first))
			r.sum.AddBudget(b.capacity)
			r.sum.AddBudget(quotient(high, low, uint64(rate.Per/time.Microsecond)))
		}
	}
	return nil
}

// quotient divides a product, and stops at the largest int64.
func quotient(high, low, by uint64) int64 {
	if high >= by {
		return math.MaxInt64
	}
	q, _ := bits.Div64(high, low, by)
	return int64(min(q, math.MaxInt64))
}

// pendingHeap has the request that ends first at 0, of those that end together the one that started first. A sorted list would
// move half of all that wait for each request.
type pendingHeap []pending

func (h pendingHeap) Len() int      { return len(h) }
func (h pendingHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *pendingHeap) Push(p any)   { *h = append(*h, p.(pending)) }

func (h pendingHeap) Less(i, j int) bool {
	return h[i].event.End < h[j].event.End || h[i].event.End == h[j].event.End && h[i].number < h[j].number
}

func (h *pendingHeap) Pop() any {
	last := len(*h) - 1
	p := (*h)[last]
	*h = (*h)[:last]
	return p
}
