package sim

import (
	"maps"
	"slices"

	"github.com/weirgo/weir/algorithm"
)

// curveSlots is how many slots of a limit the curve follows at a time from their first
// admission on. Slots that come later are followed once they are the worst of all: each
// one has admitted more than any before it, which few do.
const curveSlots = 10_000

// curve is the most that was admitted to a slot within intervals, in true time.
type curve struct {
	law      *law
	lengths  []int64 // of closed intervals, in µs, from the shortest
	most     []int64 // of each
	all      int64   // slots that were admitted anything
	followed int64   // those of them that the curve is of
	late     int64   // those of them that it is of from a later admission on
	now      int64   // slots that are followed from their first admission on, and not forgotten
	// kept are the windows of forgotten slots, by key, as long as a length of the curve
	// reaches back to them.
	kept  map[string]window
	worst Worst
}

// newCurve chooses about five lengths in every power of ten, up to four times the period
// or the time to full, and no more than the duration; the period is one of them.
func newCurve(l *law, duration int64) curve {
	longest := min(4*max(l.period, l.full), duration)
	lengths := []int64{longest, min(l.period, longest)}
	for scale := int64(10); scale < 10*longest; scale *= 10 {
		for _, digits := range [...]int64{10, 16, 25, 40, 63} {
			lengths = append(lengths, min(digits*scale/100, longest))
		}
	}
	slices.Sort(lengths)
	lengths = slices.Compact(lengths)
	c := curve{law: l, lengths: lengths, most: make([]int64, len(lengths)), kept: make(map[string]window)}
	c.worst = Worst{WindowMicros: l.period, LimitUnits: l.limit, BoundUnits: l.halfOpen()}
	return c
}

// halfOpen is the most that a limit admits in a half-open window of its period.
func (l *law) halfOpen() int64 {
	switch l.kind {
	case algorithm.KindFixedWindow:
		return 2 * l.limit
	case algorithm.KindSlidingLog:
		return l.limit
	}
	return l.bound(l.period - 1)
}

// window remembers what was admitted to one slot, as far back as a length of the curve
// or the period reaches.
type window struct {
	entries []admitted
	gone    int   // entries that were dropped before the first
	before  int64 // what they hold
	total   int64
	period  int // the first entry within the period, counted with those gone
	// points are the same for each length of the curve, or an earlier entry; nil where
	// the slot has no part in it.
	points []int
	early  bool // it has a part in it from its first admission on
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
	w.period = w.after(w.period, at-c.law.period)
	if w.points != nil {
		w.draw(c, at)
	}
	return w.since(w.period)
}

// follow gives a slot a part in the curve from this admission on. What the window has
// forgotten is missing: the curve may be too low at lengths above the period.
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
// From the longest on it passes over lengths at which not even what a longer one holds
// would raise it.
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

// keep remembers what a slot that is forgotten was admitted, where it has a part in the
// curve.
func (c *curve) keep(w *window, key string) {
	if w.points != nil {
		c.kept[key] = *w
	}
}

// back returns what a slot was admitted that was forgotten and has come back.
func (c *curve) back(key string) window {
	w := c.kept[key]
	delete(c.kept, key)
	return w
}

// tidy forgets windows that no length of the curve reaches back to any more.
func (c *curve) tidy(now int64) {
	maps.DeleteFunc(c.kept, func(_ string, w window) bool {
		over := w.entries[len(w.entries)-1].at < now-c.lengths[len(c.lengths)-1]
		if over && w.early {
			c.now--
		}
		return over
	})
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
		return w.total - w.before
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
		w.before = w.entries[n-1].total
		w.entries = w.entries[:copy(w.entries, w.entries[n:])]
		w.gone = oldest
	}
}
