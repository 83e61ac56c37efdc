package world

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/store"
)

// settlement is the end of the work, and a repeat of what settles it.
type settlement attempt

func (s *settlement) happen(w *world) {
	a := (*attempt)(s)
	r := a.reservation
	n := r.on
	switch {
	case r.handsOn:
		n = a.upNode(n)
	case n.life != r.life: // the client has crashed with its node
		w.neverSettled(a)
		return
	}
	r.settling = true
	r.tries++
	if n == nil {
		w.settled(a, weir.Settlement{}, store.ErrUnavailable)
		return
	}
	n.ask(a)
}

func (w *world) neverSettled(a *attempt) {
	w.Goals[check.NeverSettled]++
	a.load.counts().Never++
	w.leave(a)
}

// counts are the counts of the reservations of a traffic.
func (l *load) counts() *result.Reservations {
	if l.result.Reservations == nil {
		l.result.Reservations = &result.Reservations{}
	}
	return l.result.Reservations
}

// settle settles a reservation.
func (n *node) settle(ctx context.Context, a *attempt) {
	w, r := n.world, a.reservation
	if r.reserving.WithoutIDs {
		n.settlePlainly(ctx, a)
		return
	}
	if r.on != n || r.life != n.life {
		var limits []weir.Limit
		for _, l := range w.Limits {
			limits = append(limits, named(l))
		}
		held, err := n.multi.Resume(r.text, limits...)
		if err != nil {
			w.Fail(check.Reservations, "a reservation cannot be resumed: %v", err)
			return
		}
		w.Goals[check.Resumed]++
		a.load.counts().Resumed++
		r.held, r.on, r.life = held, n, n.life
	}
	var s weir.Settlement
	err := weir.Resolve(ctx, func(ctx context.Context) (err error) {
		if r.cancels {
			s.Charged = make([]int64, len(r.asks))
			return r.held.Cancel(ctx)
		}
		s, err = r.held.Settle(ctx, slices.Repeat([]int64{r.actual}, len(r.asks))...)
		return err
	})
	w.settled(a, s, err)
}

// settlePlainly settles without an ID: what the difference is is given back, or charged.
func (n *node) settlePlainly(ctx context.Context, a *attempt) {
	w, r := n.world, a.reservation
	var asks []weir.Ask
	for _, ask := range r.asks {
		switch {
		case r.actual < r.estimate:
			asks = append(asks, ask.Limit.Refund(ask.Key, r.estimate-r.actual, r.takenAt))
		case r.actual > r.estimate:
			asks = append(asks, ask.Limit.Charge(ask.Key, r.actual-r.estimate))
		}
	}
	if asks == nil {
		w.settled(a, weir.Settlement{}, nil)
		return
	}
	answer, err := n.multi.Take(ctx, asks...)
	if w.over {
		return
	}
	r.note(asks, &answer, err)
	w.settled(a, weir.Settlement{}, err)
}

// settled takes how a try to settle has ended.
func (w *world) settled(a *attempt, s weir.Settlement, err error) {
	if w.over {
		return
	}
	r := a.reservation
	var debt *weir.DebtError
	switch {
	case err == nil:
		w.knows(a, s)
		if first := r.first; r.held != first.held && first.on.life == first.life && first.on.down == 0 {
			r.cleans = true
			a.node = first.on
			w.queue.plan(w.Now, (*cleanup)(a))
			return
		}
	case errors.Is(err, weir.ErrSettled):
		if r.other = true; !r.handsOn {
			w.Fail(check.Reservations, "a reservation with one holder was settled by another: %v", err)
		}
	case errors.As(err, &debt):
	case r.tries < r.Attempts:
		w.queue.plan(w.Now+micros(r.Pause), (*settlement)(a))
		return
	}
	if err != nil {
		a.load.counts().Unsure++
	}
	w.leave(a)
}

// cleanup is the Cancel of who reserved, after another node has settled: it must do nothing.
type cleanup attempt

func (c *cleanup) happen(w *world) {
	if a := (*attempt)(c); a.node.life == a.reservation.first.life && a.node.down == 0 {
		a.node.ask(a)
	} else {
		w.leave(a)
	}
}

func (n *node) clean(ctx context.Context, a *attempt) {
	w := n.world
	err := weir.Resolve(ctx, a.reservation.first.held.Cancel)
	if w.over {
		return
	}
	if o, _ := classify(true, false, 0, err); o.class == failed && !errors.Is(err, store.ErrUnavailable) {
		w.Fail(check.Reservations, "to cancel a reservation that another node has settled is an error: %v", err)
	}
	w.checkReserved(a.reservation)
	w.leave(a)
}

// knows checks what a settlement says.
func (w *world) knows(a *attempt, s weir.Settlement) {
	r := a.reservation
	r.Close()
	l := a.load.counts()
	l.Settled++
	l.Cancelled += check.One(r.cancels)
	l.Clamped += check.One(s.Clamped)
	check.AddUnits(&l.ActualUnits, r.actual)
	if r.reserving.WithoutIDs {
		return
	}
	for i, charged := range s.Charged {
		w.Goals[check.IntoDebt] += check.One(charged > r.estimate && s.Decisions != nil && s.Decisions[i].Debt > 0)
		clamps := s.Clamped && !w.scenario.Nodes.SettleIntoDebt && charged >= r.estimate && charged <= r.actual
		if charged != r.actual && !clamps {
			w.Fail(check.Reservations, "a settlement of %d units for an estimate of %d says that %d are charged, and clamped is %t", r.actual, r.estimate, charged, s.Clamped)
		}
	}
	w.Goals[check.Clamped] += check.One(s.Clamped)
	r.charged = s.Charged
	w.checkReserved(r)
}

// checkReserved compares what the servers have charged for a reservation with what its client knows.
func (w *world) checkReserved(r *reservation) {
	one := func(units int64) func(int, int64) bool {
		return func(_ int, net int64) bool { return net == units }
	}
	switch {
	case r.reserving.WithoutIDs:
		if r.Net != nil && r.Net[0] > r.sure {
			w.Goals[check.LostTwice]++
		}
		w.VerifyReserved(&r.Reserved, fmt.Sprintf("without IDs, of which the client knows %d, %d more were asked for by calls without an answer, and %d less", r.sure, r.more, r.less),
			func(_ int, net int64) bool { return net >= r.sure-r.less && net <= r.sure+r.more })
	case r.charged != nil:
		w.VerifyReserved(&r.Reserved, fmt.Sprintf("that was settled to %v units, with an estimate of %d", r.charged, r.estimate),
			func(slot int, net int64) bool { return net == r.charged[slot] })
		if r.Net == nil && r.made && slices.Max(r.charged) > 0 {
			w.Fail(check.Reservations, "nothing is charged for a reservation that was settled to %v units", r.charged)
		}
	case !r.settling:
		w.VerifyReserved(&r.Reserved, fmt.Sprintf("that was never settled, with an estimate of %d", r.estimate), one(r.estimate))
	default: // the client does not know, or another one does
		low, high := min(r.estimate, r.actual), max(r.estimate, r.actual)
		some := r.actual > r.estimate && !w.scenario.Nodes.SettleIntoDebt // the excess is clamped
		w.VerifyReserved(&r.Reserved, fmt.Sprintf("of %d units with an estimate of %d, of whose settlement nothing is known", r.actual, r.estimate),
			func(_ int, net int64) bool { return net == low || net == high || some && net > low && net < high })
	}
}

// checkReservations checks all reservations in the end, and the slots whose reservations are all
// settled.
func (w *world) checkReservations(ctx context.Context) error {
	for _, r := range w.reservations {
		w.checkReserved(r)
	}
	if !w.Reserves {
		return nil
	}
	for _, s := range w.slots() {
		v := w.servers[s.Server]
		ops := []store.Op{{Slot: store.Slot{Key: s.Key, Limit: s.Limit.Name, Algorithm: s.Limit.Algorithm}}}
		at, err := v.peek(ctx, w.nodes[0].clock.read(w.Now), ops)
		if err != nil {
			return fmt.Errorf("sim: peek at the end: %w", err)
		}
		w.VerifySettled(s, int64(at), ops[0].Outcome.Remaining)
	}
	return nil
}

// indebted returns for how many µs longer than a limit takes to become fresh the debts of a server's slots may
// last.
func (w *world) indebted(server int) (longest int64) {
	for _, s := range w.slots() {
		if s.Server == server {
			longest = max(longest, s.Indebted())
		}
	}
	return longest
}
