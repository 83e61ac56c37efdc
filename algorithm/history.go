package algorithm

// Log is the log that a state holds: what was admitted, and when. It is for
// algorithms that remember every admission, as SlidingLog does; a Log is an
// immutable value like the State it comes from.
type Log struct{ t tail }

// Log returns the log of s: empty for the fresh state, and for a state of words
// one entry of cost 1 for each, which is how ParseState reads a short log.
func (s State) Log() Log { return Log{s.tail()} }

// Units returns the cost of all entries. O(log n).
func (l Log) Units() int64 { return l.t.units() }

// Last returns the instant of the latest entry, and false if there is none.
func (l Log) Last() (Instant, bool) {
	if l.t.empty() {
		return 0, false
	}
	return Instant(l.t.last()), true
}

// After returns the log without the entries at or before cut. O(log n).
func (l Log) After(cut Instant) Log { return Log{l.t.after(int64(cut))} }

// Holding returns the instant of the entry that holds unit k, counted from 1 at
// the oldest, and false if there is no such unit. O(log n) where all costs are
// 1, else O(log² n).
func (l Log) Holding(k int64) (Instant, bool) {
	if k < 1 || k > l.t.units() {
		return 0, false
	}
	return Instant(l.t.holding(k)), true
}

// Append returns the state that holds the log and one more entry: the latest of
// at and the last entry, with cost, which is at least 1. Amortised O(1) where
// each Append goes on from the one before.
func (l Log) Append(at Instant, cost int64) State {
	if last, found := l.Last(); found {
		at = max(at, last)
	}
	return l.t.append(int64(at), max(1, cost))
}
