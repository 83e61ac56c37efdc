// Package linear records what concurrent callers ask and what they are answered, and
// looks for an order of the calls in which the pure functions give the answers.
package linear

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// Checks returns the checks of this package. The clock moves on with each reading.
func Checks() []world.Check {
	var checks []world.Check
	for _, k := range world.Kinds() {
		checks = append(checks, world.Check{
			Name: "linear/one-slot/" + k.Name, Property: "H1 H3", Needs: k.Needs,
			Rule: "there is an order of concurrent takes, looks and resets of one slot in which Step gives every answer",
			Body: func(w *world.World) { run(w, []store.Slot{slotOf(w, "a", k)}, 1) },
		})
	}
	checks = append(checks, world.Check{
		Name: "linear/lost-replies", Property: "D1 D3 H1",
		Rule: "where requests and replies are lost, callers who ask again under their ID are all answered, and there is an order of their steps, each of them made once",
		Body: lostReplies,
	})
	return append(checks, world.Check{
		Name: "linear/several-slots", Property: "H1 X1", Needs: world.NeedsKeys,
		Rule: "there is an order of concurrent takes, looks and resets of overlapping sets of slots in which each is one step",
		Body: func(w *world.World) {
			var slots []store.Slot
			for i, k := range w.Kinds() {
				slots = append(slots, slotOf(w, string(rune('a'+i%2)), k))
			}
			for _, some := range [][]store.Slot{slots[:3], slots[2:], slots} {
				run(w, some, 3)
			}
		},
	})
}

// slotOf is a slot that fills up while a history runs, so that calls are admitted
// and denied in turn.
func slotOf(w *world.World, key string, k world.Kind) store.Slot {
	switch {
	case k.Name == world.Custom:
		return world.SlotOf(key, "l", world.NewCooldown(3, 5))
	case w.OwnClock:
		return world.SlotOf(key, "l", world.Limit(k.Name+":4/1ms"))
	}
	return world.SlotOf(key, "l", world.Limit(k.Name+":4/40us"))
}

// call is one call of a history, and its answer.
type call struct {
	caller          int
	began, returned int64 // ticks of a counter that all callers share
	verb            string
	ops             []store.Op
	at              algorithm.Instant
	committed       bool
	pending         bool // it had not returned; it may have had its effect or not
}

// changes reports whether the call may have changed a state.
func (c *call) changes() bool {
	return c.verb == "reset" || c.verb == "apply" && c.committed && slices.ContainsFunc(c.ops, func(op store.Op) bool { return op.Request.Cost > 0 })
}

// run has concurrent callers use slots, up to most in one call, and judges what
// they were answered.
func run(w *world.World, slots []store.Slot, most int) {
	const callers, calls = 6, 16
	for range w.Scaled(5) {
		w.StartAt(world.Start)
		w.Clock.AddPerReading(1)
		var ticks atomic.Int64
		histories := make([][]*call, callers)
		w.Concurrently(callers, func(i int) error {
			random := rand.New(rand.NewPCG(rand.Uint64(), 0))
			for range calls {
				made, err := makeCall(w, slots, most, i, random, &ticks)
				if err != nil {
					return err
				}
				histories[i] = append(histories[i], made...)
			}
			return nil
		})
		w.Clock.AddPerReading(0)
		mustHaveAnOrder(w, slices.Concat(histories...))
	}
}

// makeCall makes one call and records it. A Reset of several slots need not be one
// step: it is recorded as one call for each.
func makeCall(w *world.World, slots []store.Slot, most, caller int, random *rand.Rand, ticks *atomic.Int64) ([]*call, error) {
	c := &call{caller: caller}
	first, n := random.IntN(len(slots)), 1+random.IntN(min(most, len(slots)))
	for i := range n {
		op := world.Op(slots[(first+i)%len(slots)], 1)
		if random.IntN(3) == 0 {
			op.Request.Cost = int64(random.IntN(6))
		}
		c.ops = append(c.ops, op)
	}
	var err error
	from := w.Clock.Instant()
	c.began = ticks.Add(1)
	ctx := context.Background()
	switch kind := random.IntN(10); {
	case kind == 0:
		c.verb = "reset"
		slots := make([]store.Slot, n)
		for i, op := range c.ops {
			slots[i] = op.Slot
		}
		err = w.Store.Reset(ctx, slots)
	case kind <= 2:
		c.verb = "peek"
		c.at, err = w.Store.Peek(ctx, c.ops)
	default:
		c.verb = "apply"
		for tries := 0; tries == 0 || errors.Is(err, store.ErrContention) && tries < 1000; tries++ {
			c.began = ticks.Add(1) // a call that gave up has changed nothing
			c.at, c.committed, err = apply(w, c.ops, caller)
		}
	}
	c.returned = ticks.Add(1)
	to := w.Clock.Instant()
	if err != nil {
		return nil, world.Failure{What: "a concurrent " + c.verb, Got: err.Error(), Want: "no error"}
	}
	if c.verb != "reset" {
		if !w.OwnClock && (c.at < from || c.at > to) {
			return nil, world.Failure{What: "the instant of a concurrent " + c.verb, Got: fmt.Sprint(c.at), Want: fmt.Sprintf("%v to %v, which the clock showed meanwhile", from, to)}
		}
		return []*call{c}, nil
	}
	var each []*call
	for _, op := range c.ops {
		one := *c
		one.ops = []store.Op{op}
		each = append(each, &one)
	}
	return each, nil
}

// apply is Apply, or for half of the callers and single ops a Bound.
func apply(w *world.World, ops []store.Op, caller int) (algorithm.Instant, bool, error) {
	if len(ops) == 1 && caller%2 == 1 {
		if bind := store.FeaturesOf(w.Store).Bind; bind != nil {
			b, err := bind(ops[0].Limit, ops[0].Algorithm)
			if err != nil {
				return 0, false, err
			}
			o, at, err := b.Apply(context.Background(), ops[0].Key, ops[0].Request)
			ops[0].Outcome = o
			return at, o.Allowed, err
		}
	}
	return w.Store.Apply(context.Background(), ops)
}
