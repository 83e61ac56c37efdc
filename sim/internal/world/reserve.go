package world

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/deadline"
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/internal/traffic"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
	"github.com/weirgo/weir/store"
)

// reserving is what a traffic whose costs are estimates draws from; for each server, so that what one draws
// does not move another.
type reserving struct {
	scenario.Reserve
	actual []traffic.Costs // nil where it is the estimate
	work   traffic.Delay
	draw   []*random.Stream // of work
	fate   []*random.Stream
}

func newReserving(l *load, streams random.Streams) *reserving {
	if l.Reserve == nil {
		return nil
	}
	r := &reserving{Reserve: scenario.Complete(*l.Reserve), work: traffic.NewDelay(l.Reserve.Work)}
	streams = streams.Under("reserve")
	for i := range l.world.servers {
		if !reflect.ValueOf(r.Actual).IsZero() {
			r.actual = append(r.actual, traffic.NewCosts(r.Actual, streams.Stream(streamOf("actual", i))))
		}
		r.draw = append(r.draw, streams.Stream(streamOf("work", i)))
		r.fate = append(r.fate, streams.Stream(streamOf("fate", i)))
	}
	return r
}

// reservation is a request whose cost is known when it is over.
type reservation struct {
	check.Reserved
	*reserving
	id       string
	estimate int64
	actual   int64 // 0 where it is cancelled
	cancels  bool
	crashes  bool // before it is settled
	handsOn  bool // to other nodes

	// Of the client.
	asks     []weir.Ask
	held     *weir.Reservation // by the node on; nil without IDs
	on       *node
	life     int    // of it
	first    holder // who reserved
	text     []byte
	takenAt  time.Time
	made     bool // the client knows that the estimate is taken
	settling bool
	cleans   bool // see cleanup
	tries    int64
	charged  []int64 // what the settlement said, for each limit; nil where that is not known
	other    bool    // another holder has settled it

	// Without IDs: what the client knows to be charged, and the units of takes, and of refunds, that the
	// servers may have made as well.
	sure, more, less int64
}

// holder is who holds a reservation, in a process that lives.
type holder struct {
	held *weir.Reservation
	on   *node
	life int
}

// reserve draws what will become of a request whose cost is an estimate.
func (w *world) reserve(a *attempt) {
	from := a.load.reserving
	if from == nil {
		return
	}
	server := a.client.server
	r := &reservation{reserving: from, id: fmt.Sprintf("%s %d", a.load.Name, len(w.reservations)), estimate: a.cost, actual: a.cost}
	if from.actual != nil {
		r.actual = from.actual[server].Cost()
	}
	fate := from.fate[server]
	r.cancels, r.crashes, r.handsOn = fate.Millionths(int64(r.Cancel)), fate.Millionths(int64(r.Crash)), fate.Millionths(int64(r.HandOver))
	if r.cancels {
		r.actual = 0
	}
	r.Never, r.Keeps = r.crashes, r.actual
	if r.crashes {
		r.Keeps = r.estimate
	}
	r.Reserved.WithoutIDs = r.reserving.WithoutIDs
	for i, l := range w.Limits {
		r.asks = append(r.asks, named(l).ForN(a.client.slots[i].Key, a.cost))
	}
	w.reservations = append(w.reservations, r)
	a.reservation = r
}

// known is the reservation as the checker knows it; nil for none.
func (r *reservation) known() *check.Reserved {
	if r == nil {
		return nil
	}
	r.Settling = r.settling
	return &r.Reserved
}

// reserved returns the reservation that is decided; nil for none.
func (w *world) reserved() *reservation {
	if a := w.current(); a != nil {
		return a.reservation
	}
	return nil
}

// reserve runs an attempt to reserve, or to settle, through the code under test.
func (n *node) reserve(a *attempt) {
	w, r := n.world, a.reservation
	ctx := w.patient(n, r.ResolveWithin)
	switch {
	case r.cleans:
		n.clean(ctx, a)
		return
	case r.settling:
		n.settle(ctx, a)
		return
	}
	multi, life := n.multi, n.life
	var held *weir.Reservation
	err := weir.Resolve(ctx, func(ctx context.Context) (err error) {
		held, err = multi.Reserve(ctx, weir.Once(r.id, r.asks...)...)
		return err
	})
	if w.over {
		return
	}
	answer := weir.Result{}
	if err == nil {
		r.held, r.on, r.life = held, n, life
		answer = held.Result()
	}
	if err == nil && answer.Allowed && r.handsOn {
		if r.text, err = held.MarshalText(); err != nil {
			w.act(fmt.Errorf("sim: reservation: %w", err))
		}
	}
	if w.together || err != nil {
		w.decidedTogether(a, &answer, err)
		return
	}
	w.decided(a, &answer.Decisions[0], nil)
}

// errPatience ends what a client finds out about a call.
var errPatience = errors.New("sim: the client waits no longer")

// patient is a context in which Resolve goes on for as long as a client wants to know.
func (w *world) patient(n *node, within time.Duration) context.Context {
	until, life := w.Now+micros(within), n.life
	return deadline.WithPauser(context.Background(), func(d time.Duration) error {
		c, wakes := w.running, w.Now+max(1, micros(d))
		if c == nil || wakes > until {
			return errPatience
		}
		w.queue.plan(wakes, (*awakening)(c))
		if err := c.wait(); err != nil {
			return err
		}
		if n.life != life { // the process that waited is no more
			return errCrashed
		}
		return nil
	})
}

// took notes the answer to a take without an ID.
func (r *reservation) took(answer *weir.Result, err error) {
	if r == nil {
		return
	}
	r.note(r.asks, answer, err)
	if err == nil && answer.Allowed {
		r.takenAt = answer.Decisions[0].At
	}
}

// note notes what the client knows of a call without an ID.
func (r *reservation) note(asks []weir.Ask, answer *weir.Result, err error) {
	cost, back := asks[0].Cost, asks[0].Verb == algorithm.Refund
	o, _ := classify(answer.Allowed, false, 0, err)
	switch {
	case o.class == unknown && back:
		r.less += cost
	case o.class == unknown:
		r.more += cost
	case o.class == admitted && back:
		r.sure -= cost
	case o.class == admitted:
		r.sure += cost
	}
}

// twice notes that a server has made a call without an ID once more.
func (r *reservation) twice(ops []store.Op) {
	switch {
	case r == nil || !r.reserving.WithoutIDs:
	case ops[0].Request.Verb == algorithm.Refund:
		r.less += ops[0].Request.Cost
	default:
		r.more += ops[0].Request.Cost
	}
}

// work begins the work of a request that was admitted.
func (w *world) work(a *attempt, delay int64) {
	r := a.reservation
	r.made, r.on, r.life = true, a.node, a.node.life
	r.first = holder{r.held, r.on, r.life}
	l := a.load.counts()
	l.Made++
	check.AddUnits(&l.EstimatedUnits, r.estimate)
	if r.crashes {
		w.neverSettled(a)
		return
	}
	w.queue.plan(w.Now+delay+r.reserving.work(r.draw[a.client.server]), (*settlement)(a))
}

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
