package weir

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// ErrSettled: the Reservation was settled before, with other costs or by another process.
// Nothing was changed.
var ErrSettled = errors.New("weir: the reservation is settled")

// Reservation is an estimate that was taken, whose actual cost is not known yet: see
// Limiter.Reserve. It is safe for concurrent use. Settle replaces the estimate with the
// actual cost; a Reservation that is never settled keeps its estimate.
//
// It settles once. A call whose outcome is unknown (store.ErrOutcomeUnknown) is made again
// by the next call, and by Resolve, and counts once; so does a call in another process,
// for as long as Options.IDTTL after the first. A settlement that changes nothing, as to the
// estimate itself, is sent only where somebody else may hold the Reservation: after
// MarshalText, where Resume made it, and where its asks have an ID.
type Reservation struct {
	multi  *MultiLimiter
	guard  *guard // of the store that took the estimate; nil where none did
	id     string
	asks   []Ask
	result Result
	turn   chan struct{} // holds one token: the right to do what follows

	shared  bool        // somebody else may hold it
	known   bool        // whether result is the outcome of the take
	settled *Settlement // nil until it is settled
	actual  []int64     // of settled, and of pending
	pending []Ask       // a settlement whose outcome is unknown
}

// Settlement is what came of a Reservation.
type Settlement struct {
	// Charged is what the Reservation costs in the end, for each limit: the actual costs,
	// but for what was clamped.
	Charged []int64
	// Clamped reports that a limit had less left than the excess over the estimate, which
	// was not taken further: see Options.SettleIntoDebt.
	Clamped bool
	// Degraded reports that no store has counted the estimate, so that there was nothing to settle.
	Degraded bool
	// Decisions are how the limits stand afterwards; nil where nothing was sent.
	Decisions []Decision
}

// Reserve takes n units, an estimate, as AllowN does. A denied Reservation has taken nothing
// and is no error. The actual cost is told to Settle, later; Cancel gives all back.
//
// An error comes with a nil Reservation, but for one that matches store.ErrOutcomeUnknown:
// then Settle and Cancel find out first what came of the take, and take the estimate where it
// was not taken. An algorithm that is no algorithm.Charger is refused, and a store that knows no IDs gives
// store.ErrUnsupported.
//
// Where OnFailure answered in place of the store, the Reservation is settled where it was taken: with FailLocal in
// Options.Local, with FailOpen nowhere. A settlement itself has no failure mode: it counts in
// the store of the estimate, or is an error and may be tried again.
func (l *Limiter) Reserve(ctx context.Context, key string, n int64) (*Reservation, error) {
	return l.multi.Reserve(ctx, l.Limit().ForN(key, n))
}

// Reserve takes what all asks ask for, as Take does, all or nothing, as estimates of costs
// that are told to Settle later: one for each ask. See Limiter.Reserve. The asks are takes
// of an algorithm.Charger. Those with an ID (Ask.ID) reserve once, however often
// they are asked for; without one the Reservation has an ID of its own.
func (m *MultiLimiter) Reserve(ctx context.Context, asks ...Ask) (*Reservation, error) {
	if err := reservable(asks); err != nil {
		return nil, err
	}
	id, err := idOf(asks)
	if err != nil {
		return nil, err
	}
	shared := id != ""
	if !shared {
		id = NewID()
	}
	r := &Reservation{multi: m, guard: &m.guard, id: id, shared: shared, asks: Once(id, asks...), turn: make(chan struct{}, 1)}
	if err := r.take(ctx); err != nil && !errors.Is(err, store.ErrOutcomeUnknown) {
		return nil, err
	} else if err != nil {
		return r, err
	}
	return r, nil
}

// reservable refuses asks that cannot be settled.
func reservable(asks []Ask) error {
	for i := range asks {
		if err := asks[i].Limit.check(i); err != nil {
			return err
		}
		if v := asks[i].Verb; v != algorithm.Take {
			return &store.InputError{Op: i, Field: "Ask.Verb", Value: v.String(), Allowed: "take: a charge and a refund are not reserved"}
		}
		if a := asks[i].Limit.Algorithm; !isCharger(a) {
			return &store.InputError{Op: i, Field: "Limit.Algorithm", Value: a.Spec().Kind, Allowed: "an algorithm.Charger"}
		}
	}
	return nil
}

func isCharger(a algorithm.Algorithm) bool {
	_, is := a.(algorithm.Charger)
	return is
}

// take takes the estimate.
func (r *Reservation) take(ctx context.Context) error {
	result, err := r.multi.Take(ctx, r.asks...)
	if err != nil {
		return err
	}
	r.result, r.known = result, true
	if cause := result.Decisions[0]; cause.Degraded {
		r.guard = r.multi.guard.fallbackGuard()
	}
	return nil
}

// fallbackGuard asks the store that FailLocal answers from; nil where there is none.
func (g *guard) fallbackGuard() *guard {
	if g.local == nil {
		return nil
	}
	return &guard{store: g.local, timeout: g.localTimeout, idTTL: g.idTTL, resolveWithin: g.resolveWithin}
}

// Allowed reports whether the estimate was taken.
func (r *Reservation) Allowed() bool { return r.Result().Allowed }

// Result is the answer to the take of the estimate. It has no Decisions while its outcome
// is unknown. Where Resume made the Reservation, only Allowed, At and Degraded of them are
// known.
func (r *Reservation) Result() Result {
	r.turn <- struct{}{}
	defer r.done()
	return r.result
}

// Decision is the answer of the limit that matters most: see Result.Binding.
func (r *Reservation) Decision() Decision {
	if result := r.Result(); len(result.Decisions) > 0 {
		return result.Decisions[result.Binding]
	}
	return Decision{}
}

func (r *Reservation) done() { <-r.turn }

// Settle replaces the estimates with the actual costs, one for each limit: what is left of an
// estimate is given back, and what is above it is taken as well. All limits change in one
// step. Of a limit that has less left than its excess as much as there is is taken, and
// Settlement.Clamped says so; with Options.SettleIntoDebt all of it, or a *DebtError.
//
// What is given back is given to where it was taken, as Refund says: where the actual
// cost is at most the estimate, the limit stands as if the actual cost had been taken at
// first, unless it has regained units meanwhile.
//
// To settle again with the same costs gives the same answer, with others ErrSettled. A denied
// Reservation settles to nothing. A cost below 0, or another number of costs than there are
// limits, is an error. With an error other than ErrSettled nothing is settled, unless it
// matches store.ErrOutcomeUnknown: to call Settle again finds out.
func (r *Reservation) Settle(ctx context.Context, actual ...int64) (Settlement, error) {
	if err := r.validate(actual); err != nil {
		return Settlement{}, err
	}
	select {
	case r.turn <- struct{}{}:
		defer r.done()
	case <-ctx.Done():
		return Settlement{}, ctx.Err()
	}
	return r.settle(ctx, actual)
}

// Cancel gives the estimates back: it is Settle with costs of 0, and does nothing where the
// Reservation is settled. So it can be deferred.
func (r *Reservation) Cancel(ctx context.Context) error {
	_, err := r.Settle(ctx, make([]int64, len(r.asks))...)
	if errors.Is(err, ErrSettled) {
		return nil
	}
	return err
}

func (r *Reservation) validate(actual []int64) error {
	if len(actual) != len(r.asks) {
		return &store.InputError{Op: -1, Field: "number of costs", Value: strconv.Itoa(len(actual)), Allowed: strconv.Itoa(len(r.asks)) + ", one for each limit"}
	}
	for i, n := range actual {
		if n < 0 {
			return &store.InputError{Op: i, Field: "actual", Value: strconv.FormatInt(n, 10), Allowed: "0 or more"}
		}
	}
	return nil
}

// settle is for the holder of the turn.
func (r *Reservation) settle(ctx context.Context, actual []int64) (Settlement, error) {
	if r.multi.closed.Load() {
		return Settlement{}, store.ErrClosed
	}
	if r.settled == nil && r.pending != nil {
		if _, err := r.try(ctx, r.pending, r.actual); err != nil {
			return Settlement{}, err
		}
	}
	if r.settled != nil {
		if !slices.Equal(r.actual, actual) {
			return Settlement{}, ErrSettled
		}
		return r.settled.clone(), nil
	}
	if !r.known {
		if err := r.take(ctx); err != nil {
			return Settlement{}, err
		}
	}
	r.actual = slices.Clone(actual)
	switch {
	case !r.result.Allowed:
		r.settled = &Settlement{Charged: make([]int64, len(actual))}
	case r.guard == nil:
		r.settled = &Settlement{Charged: make([]int64, len(actual)), Degraded: true}
	default:
		if err := r.settleWhatFits(ctx); err != nil {
			return Settlement{}, err
		}
	}
	return r.settled.clone(), nil
}

// settlementID follows the ID of a Reservation in that of its settlement. Nobody ends an ID
// of a Take like this by chance.
const settlementID = "\x00settle"

// maxSettleAttempts bounds how often others may take what was seen to be left.
const maxSettleAttempts = 100

// settleWhatFits takes less excess from attempt to attempt, where there is not enough left.
func (r *Reservation) settleWhatFits(ctx context.Context) error {
	asks := r.settlement()
	for range maxSettleAttempts {
		if !slices.ContainsFunc(asks, func(a Ask) bool { return a.Cost > 0 }) {
			if !r.shared {
				r.finish(asks, nil)
				return nil
			}
			for i := range asks { // refunds of no units are remembered, and looks are not
				asks[i] = asks[i].Limit.Refund(asks[i].Key, 0, r.takenAt(i))
			}
		}
		result, err := r.try(ctx, asks, r.actual)
		if err != nil || r.settled != nil {
			return err
		}
		for i := range asks {
			if asks[i].Verb == algorithm.Take {
				asks[i] = asks[i].Limit.ForN(asks[i].Key, min(r.actual[i]-r.asks[i].Cost, result.Decisions[i].Remaining))
			}
		}
	}
	return fmt.Errorf("weir: settle: %w: %d attempts", store.ErrContention, maxSettleAttempts)
}

// settlement is what changes the estimates into the actual costs.
func (r *Reservation) settlement() []Ask {
	asks := make([]Ask, len(r.asks))
	for i, reserved := range r.asks {
		switch excess := r.actual[i] - reserved.Cost; {
		case excess > 0 && r.multi.debt:
			asks[i] = reserved.Limit.Charge(reserved.Key, excess)
		case excess < 0:
			asks[i] = reserved.Limit.Refund(reserved.Key, -excess, r.takenAt(i))
		default:
			asks[i] = reserved.Limit.ForN(reserved.Key, excess)
		}
	}
	return asks
}

func (r *Reservation) takenAt(i int) time.Time { return r.result.Decisions[i].At }

// try makes one attempt. It notes a settlement that was made, and one whose outcome is
// unknown.
func (r *Reservation) try(ctx context.Context, asks []Ask, actual []int64) (Result, error) {
	start := time.Now()
	result, err := r.guard.settle(ctx, r.id+settlementID, asks)
	r.multi.observe(ctx, KindTake, asks, &result, err, time.Since(start))
	switch {
	case errors.Is(err, store.ErrOutcomeUnknown):
		r.pending = slices.Clone(asks)
	case isOutcome(err):
		r.pending = nil
	}
	if errors.Is(err, store.ErrIDReused) {
		return result, fmt.Errorf("%w: %w", ErrSettled, err)
	}
	if err == nil && result.Allowed {
		r.actual = actual
		r.finish(asks, result.Decisions)
	}
	return result, err
}

// settle takes asks under an ID, without a failure mode.
func (g *guard) settle(ctx context.Context, id string, asks []Ask) (Result, error) {
	ops, err := opsOf(asks)
	if err != nil {
		return Result{}, err
	}
	at, err := g.decideOnce(ctx, id, ops)
	if err != nil {
		return Result{}, err
	}
	return resultOf(ops, at, nil)
}

// finish notes that asks were made.
func (r *Reservation) finish(asks []Ask, decisions []Decision) {
	s := &Settlement{Charged: make([]int64, len(asks)), Decisions: decisions}
	for i, a := range asks {
		s.Charged[i] = r.asks[i].Cost + a.Cost
		if a.Verb == algorithm.Refund {
			s.Charged[i] = r.asks[i].Cost - a.Cost
		}
		s.Clamped = s.Clamped || s.Charged[i] < r.actual[i]
	}
	r.settled = s
}

func (s *Settlement) clone() Settlement {
	return Settlement{slices.Clone(s.Charged), s.Clamped, s.Degraded, slices.Clone(s.Decisions)}
}
