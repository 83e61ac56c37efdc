package check

import (
	"maps"
	"slices"

	"github.com/weirgo/weir/sim/internal/model"
	"github.com/weirgo/weir/sim/result"
)

// curveSlots is how many slots of a limit the curve follows at a time from their first
// admission on. Slots that come later are followed once they are the worst of all: each
// one has admitted more than any before it, which few do.
const curveSlots = 10_000

// curve is the most that was admitted to a slot within intervals, in true time.
type curve struct {
	limit    *model.Limit
	lengths  []int64 // of closed intervals, in µs, from the shortest
	most     []int64 // of each
	all      int64   // slots that had an admission
	followed int64   // slots that the curve follows, or has followed
	late     int64   // slots that it follows from a later admission on
	now      int64   // slots that it follows from their first admission on, and that are not forgotten
	// kept are the windows of forgotten slots, by key, as long as a length of the curve
	// reaches back to them.
	kept  map[string]window
	worst result.Worst
}

// newCurve chooses about five lengths in every power of ten, up to four times the period
// or the time to full, and no more than the duration. The period is one of the lengths.
func newCurve(l *model.Limit, duration int64) curve {
	longest := min(4*max(l.Period, l.Full), duration)
	lengths := []int64{longest, min(l.Period, longest)}
	for scale := int64(10); scale < 10*longest; scale *= 10 {
		for _, digits := range [...]int64{10, 16, 25, 40, 63} {
			lengths = append(lengths, min(digits*scale/100, longest))
		}
	}
	slices.Sort(lengths)
	lengths = slices.Compact(lengths)
	c := curve{limit: l, lengths: lengths, most: make([]int64, len(lengths)), kept: make(map[string]window)}
	// A half-open window of a period is a closed interval that is 1 µs shorter.
	c.worst = result.Worst{WindowMicros: l.Period, LimitUnits: l.Units, BoundUnits: l.Bound(l.Period - 1)}
	return c
}

// window remembers what was admitted to one slot, as far back as a length of the curve
// or the period reaches.
type window struct {
	entries []admitted
	gone    int   // entries that were dropped before the first
	dropped int64 // units that they hold
	total   int64
	period  int // the first entry within the period, counted with those gone
	// points are the same for each length of the curve, or an earlier entry; nil where
	// the curve does not follow the slot.
	points []int
	early  bool // the curve follows it from its first admission on
}

// admitted is how much was admitted at an instant, and in all up to it.
type admitted struct{ at, total int64 }

// add counts an admission, and returns what the window of the period that ends with it
// holds.
func (w *window) add(c *curve, at, cost int64) (inPeriod int64) {
	if w.entries == nil {
		c.all++
		if c.now < curveSlots {
			c.now++
			c.followed++
			w.early, w.points = true, make([]int, len(c.lengths))
		}
	}
	w.total += cost
	if n := len(w.entries); n > 0 && w.entries[n-1].at == at {
		w.entries[n-1].total = w.total
	} else {
		w.trim()
		w.entries = append(w.entries, admitted{at, w.total})
	}
	w.period = w.after(w.period, at-c.limit.Period)
	if w.points != nil {
		w.draw(c, at)
	}
	return w.since(w.period)
}

// giveBack takes back what was admitted at an instant, so that it counts from now on for no interval.
func (w *window) giveBack(at, cost int64) {
	if len(w.entries) == 0 {
		return
	}
	w.total -= cost
	for i := len(w.entries) - 1; i >= 0 && w.entries[i].at >= at; i-- {
		w.entries[i].total -= cost
	}
	if w.entries[0].at > at {
		w.dropped -= cost // its entry was dropped: it counts for no interval any more
	}
}

// follow makes the curve follow a slot from this admission on. The admissions that the
// window has dropped are missing: the curve may be too low at lengths above the period.
func (w *window) follow(c *curve, at int64) {
	if w.points != nil {
		return
	}
	c.followed++
	c.late++
	w.points = make([]int, len(c.lengths))
	w.draw(c, at)
}

// draw raises the curve where an interval that ends with the last admission holds more.
// It begins with the longest, and skips lengths at which not even the units of a longer
// interval would raise it.
func (w *window) draw(c *curve, at int64) {
	last := len(c.lengths) - 1
	w.points[last] = w.after(w.points[last], at-c.lengths[last]-1)
	holds := w.since(w.points[last])
	for i := last; i >= 0; i-- {
		if holds <= c.most[i] {
			continue
		}
		w.points[i] = w.after(w.points[i], at-c.lengths[i]-1)
		holds = w.since(w.points[i])
		c.most[i] = max(c.most[i], holds)
	}
}

// keep keeps the window of a slot that is forgotten, where the curve follows it.
func (c *curve) keep(w *window, key string) {
	if w.points != nil {
		c.kept[key] = *w
	}
}

// back returns the window of a slot that was forgotten and has come back.
func (c *curve) back(key string) window {
	w := c.kept[key]
	delete(c.kept, key)
	return w
}

// Tidy drops what the curve has kept of forgotten slots and no interval reaches any more.
func (l *Limit) Tidy(now int64) { l.curve.tidy(now) }

// tidy drops windows that no length of the curve reaches back to any more.
func (c *curve) tidy(now int64) {
	maps.DeleteFunc(c.kept, func(_ string, w window) bool {
		over := w.entries[len(w.entries)-1].at < now-c.lengths[len(c.lengths)-1]
		if over && w.early {
			c.now--
		}
		return over
	})
}

// before reports whether the last admission, if any, was at an instant or before it.
func (w *window) before(at int64) bool {
	return w.entries == nil || w.entries[len(w.entries)-1].at <= at
}

// after moves an index on to the first entry later than an instant.
func (w *window) after(index int, at int64) int {
	index = max(index, w.gone)
	for w.entries[index-w.gone].at <= at {
		index++
	}
	return index
}

// since returns what was admitted from an entry on.
func (w *window) since(index int) int64 {
	if index == w.gone {
		return w.total - w.dropped
	}
	return w.total - w.entries[index-w.gone-1].total
}

// trim drops entries that neither the period nor the longest length of the curve reaches,
// now and then.
func (w *window) trim() {
	oldest := w.period
	if n := len(w.points); n > 0 {
		oldest = min(oldest, w.points[n-1])
	}
	if n := oldest - w.gone; n > 16 && n > len(w.entries)/2 {
		w.dropped = w.entries[n-1].total
		w.entries = w.entries[:copy(w.entries, w.entries[n:])]
		w.gone = oldest
	}
}
