package memorystore

import (
	"strings"
	"unique"

	"github.com/weirgo/weir/algorithm"
)

// name is the part of a slot beside the key. Names are interned, so that the
// garbage collector forgets names that no record uses.
type name struct{ limit, kind, identity string }

// record is one slot, 64 bytes: one line of a cache. With many keys a decision is cache
// misses, so a key of up to 20 bytes, and the number of the name of its limit in place of a
// pointer, lie in the record. Records of 96 bytes, with all of a key and a pointer to the
// name, take a tenth more time among 100,000 keys.
//
//	go run ./bench -only 'memory/many/serial/.*/(floor|weir)'
type record struct {
	state  algorithm.State
	expiry algorithm.Instant
	packed uint32 // the number of the name, and 8 bits: the size of the key, or longKey, or 0: the record is free
	head   [headSize]byte
}

// tail has the bytes of a key behind the first headSize, where the key has at most shortKey bytes.
// The tails of a page of records lie beside each other, too, where a record of the page has one: a
// look-up reads the tail while it waits for the record. Longer keys are in a map.
type tail [tailSize]byte

const (
	headSize = 20
	tailSize = 32
	shortKey = headSize + tailSize
	longKey  = 255
)

// held reports whether the record holds a slot.
func (r *record) held() bool { return r.packed != 0 }

// size is the number of bytes of the key, or longKey.
func (r *record) size() int { return int(r.packed & 255) }

// name is the number of the name.
func (r *record) name() uint32 { return r.packed >> 8 }

// setKey sets the key and the number of the name of a record. It copies the key, which may be a part
// of a long text of which nothing else is needed.
func (t *table) setKey(number uint32, key string, n uint32) {
	size := len(key)
	switch r := t.record(number); {
	case size <= headSize:
		copy(r.head[:], key)
	case size <= shortKey:
		copy(r.head[:], key)
		copy(t.newTail(number)[:], key[headSize:])
	default:
		size = longKey
		if t.long == nil {
			t.long = make(map[uint32]string)
		}
		t.long[number] = strings.Clone(key)
	}
	t.record(number).packed = n<<8 | uint32(size)
}

// hasLonger reports whether a record has a given key, which has more than headSize bytes.
func (t *table) hasLonger(number uint32, key string) bool {
	r := t.record(number)
	if len(key) > shortKey {
		return r.size() == longKey && t.long[number] == key
	}
	return r.size() == len(key) && string(r.head[:]) == key[:headSize] &&
		string(t.tail(number)[:len(key)-headSize]) == key[headSize:]
}

// key returns the key of a record that is held. It allocates.
func (t *table) key(number uint32) string {
	r := t.record(number)
	switch size := r.size(); {
	case size == longKey:
		return t.long[number]
	case size > headSize:
		return string(r.head[:]) + string(t.tail(number)[:size-headSize])
	default:
		return string(r.head[:size])
	}
}

// nameOf returns the name of a record that is held.
func (t *table) nameOf(number uint32) unique.Handle[name] {
	return t.names.all[t.record(number).name()].name
}

// tail returns the tail of a record that has one.
func (t *table) tail(number uint32) *tail {
	return &t.tails[number/pageSize][number%pageSize]
}

// newTail returns the tail of a record. It makes room for the tails of the page where there is none.
func (t *table) newTail(number uint32) *tail {
	for uint32(len(t.tails)) <= number/pageSize {
		t.tails = append(t.tails, nil)
	}
	of := &t.tails[number/pageSize]
	if records := len(t.pages[number/pageSize]); len(*of) < records {
		larger := make([]tail, records)
		copy(larger, *of)
		*of = larger
	}
	return t.tail(number)
}

// clear frees a record.
func (t *table) clear(number uint32) {
	r := t.record(number)
	switch size := r.size(); {
	case size == longKey:
		delete(t.long, number)
	case size > headSize:
		*t.tail(number) = tail{}
	}
	t.names.release(r.name())
	*r = record{expiry: algorithm.Instant(t.free)}
	t.free = number + 1
}

// names gives numbers to the names that the records of a table use.
type names struct {
	all     []nameUse
	numbers map[unique.Handle[name]]uint32
	free    uint32 // the first free number, plus one; linked through records
}

type nameUse struct {
	name    unique.Handle[name]
	records uint32 // that use it; of a free number, the next free one, plus one
}

// maxNames is how many numbers fit into a record beside the size of the key. A store spreads its
// slots over 64 tables, so reaching it takes 10^9 limits in use, whose names take more than 200 GB.
const maxNames = 1 << 24

// use returns the number of a name, for one more record.
func (u *names) use(n unique.Handle[name]) uint32 {
	number, found := u.numbers[n]
	if !found {
		number = u.add(n)
	}
	u.all[number].records++
	return number
}

func (u *names) add(n unique.Handle[name]) uint32 {
	if u.numbers == nil {
		u.numbers = make(map[unique.Handle[name]]uint32)
	}
	number := uint32(len(u.all))
	if u.free != 0 {
		number = u.free - 1
		u.free = u.all[number].records
		u.all[number] = nameUse{name: n}
	} else {
		if number == maxNames {
			panic("memorystore: more than 2^24 limits in a shard")
		}
		u.all = append(u.all, nameUse{name: n})
	}
	u.numbers[n] = number
	return number
}

// release ends the use of a name by one record.
func (u *names) release(number uint32) {
	use := &u.all[number]
	if use.records--; use.records == 0 {
		delete(u.numbers, use.name)
		*use = nameUse{records: u.free}
		u.free = number + 1
	}
}
