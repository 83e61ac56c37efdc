package world

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/deadline"
	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/internal/random"
	"github.com/weirgo/weir/sim/internal/traffic"
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

// identified reports whether a request is a reservation whose repeats have one ID.
func (r *reservation) identified() bool { return r != nil && !r.reserving.WithoutIDs }

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
