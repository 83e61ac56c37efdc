package memorystore

import (
	"math/bits"
	"unique"
)

// pageSize is how many records lie together. Pages never move, so a full one
// wastes nothing when the table grows. A page of 32 KiB is a whole number of pages of the
// allocator, so its records lie in one line of a cache each; a smaller one would have a header,
// and waste a tenth.
const pageSize = 512

// table is a hash table of records. Go's map would do the same with half as
// much memory again: it keeps half of its places empty, and each holds a whole
// record; here an empty place costs 4 bytes. It also needs no second look-up
// and no second hash to change what it found.
//
// Places are probed linearly, from the one that the low bits of a hash number; at most
// seven of eight are filled. Their number is a power of two. The low bits of a place, as
// many as number the places, are the number of a record plus one; the other bits are those
// of its hash. So a place takes 4 bytes, and names a wrong record once in thousands of times.
// Places of 8 bytes and three quarters filled, which hold all bits of a hash, fit less often
// into a cache: a decision among 100,000 keys takes a tenth longer with them.
//
//	go run ./bench -only 'memory/many/serial/.*/(floor|weir)'
type table struct {
	places []uint32
	pages  [][]record
	tails  [][]tail          // of the pages; nil where no key has one
	long   map[uint32]string // the keys that are longer, by the numbers of their records
	names  names
	hashes []uint32 // of the records; read where places move
	used   uint32   // records handed out so far, free ones included
	free   uint32   // the first free record, plus one; linked through expiry
	count  int      // records that hold a slot
}

func (t *table) record(number uint32) *record {
	return &t.pages[number/pageSize][number%pageSize]
}

// mask has the bits that number the places.
func (t *table) mask() uint32 { return uint32(len(t.places) - 1) }

// number is the record that a filled place names.
func (t *table) number(place uint32) uint32 { return t.places[place]&t.mask() - 1 }

// find returns the record of a slot, or nil.
func (t *table) find(hash uint64, key string, n unique.Handle[name]) *record {
	r, _ := t.lookup(hash, key, n)
	return r
}

// lookup returns the record of a slot and its place. The record is nil where the table does
// not hold the slot.
func (t *table) lookup(hash uint64, key string, n unique.Handle[name]) (*record, uint32) {
	places := t.places
	if len(places) == 0 {
		return nil, 0
	}
	h, mask := half(hash), uint32(len(places)-1)
	for at := h & mask; ; at = (at + 1) & mask {
		p := places[at]
		if p == 0 {
			return nil, at
		}
		if (p^h)&^mask == 0 {
			number := p&mask - 1
			r := t.record(number)
			if t.names.all[r.name()].name != n {
				continue
			}
			if len(key) <= headSize && r.size() == len(key) && string(r.head[:len(key)]) == key ||
				len(key) > headSize && t.hasLonger(number, key) {
				return r, at
			}
		}
	}
}

// half is the part of a hash that places use. The rest chooses the shard, and the place among
// its denials.
func half(hash uint64) uint32 { return uint32(hash >> 32) }

// insert returns a record for a slot that the table does not hold, and its
// number.
func (t *table) insert(hash uint64, key string, n unique.Handle[name]) (*record, uint32) {
	if (t.count+1)*8 > len(t.places)*7 {
		t.resize(max(8, len(t.places)*2))
	}
	number := t.take()
	r := t.record(number)
	*r = record{}
	t.setKey(number, key, t.names.use(n))
	t.hashes[number] = half(hash)
	t.place(number)
	t.count++
	return r, number
}

// take returns the number of a free record. A record is added where none is free, so there
// are never more records than places that may be filled.
func (t *table) take() uint32 {
	if t.free != 0 {
		number := t.free - 1
		t.free = uint32(t.record(number).expiry)
		return number
	}
	number := t.used
	t.used++
	t.hashes = append(t.hashes, 0)
	last := len(t.pages) - 1
	switch {
	case last < 0:
		t.pages = append(t.pages, make([]record, 4))
	case int(number) < last*pageSize+len(t.pages[last]):
	case len(t.pages[last]) < pageSize: // only the first page starts small
		larger := make([]record, 2*len(t.pages[last]))
		copy(larger, t.pages[last])
		t.pages[last] = larger
	default:
		t.pages = append(t.pages, make([]record, pageSize))
	}
	return number
}

// place writes a number to the first empty place of its hash.
func (t *table) place(number uint32) {
	h, mask := t.hashes[number], t.mask()
	at := h & mask
	for t.places[at] != 0 {
		at = (at + 1) & mask
	}
	t.places[at] = h&^mask | (number + 1)
}

// resize moves all places. No record is read.
func (t *table) resize(places int) {
	old, mask := t.places, t.mask()
	t.places = make([]uint32, places)
	for _, p := range old {
		if p != 0 {
			t.place(p&mask - 1)
		}
	}
}

// remove frees a slot and reports whether the table held it.
func (t *table) remove(hash uint64, key string, n unique.Handle[name]) bool {
	r, at := t.lookup(hash, key, n)
	if r == nil {
		return false
	}
	t.clear(t.number(at))
	t.close(at)
	t.count--
	return true
}

// close empties a place and moves those behind it up, so that no probing ends
// too early.
func (t *table) close(gap uint32) {
	mask := t.mask()
	for at := (gap + 1) & mask; t.places[at] != 0; at = (at + 1) & mask {
		home := t.hashes[t.number(at)]
		// It may move if the gap lies between its home and where it is.
		if (at-home)&mask >= (at-gap)&mask {
			t.places[gap] = t.places[at]
			gap = at
		}
	}
	t.places[gap] = 0
}

// sparse reports whether most of the memory of t holds nothing.
func (t *table) sparse() bool { return int(t.used) > 4*t.count+slack }

// slack is how many unused entries are not worth the work of giving them back.
const slack = 128

// compacted returns a table of the same slots without the free records.
func (t *table) compacted() table {
	var fresh table
	if t.count == 0 {
		return fresh
	}
	fresh.resize(1 << bits.Len(uint(max(7, t.count*8/7))))
	for number := range t.used {
		if from := t.record(number); from.held() {
			to, _ := fresh.insert(uint64(t.hashes[number])<<32, t.key(number), t.nameOf(number))
			to.state, to.expiry = from.state, from.expiry
		}
	}
	return fresh
}
