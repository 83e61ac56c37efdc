package world

import (
	"cmp"
	"math/big"
	"slices"

	"github.com/weirgo/weir/sim/internal/check"
	"github.com/weirgo/weir/sim/result"
)

// client is whom requests are for: a key, with its slot in each limit.
type client struct {
	result.Client // the key, and what it got
	hash          uint64
	slots         []*check.Slot // none where a policy decides
	server        int           // that has them
	open          int           // requests that are not done
}

// clientOf returns the client of a key.
func (w *world) clientOf(key string) *client {
	if c := w.known[key]; c != nil {
		return c
	}
	if len(w.known) >= 2*max(minClients, w.fairness.grown) {
		w.tidy()
	}
	c := &client{Client: result.Client{Key: key}, hash: check.Hash(key)}
	if w.governed == nil {
		c.slots = make([]*check.Slot, len(w.Limits))
	}
	for i, l := range w.Limits[:len(c.slots)] {
		c.slots[i] = w.SlotOf(l, key, c.hash)
		c.server = c.slots[0].Server
	}
	w.known[key] = c
	w.order = append(w.order, c)
	return c
}

// slots returns all slots, in the order in which they came.
func (w *world) slots() []*check.Slot {
	if w.governed != nil {
		return slices.Clone(w.governed.order)
	}
	var all []*check.Slot
	for _, l := range w.Limits {
		for _, s := range l.Groups {
			if s != nil {
				all = append(all, s)
			}
		}
	}
	for _, c := range w.order {
		for _, s := range c.slots {
			if len(s.Limit.Groups) == 0 {
				all = append(all, s)
			}
		}
	}
	return all
}

// minClients is how many clients are always kept.
const minClients = 1 << 15

// tidy forgets clients that are at rest: none of their charges counts any more. So a
// spray of keys does not fill the memory. The number of clients that stay sets the number
// at which it is done again.
func (w *world) tidy() {
	for _, l := range w.Limits {
		l.Tidy(w.Now)
	}
	w.order = slices.DeleteFunc(w.order, func(c *client) bool {
		if c.open > 0 || w.ClocksVary || slices.ContainsFunc(c.slots, func(s *check.Slot) bool { return !w.AtRest(s) }) {
			return false
		}
		for _, s := range c.slots {
			s.Forget()
		}
		w.fairness.add(c)
		delete(w.known, c.Key)
		return true
	})
	w.fairness.grown = len(w.order)
}

// fairness sums up clients that were forgotten.
type fairness struct {
	keys    int64
	sum     big.Int
	squares big.Int
	grown   int // clients that stayed when some were forgotten last
}

func (f *fairness) add(c *client) {
	f.keys++
	x := big.NewInt(c.AdmittedUnits)
	f.sum.Add(&f.sum, x)
	f.squares.Add(&f.squares, x.Mul(x, x))
}

const topClients = 10

// result compares all clients, also those that are left.
func (f *fairness) result(order []*client) result.Fairness {
	r := result.Fairness{Partial: f.keys > 0, Top: []result.Client{}}
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

// jain returns (Σx)²/(n·Σx²) in millionths, rounded down; a million where no key got
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
