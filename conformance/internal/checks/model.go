package checks

import (
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/draw"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

func randomHistories(w *world.World) {
	w.Search(func(t *draw.T) {
		starts := []algorithm.Instant{
			0, 1, 999, 1 << 50, 1<<50 - 1, world.Start, world.Start - 1, world.Start + 123_456, algorithm.MaxInstant - 400*24*3600*world.Second,
		}
		h := &history{t: t}
		h.World = w.Anew(t, starts[h.number("start", 0, len(starts)-1)])
		h.paths = h.Paths()
		for range h.number("events", 1, 40) {
			h.event()
		}
	})
}

// history draws what happens to a store. Keys, names and limits are few, so that
// calls meet; parameters change as different limits of one kind are drawn for a slot.
type history struct {
	*world.World
	t     *draw.T
	paths []world.Path
	last  []store.Op // of the last call, with the answers
	taken draw.Instants
}

func (h *history) number(label string, from, to int) int { return draw.Number(h.t, label, from, to) }

func (h *history) event() {
	h.Path = h.paths[h.number("path", 0, len(h.paths)-1)]
	kind := h.number("event", 0, 9)
	if kind < 3 {
		h.SetClock(h.reading())
		return
	}
	ops := h.ops()
	switch kind {
	case 3:
		h.Peek(ops...)
	case 4:
		slots := make([]store.Slot, len(ops))
		for i, op := range ops {
			slots[i] = op.Slot
		}
		h.Reset(slots...)
		return
	default:
		h.Apply(ops...)
	}
	h.last = ops
}

// ops draws one to five ops of different slots.
func (h *history) ops() []store.Op {
	var ops []store.Op
	places := map[store.SlotID]bool{}
	most := 5
	if !h.Can(world.NeedsOps) {
		most = 1
	}
	for range h.number("ops", 1, most) {
		s := h.slot()
		if len(ops) > 0 && !h.Can(world.NeedsKeys) {
			s.Key = ops[0].Key
		}
		if place := s.ID(); !places[place] {
			places[place] = true
			if h.Doubtful(s) {
				h.Reset(s)
			}
			ops = append(ops, store.Op{Slot: s, Request: h.request(s)})
		}
	}
	return ops
}

func (h *history) slot() store.Slot {
	if n := len(h.last); n > 0 && h.number("slot", 0, 1) == 0 {
		return h.last[h.number("again", 0, n-1)].Slot
	}
	kinds := h.Kinds()
	k := kinds[h.number("kind", 0, len(kinds)-1)]
	return world.SlotOf(
		[]string{"a", "b", "\x00{b}:"}[h.number("key", 0, 2)],
		[]string{"", "l"}[h.number("name", 0, 1)],
		k.Limits[h.number("limit", 0, len(k.Limits)-1)],
	)
}

// request draws a request for a slot in the state that it is in.
func (h *history) request(s store.Slot) algorithm.Request {
	_, look := s.Algorithm.Step(h.Model.Of(s).State, h.Now(), algorithm.Request{})
	h.taken.Add(h.Now())
	r := draw.For(h.t, s.Algorithm, h.Now()).Any(h.taken, look)
	if h.number("huge", 0, 19) == 19 {
		r.Cost = 1<<63 - 1
	}
	return r
}

// reading draws what the clock shows next: mostly an instant that matters to the
// last call, or one beside the edge of a window.
func (h *history) reading() algorithm.Instant {
	now := h.Now()
	if len(h.last) == 0 {
		return now + 1
	}
	op := h.last[h.number("op", 0, len(h.last)-1)]
	switch h.number("clock", 0, 5) {
	case 0:
		period := algorithm.Instant(max(1, op.Algorithm.Spec().Params[1]))
		return draw.After(now/period*period, int64(period)*int64(h.number("edges on", 0, 2))+int64(h.number("beside", -1, 1)))
	case 1:
		return draw.After(h.Latest, -int64(h.number("behind the latest by µs", 0, int(world.Second))))
	}
	return draw.For(h.t, op.Algorithm, now).Reading(now, op.Outcome)
}
