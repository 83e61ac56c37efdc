package memorystore

import (
	"sync/atomic"
	"unique"

	"github.com/weirgo/weir/algorithm"
)

// A denial changes nothing, so it needs no lock where the state is known without one. A
// shard keeps copies of the states of a few slots that were denied many times in a row. A
// copy is immutable, and a change of the slot takes it away under the lock of the shard: a
// caller that finds one has found the state of that moment.
//
// The instants of the changes of a slot do not go back, and no denial has an earlier instant
// than the last change that it knows of. Of a change that is made at the same time, a denial
// may not know and yet have the later instant.
//
// Denials of one key by two goroutines, times the floor: 0.75, and 1.3 with a lock. By one
// goroutine both ways cost the same.
//
//	go run ./bench -only 'memory/hot/.*/denied/(floor|weir)'

// denial is a copy of the state of a slot that is held.
type denial struct {
	hash   uint64
	key    string
	name   unique.Handle[name]
	state  algorithm.State
	expiry algorithm.Instant
}

// denials are the copies of a shard. A slot has one place, by its hash. Only find is called
// without the lock of the shard.
type denials struct {
	copies [8]atomic.Pointer[denial] // written under the lock of the shard
	held   int                       // copies that are not nil
	// The rest says how often a slot was denied in a row, at each place.
	hashes [8]uint64
	counts [8]uint8
}

// denialsInARow is after how many denials of a slot in a row, counted for each place, a copy
// is made: with its key, it is all that is allocated on the way of a denial.
const denialsInARow = 16

func placeOfDenial(hash uint64) uint64 { return hash >> 16 % 8 }

// find returns the copy of a slot, or nil. It needs no lock.
func (d *denials) find(hash uint64, key string, n unique.Handle[name]) *denial {
	c := d.copies[placeOfDenial(hash)].Load()
	if c == nil || c.hash != hash || c.name != n || c.key != key {
		return nil
	}
	return c
}

// add counts a denial of a slot that is held.
func (d *denials) add(hash uint64, rec *record) {
	place := placeOfDenial(hash)
	if d.hashes[place] != hash {
		d.hashes[place], d.counts[place] = hash, 0
	}
	if d.counts[place]++; d.counts[place] < denialsInARow {
		return
	}
	d.counts[place] = 0
	if rec.state.Words() == 0 {
		return // fresh, or a log, whose memory is guarded by the lock
	}
	if d.copies[place].Swap(&denial{hash, rec.key(), rec.name, rec.state, rec.expiry}) == nil {
		d.held++
	}
}

// changed takes the copy of a slot away.
func (d *denials) changed(hash uint64) {
	place := placeOfDenial(hash)
	if d.hashes[place] == hash {
		d.counts[place] = 0
	}
	if d.held == 0 {
		return
	}
	if c := d.copies[place].Load(); c != nil && c.hash == hash {
		d.copies[place].Store(nil)
		d.held--
	}
}

// clear takes all copies away.
func (d *denials) clear() {
	for i := range d.copies {
		d.copies[i].Store(nil)
	}
	d.held = 0
}

// step decides a request by the copy. unchanged reports whether that changes nothing and so is
// the answer.
func (c *denial) step(a algorithm.InPlace, at algorithm.Instant, r algorithm.Request, o *algorithm.Outcome) (unchanged bool) {
	s := c.state
	// The calls are static, since what is handed to an interface moves to the heap.
	switch a := a.(type) {
	case *algorithm.GCRA:
		a.StepInPlace(&s, at, r, o)
	case *algorithm.TokenBucket:
		a.StepInPlace(&s, at, r, o)
	case *algorithm.LeakyBucket:
		a.StepInPlace(&s, at, r, o)
	case *algorithm.FixedWindow:
		a.StepInPlace(&s, at, r, o)
	case *algorithm.SlidingCounter:
		a.StepInPlace(&s, at, r, o)
	case *algorithm.CalendarWindow:
		a.StepInPlace(&s, at, r, o)
	default:
		return false
	}
	return !o.Allowed || r.Cost == 0
}
