package attack

import (
	"errors"
	"fmt"
)

// account is what the servers of an event have charged, by key.
type account struct {
	held []int64 // on the servers that clients use in the end

	// lost, where it is not nil, was charged and is not in held: read from a primary
	// that lost its place.
	lost []int64

	// restored, where it is not nil, was held when a server came back, before the
	// second phase. What the first phase has charged beyond it is lost, and is only
	// known up to the unknown outcomes.
	restored []int64

	// forgets reports whether what is not in held may be lost, by an amount that nobody
	// can read: known up to the unknown outcomes.
	forgets bool

	note   string // what else was measured
	broken error  // a bound of the event itself that does not hold
}

// sums are an account over all keys.
type sums struct {
	total          tally
	held           int64
	lostMin        int64 // charged for certain, and lost
	lostMax        int64
	over, overMost int64 // admitted beyond the capacity, of all keys and of one
}

// check compares the account with what the callers were told: an error names each
// bound that is broken, with the first key that breaks it.
func (a *account) check(keys []key, r *report) (s sums, broken error) {
	all := r.keys(r.Phases...)
	var first []tally
	if a.restored != nil {
		if len(r.Phases) != 2 {
			return s, fmt.Errorf("%d phases, want one before and one after the restart", len(r.Phases))
		}
		first = r.Phases[0].Keys
		var after tally
		for _, t := range r.Phases[1].Keys {
			after.add(t)
		}
		if after.Acked == 0 {
			return s, errors.New("recovery: nothing was admitted after the restart")
		}
	}
	failures := map[string]int{}
	var order []string
	examples := map[string]string{}
	bound := func(k int, name string, low, value, high int64) {
		if low <= value && value <= high {
			return
		}
		if failures[name]++; failures[name] == 1 {
			order = append(order, name)
			examples[name] = fmt.Sprintf("%s (%s): %d ≤ %d ≤ %d", keys[k].Name, keys[k].Spec, low, value, high)
		}
	}
	for k, t := range all {
		s.total.add(t)
		s.held += a.held[k]
		over := max(0, t.Acked-keys[k].capacity)
		s.over += over
		s.overMost = max(s.overMost, over)
		bound(k, "calls = answers", t.Calls, t.Acked+t.Denied+t.failed(), t.Calls)
		switch {
		case a.restored != nil:
			before, after := first[k], r.Phases[1].Keys[k]
			back := a.restored[k]
			lostMin, lostMax := max(0, before.Acked-back), before.Acked+before.Unknown-back
			s.lostMin += lostMin
			s.lostMax += lostMax
			bound(k, "restored ≤ acked + unknown", 0, back, before.Acked+before.Unknown)
			// A call whose callers have left may be sent after the restart.
			bound(k, "acked ≤ charged ≤ acked + unknown, after the restart", after.Acked, a.held[k]-back, after.Acked+after.Unknown+before.Unknown)
			bound(k, "acked beyond the capacity ≤ lost", 0, over, max(0, lostMax))
		case a.forgets:
			lostMax := t.Acked + t.Unknown - a.held[k]
			s.lostMin += max(0, t.Acked-a.held[k])
			s.lostMax += lostMax
			bound(k, "charged ≤ acked + unknown", 0, a.held[k], t.Acked+t.Unknown)
			bound(k, "acked beyond the capacity ≤ lost", 0, over, max(0, lostMax))
		case a.lost != nil:
			s.lostMin += a.lost[k]
			s.lostMax += a.lost[k]
			bound(k, "0 ≤ lost", 0, a.lost[k], large)
			bound(k, "acked ≤ charged + lost ≤ acked + unknown", t.Acked, a.held[k]+a.lost[k], t.Acked+t.Unknown)
			bound(k, "acked beyond the capacity ≤ lost", 0, over, a.lost[k])
		default:
			bound(k, "acked ≤ charged ≤ acked + unknown", t.Acked, a.held[k], t.Acked+t.Unknown)
			bound(k, "acked ≤ capacity", 0, t.Acked, keys[k].capacity)
		}
	}
	for _, name := range order {
		broken = errors.Join(broken, fmt.Errorf("%s: %d keys, such as %s", name, failures[name], examples[name]))
	}
	for _, text := range r.Unexpected {
		broken = errors.Join(broken, errors.New("an unexpected answer: "+text))
	}
	return s, errors.Join(broken, a.broken)
}
