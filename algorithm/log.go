package algorithm

import (
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
)

// A log state is a window on a logBuffer: w0 is the index of its first entry,
// w1 the index after its last, w2 the number of weights that were written with
// them. A linear use, each Step from the state that the last one returned,
// appends to the shared buffer; a Step from an older state finds the place
// behind it taken and copies. Nothing that a state can see is ever rewritten.
//
// An entry of cost 1 takes 8 bytes. Two Takes in one microsecond are two
// entries here and one in the text form.
type logBuffer struct {
	// shape is what the states of this buffer point at.
	shape shape
	// stamps are the instants, in order. Its length is its capacity: the
	// header never changes, so states may be read while a later one is made.
	stamps []int64
	// weights are kept for entries of another cost than 1 only.
	weights []weight
	// taken is how many stamps have been written by anybody.
	taken atomic.Int64
}

// weight says how many units more than one each the entries up to and
// including index hold together.
type weight struct{ index, extra int64 }

// entry is what the text form shows: all that was admitted at one instant.
type entry struct{ at, cost int64 }

func (s State) isLog() bool { return s.shape != nil && s.shape.log != nil }

// tail is a log state taken apart, for reading.
type tail struct {
	buffer     *logBuffer
	first, end int64
	weights    []weight
}

// tail returns the log of s. Plain words are entries of cost 1: that is how
// ParseState reads a short log.
func (s State) tail() tail {
	if s.shape == nil {
		return tail{}
	}
	if s.isLog() {
		b := s.shape.log
		return tail{b, s.w0, s.w1, b.weights[:s.w2]}
	}
	b := newLogBuffer(int64(s.shape.words), 0)
	for i := range b.stamps {
		b.stamps[i] = s.Word(i)
	}
	b.taken.Store(int64(s.shape.words))
	return tail{buffer: b, end: int64(s.shape.words)}
}

func (t tail) empty() bool      { return t.first == t.end }
func (t tail) last() int64      { return t.buffer.stamps[t.end-1] }
func (t tail) at(i int64) int64 { return t.buffer.stamps[i] }

// after returns t without the entries at or before the instant cut. O(log n).
func (t tail) after(cut int64) tail {
	if t.empty() || t.at(t.first) > cut {
		return t
	}
	live, _ := slices.BinarySearch(t.buffer.stamps[t.first:t.end], cut+1)
	t.first += int64(live)
	return t
}

// has reports whether there is an entry at the instant at. O(log n).
func (t tail) has(at int64) bool {
	_, found := slices.BinarySearch(t.buffer.stamps[t.first:t.end], at)
	return found
}

// through returns the units of all entries of the buffer before index i.
func (t tail) through(i int64) int64 {
	n := sort.Search(len(t.weights), func(k int) bool { return t.weights[k].index >= i })
	if n == 0 {
		return i
	}
	return i + t.weights[n-1].extra
}

// units returns the cost of all entries of t. O(log n).
func (t tail) units() int64 {
	if len(t.weights) == 0 {
		return t.end - t.first
	}
	return t.through(t.end) - t.through(t.first)
}

// holding returns the instant of the entry that holds the unit at position k,
// counted from 1 at the oldest. The caller makes sure that there are k.
// O(log n) where all costs are 1, else O(log² n).
func (t tail) holding(k int64) int64 {
	if len(t.weights) == 0 {
		return t.at(t.first + k - 1)
	}
	before := t.through(t.first)
	i := sort.Search(int(t.end-t.first), func(i int) bool {
		return t.through(t.first+int64(i)+1)-before >= k
	})
	return t.at(t.first + int64(i))
}

// append returns the state of t with one more entry. at is not before the last
// entry; cost is at least 1. Amortised O(1).
func (t tail) append(at, cost int64) State {
	b, weights := t.buffer, int64(len(t.weights))
	if !t.fits(cost) || !b.taken.CompareAndSwap(t.end, t.end+1) {
		t = t.moved(cost)
		b, weights = t.buffer, int64(len(t.weights))
		b.taken.Store(t.end + 1)
	}
	b.stamps[t.end] = at
	if cost != 1 {
		extra := cost - 1
		if weights > 0 {
			extra += b.weights[weights-1].extra
		}
		b.weights[weights] = weight{t.end, extra}
		weights++
	}
	return State{t.first, t.end + 1, weights, &b.shape}
}

// fits reports whether b has room for one more entry, and is not kept large by
// a few.
func (t tail) fits(cost int64) bool {
	const small = 64
	if t.buffer == nil {
		return false
	}
	size := int64(len(t.buffer.stamps))
	return t.end < size &&
		(cost == 1 || len(t.weights) < len(t.buffer.weights)) &&
		(size <= small || t.end-t.first >= size/4)
}

// moved returns t in a buffer of its own, with room for a part more. That part
// is a sixth: a log in steady use takes 9.3 bytes an entry and is copied once
// for every sixth of its length. Weights get their room by the number of
// entries, not of weights, or a rare one would copy everything.
func (t tail) moved(cost int64) tail {
	live := t.end - t.first
	var kept []weight
	var before int64
	if len(t.weights) > 0 {
		before = t.through(t.first) - t.first
		kept = t.weights[sort.Search(len(t.weights), func(k int) bool { return t.weights[k].index >= t.first }):]
	}
	room := int64(len(kept))
	if room > 0 || cost != 1 {
		room += live/12 + 4
	}
	b := newLogBuffer(live+live/6+4, room)
	if live > 0 {
		copy(b.stamps, t.buffer.stamps[t.first:t.end])
	}
	for i, w := range kept {
		b.weights[i] = weight{w.index - t.first, w.extra - before}
	}
	return tail{b, 0, live, b.weights[:len(kept)]}
}

func newLogBuffer(stamps, weights int64) *logBuffer {
	b := &logBuffer{stamps: make([]int64, stamps)}
	if weights > 0 {
		b.weights = make([]weight, weights)
	}
	b.shape.log = b
	return b
}

// entries returns the log as the text form shows it: one entry an instant.
func (s State) entries() []entry {
	t := s.tail()
	all := make([]entry, 0, t.end-t.first)
	var units int64
	if len(t.weights) > 0 {
		units = t.through(t.first)
	}
	for i := t.first; i < t.end; i++ {
		cost := int64(1)
		if len(t.weights) > 0 {
			through := t.through(i + 1)
			cost, units = through-units, through
		}
		if last := len(all) - 1; s.isLog() && last >= 0 && all[last].at == t.at(i) {
			all[last].cost += cost
			continue
		}
		all = append(all, entry{t.at(i), cost})
	}
	return all
}

// appendEntries writes entries; where one of them has a cost above 1, "+" and the
// sum of all cost - 1 come first. So a store that keeps the words as a list knows
// the units of the whole log from its length and its first element.
func appendEntries(text []byte, entries []entry) []byte {
	var extra int64
	for _, e := range entries {
		extra += e.cost - 1
	}
	if extra > 0 {
		text = append(text, '+')
		text = strconv.AppendInt(text, extra, 10)
	}
	for i, e := range entries {
		if i > 0 || extra > 0 {
			text = append(text, ' ')
		}
		text = strconv.AppendInt(text, e.at, 10)
		if e.cost != 1 {
			text = append(text, ':')
			text = strconv.AppendInt(text, e.cost, 10)
		}
	}
	return text
}

// parseLog reads the text form of a log: "+" and the sum of all cost - 1, just where
// that is not 0, then instants that increase, with their costs above 1.
func parseLog(text string) (State, error) {
	t := tail{}.moved(1)
	var s State
	var extra int64
	first, rest, _ := strings.Cut(text, " ")
	if sum, found := strings.CutPrefix(first, "+"); found {
		var ok bool
		if extra, ok = parseWord(sum); !ok || extra < 1 {
			return State{}, refuseState(first)
		}
		text = rest
	}
	last, total := int64(-1), int64(0)
	for field := range strings.SplitSeq(text, " ") {
		stamp, costs, weighted := strings.Cut(field, ":")
		at, ok := parseWord(stamp)
		cost := int64(1)
		if weighted {
			var valid bool
			cost, valid = parseWord(costs)
			ok = ok && valid && cost > 1
		}
		if !ok || at <= last || total > MaxWord-cost {
			return State{}, refuseState(field)
		}
		s = t.append(at, cost)
		t = s.tail()
		last, total, extra = at, total+cost, extra-(cost-1)
	}
	if extra != 0 {
		return State{}, refuseState(first)
	}
	return s, nil
}
