package sim

import (
	"slices"

	"github.com/weirgo/weir/algorithm"
)

// curveKeys is how many slots of a limit the points of the curve are of: the first ones.
const curveKeys = 16

// curve is the most that was admitted to a slot within intervals, in true time.
type curve struct {
	law     *law
	lengths []int64 // of closed intervals, in µs
	most    []int64 // of each
	keys    int64
	worst   Worst
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
	c := curve{law: l, lengths: lengths, most: make([]int64, len(lengths))}
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
	period  int   // the first entry within the period, counted with those gone
	points  []int // the same for each length of the curve; nil where it has no part in it
}

// admitted is how much was admitted at an instant, and in all up to it.
type admitted struct{ at, total int64 }

// add counts an admission, and returns what the window of the period that ends with it
// holds.
func (w *window) add(c *curve, at, cost int64) (inPeriod int64) {
	w.total += cost
	if n := len(w.entries); n > 0 && w.entries[n-1].at == at {
		w.entries[n-1].total = w.total
	} else {
		w.trim()
		w.entries = append(w.entries, admitted{at, w.total})
	}
	w.period = w.after(w.period, at-c.law.period)
	for i, length := range c.lengths {
		if w.points == nil {
			break
		}
		w.points[i] = w.after(w.points[i], at-length-1)
		c.most[i] = max(c.most[i], w.since(w.points[i]))
	}
	return w.since(w.period)
}

// after moves an index on to the first entry later than an instant.
func (w *window) after(index int, at int64) int {
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

// trim drops entries that no index reaches, now and then.
func (w *window) trim() {
	oldest := w.period
	for _, i := range w.points {
		oldest = min(oldest, i)
	}
	if n := oldest - w.gone; n > 16 && n > len(w.entries)/2 {
		w.before = w.entries[n-1].total
		w.entries = w.entries[:copy(w.entries, w.entries[n:])]
		w.gone = oldest
	}
}
