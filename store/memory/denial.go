package memorystore

import (
	"strings"
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
	used   uint8                     // the places with a copy or a count, a bit each
	// The rest says how often a slot was denied in a row, at each place.
	counts [8]uint8
	hashes [8]uint64
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
func (d *denials) add(hash uint64, key string, n unique.Handle[name], rec *record) {
	place := placeOfDenial(hash)
	d.used |= 1 << place
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
	d.copies[place].Store(&denial{hash, strings.Clone(key), n, rec.state, rec.expiry})
}

// changed removes the copy of a slot. It is small enough for the compiler to inline.
func (d *denials) changed(hash uint64) {
	if d.used>>placeOfDenial(hash)&1 != 0 {
		d.forget(hash)
	}
}

// forget is changed for a place that has a copy or a count.
func (d *denials) forget(hash uint64) {
	place := placeOfDenial(hash)
	if d.hashes[place] == hash {
		d.counts[place] = 0
	}
	c := d.copies[place].Load()
	if c != nil && c.hash == hash {
		d.copies[place].Store(nil)
		c = nil
	}
	if c == nil && d.counts[place] == 0 {
		d.used &^= 1 << place
	}
}

// clear takes all copies away.
func (d *denials) clear() {
	for i := range d.copies {
		d.copies[i].Store(nil)
	}
	d.used, d.counts = 0, [8]uint8{}
}

// step decides a request by the copy. unchanged reports whether that changes nothing and so is
// the answer.
func (c *denial) step(a algorithm.InPlace, at algorithm.Instant, r algorithm.Request, o *algorithm.Outcome) (unchanged bool) {
	s := c.state
	step(a, &s, at, r, o)
	return !o.Allowed || r.Cost == 0
}
