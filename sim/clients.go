package sim

import (
	"cmp"
	"math/big"
	"slices"
)

// clientOf returns the client of a key.
func (w *world) clientOf(key string) *client {
	if c := w.known[key]; c != nil {
		return c
	}
	if len(w.known) >= 2*w.fair.most() {
		w.tidy()
	}
	c := &client{Client: Client{Key: key}, hash: hashOf(key), slots: make([]*slot, len(w.limits))}
	for i, l := range w.limits {
		c.slots[i] = l.slotOf(key, c.hash, w)
	}
	w.known[key] = c
	w.order = append(w.order, c)
	return c
}

// slots returns all slots, as they came.
func (w *world) slots() []*slot {
	var all []*slot
	for _, l := range w.limits {
		for _, s := range l.groups {
			if s != nil {
				all = append(all, s)
			}
		}
	}
	for _, c := range w.order {
		for _, s := range c.slots {
			if s.limit.Groups == 0 {
				all = append(all, s)
			}
		}
	}
	return all
}

// fairness sums up clients that were forgotten.
type fairness struct {
	keys    int64
	sum     big.Int
	squares big.Int
	grown   int
}

const fewClients = 1 << 15

// most is how many clients are kept, once those that are at rest were forgotten.
func (f *fairness) most() int { return max(fewClients, f.grown) }

// tidy forgets clients that are at rest: nothing of theirs counts any more. So a spray of
// keys does not fill the memory. Those that stay set the number at which it is done
// again.
func (w *world) tidy() {
	at := w.reading()
	for _, l := range w.limits {
		l.curve.tidy(w.now)
	}
	w.order = slices.DeleteFunc(w.order, func(c *client) bool {
		if c.open > 0 || w.blind || slices.ContainsFunc(c.slots, func(s *slot) bool { return !s.rests(at, w) }) {
			return false
		}
		for _, s := range c.slots {
			if s.limit.Groups == 0 {
				s.limit.curve.keep(&s.window, s.key)
			}
		}
		w.fair.add(c)
		delete(w.known, c.Key)
		return true
	})
	w.fair.grown = len(w.order)
}

// rests says that nothing of the slot counts.
func (s *slot) rests(at int64, w *world) bool {
	if s.limit.Groups > 0 {
		return true // it is not the client's own
	}
	return !s.stays && s.allow == 0 && s.model.fresh(at) && (s.spent == nil || s.heeds || s.spent.fresh(at)) &&
		(s.overall == nil || s.overall.fresh(w.epoch+w.now)) && (s.window.entries == nil || s.window.entries[len(s.window.entries)-1].at <= w.now-s.limit.law.period)
}

func (f *fairness) add(c *client) {
	f.keys++
	x := big.NewInt(c.AdmittedUnits)
	f.sum.Add(&f.sum, x)
	f.squares.Add(&f.squares, x.Mul(x, x))
}

const topClients = 10

// result compares all clients, those that are left included.
func (f *fairness) result(order []*client) Fairness {
	r := Fairness{Partial: f.keys > 0, Top: []Client{}}
	for _, c := range order {
		f.add(c)
	}
	r.Keys, r.JainMillionths = f.keys, f.jain()
	top := slices.Clone(order)
	slices.SortStableFunc(top, func(a, b *client) int {
		return cmp.Or(cmp.Compare(b.AdmittedUnits, a.AdmittedUnits), cmp.Compare(b.OfferedUnits, a.OfferedUnits))
	})
	for _, c := range top[:min(topClients, len(top))] {
		r.Top = append(r.Top, c.Client)
	}
	return r
}

// jain returns (Σx)²/(n·Σx²) in millionths, rounded down; a million where nobody got
// anything.
func (f *fairness) jain() int64 {
	if f.squares.Sign() == 0 {
		return 1_000_000
	}
	top := new(big.Int).Mul(&f.sum, &f.sum)
	top.Mul(top, big.NewInt(1_000_000))
	below := new(big.Int).Mul(&f.squares, big.NewInt(f.keys))
	return top.Quo(top, below).Int64()
}
