package linear

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// lostReplies has concurrent callers of a store that loses requests and replies ask again
// under their ID until they are answered, and judges what they were answered: no call is
// left of which nobody knows whether it was made.
func lostReplies(w *world.World) {
	w.NeedOnce()
	const callers, calls = 5, 10
	k := w.Kinds()[0]
	slots := []store.Slot{slotOf(w, "a", k)}
	if w.Can(world.NeedsOps) {
		slots = append(slots, slotOf(w, "a", w.Kinds()[3]))
	}
	for range w.Scaled(4) {
		w.StartAt(world.Start)
		w.Wrap(losing)
		w.Clock.AddPerReading(1)
		var ticks atomic.Int64
		histories := make([][]*call, callers)
		w.Concurrently(callers, func(i int) error {
			for n := range calls {
				c, err := askUntilKnown(w, slots, i, fmt.Sprintf("%d %d", i, n), &ticks)
				if err != nil {
					return err
				}
				histories[i] = append(histories[i], c)
			}
			return nil
		})
		w.Clock.AddPerReading(0)
		mustHaveAnOrder(w, slices.Concat(histories...))
	}
}

// errLost is what a caller gets whose request, or reply, is lost.
var errLost = fmt.Errorf("lost by the check: %w", store.ErrOutcomeUnknown)

// losing loses a sixth of the requests with an ID, and a sixth of the replies.
func losing(inner store.Store) store.Store {
	return store.Wrap(inner, store.Hooks{Once: func(ctx context.Context, o store.Once, ops []store.Op, next store.OnceFunc) (algorithm.Instant, bool, error) {
		switch rand.IntN(6) {
		case 0:
			return 0, false, errLost
		case 1:
			if _, _, err := next(ctx, o, slices.Clone(ops)); err != nil {
				return 0, false, err
			}
			return 0, false, errLost
		}
		return next(ctx, o, ops)
	}})
}

// askUntilKnown makes one call with an ID, as often as it takes. A store that a test cuts off
// may lose calls by itself.
func askUntilKnown(w *world.World, slots []store.Slot, caller int, id string, ticks *atomic.Int64) (*call, error) {
	c := &call{caller: caller, verb: "apply"}
	for _, s := range slots[:1+rand.IntN(len(slots))] {
		c.ops = append(c.ops, world.Op(s, rand.Int64N(3)))
	}
	once := store.FeaturesOf(w.Store).Once
	const most = 1000
	var err error
	c.began = ticks.Add(1)
	for range most {
		c.at, c.committed, err = once(context.Background(), store.Once{ID: id, TTL: time.Hour}, c.ops)
		switch {
		case err == nil:
			c.returned = ticks.Add(1)
			return c, nil
		case errors.Is(err, errLost):
		case errors.Is(err, store.ErrOutcomeUnknown), errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrContention):
			time.Sleep(time.Millisecond) // while the connection is made anew
		default:
			return nil, world.Failure{What: "a call that is made again under its ID", Got: err.Error(), Want: "an answer"}
		}
	}
	return nil, world.Failure{What: fmt.Sprintf("a call that was made %d times under its ID", most), Got: err.Error(), Want: "an answer"}
}
