package memorystore

import (
	"fmt"
	"hash/maphash"
	"strconv"
	"strings"
	"testing"
	"unique"
	"unsafe"

	"github.com/weirgo/weir/algorithm"
	"pgregory.net/rapid"
)

// tableModel is a table beside Go's map, with a hash that can be made poor.
type tableModel struct {
	*rapid.T
	table table
	want  map[tableSlot]int64
	hash  func(key string, n unique.Handle[name]) uint64
}

type tableSlot struct {
	key  string
	name unique.Handle[name]
}

// mustAgree compares all of the table with the map, and looks into it: no place
// may name a free record, and every record must be found from its home.
func (m *tableModel) mustAgree() {
	m.Helper()
	if m.table.count != len(m.want) {
		m.Fatalf("the table counts %d slots, and holds %d", m.table.count, len(m.want))
	}
	for s, value := range m.want {
		r := m.table.find(m.hash(s.key, s.name), s.key, s.name)
		if r == nil || r.state.Word(0) != value {
			m.Fatalf("%q: got %+v, want the value %d", s.key, r, value)
		}
	}
	long, used := 0, map[unique.Handle[name]]bool{}
	for s := range m.want {
		used[s.name] = true
		if len(s.key) > shortKey {
			long++
		}
	}
	if len(m.table.long) != long || len(m.table.names.numbers) != len(used) {
		m.Fatalf("the table keeps %d long keys and %d names, for %d and %d", len(m.table.long), len(m.table.names.numbers), long, len(used))
	}
	filled := 0
	for place, p := range m.table.places {
		if p == 0 {
			continue
		}
		filled++
		number := m.table.number(uint32(place))
		if r := m.table.record(number); !r.held() {
			m.Fatalf("a place names the free record %d", number)
		}
		if h := m.table.hashes[number]; (p^h)&^m.table.mask() != 0 {
			m.Fatalf("the place %#x names the record %d, with the hash %#x", p, number, h)
		}
	}
	if filled != m.table.count || filled*8 > len(m.table.places)*7 {
		m.Fatalf("%d of %d places are filled, for %d slots", filled, len(m.table.places), m.table.count)
	}
}

func TestTableIsAMap(t *testing.T) {
	seed := maphash.MakeSeed()
	names := []unique.Handle[name]{unique.Make(name{kind: "gcra/1"}), unique.Make(name{limit: "l", kind: "gcra/1"})}
	rapid.Check(t, func(t *rapid.T) {
		// Few bits make many slots share a home or a whole hash, and clusters
		// wrap around the end.
		bits := rapid.SampledFrom([]uint64{0, 1<<32 - 1<<30, 3 << 32, 0xff << 32, 1<<64 - 1}).Draw(t, "bits of the hash")
		m := &tableModel{T: t, want: map[tableSlot]int64{}}
		m.hash = func(key string, n unique.Handle[name]) uint64 {
			return (maphash.String(seed, key) ^ maphash.Comparable(seed, n)) & bits
		}
		keys := rapid.IntRange(1, 400).Draw(t, "keys")
		// Some keys lie in their record, and some do not fit into it.
		head := strings.Repeat("k", rapid.SampledFrom([]int{0, headSize - 3, headSize - 2, headSize - 1, headSize, shortKey - 3, shortKey - 2, shortKey - 1, shortKey, 300}).Draw(t, "head"))
		for step := range rapid.IntRange(1, 600).Draw(t, "steps") {
			s := tableSlot{head + fmt.Sprint(rapid.IntRange(1, keys).Draw(t, "key")), rapid.SampledFrom(names).Draw(t, "name")}
			hash := m.hash(s.key, s.name)
			_, held := m.want[s]
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				m.table = m.table.compacted()
			case 1, 2, 3:
				if removed := m.table.remove(hash, s.key, s.name); removed != held {
					t.Fatalf("remove %q: %t, held: %t", s.key, removed, held)
				}
				delete(m.want, s)
			default:
				r := m.table.find(hash, s.key, s.name)
				if (r != nil) != held {
					t.Fatalf("find %q: %+v, held: %t", s.key, r, held)
				}
				if r == nil {
					var number uint32
					r, number = m.table.insert(hash, s.key, s.name)
					if m.table.record(number) != r || !r.state.Fresh() || r.expiry != 0 {
						t.Fatalf("a new record is %+v", r)
					}
				}
				r.state = algorithm.NewState(int64(step))
				m.want[s] = int64(step)
			}
			if step%50 == 0 {
				m.mustAgree()
			}
		}
		m.mustAgree()
	})
}

// Records are used again before new ones are made, in whatever order they were
// freed, so a table that breathes does not grow.
func TestTableReusesFreedRecords(t *testing.T) {
	var tab table
	n := unique.Make(name{limit: "", kind: "gcra/1"})
	hash := func(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 }
	key := func(i int) string { return fmt.Sprint(i) }
	const slots = 3 * pageSize
	for i := range slots {
		tab.insert(hash(i), key(i), n)
	}
	places := len(tab.places)
	for round := range 20 {
		for i := round % 3; i < slots; i += 3 {
			if !tab.remove(hash(i), key(i), n) {
				t.Fatalf("round %d: slot %d is gone", round, i)
			}
		}
		for i := round % 3; i < slots; i += 3 {
			tab.insert(hash(i), key(i), n)
		}
	}
	if tab.used != slots || len(tab.pages) != slots/pageSize || len(tab.places) != places {
		t.Errorf("%d slots take %d records, %d pages, %d places; at first %d places", slots, tab.used, len(tab.pages), len(tab.places), places)
	}
}

// Only the first page starts small, and no page moves once it is full: records
// of earlier pages stay where they are.
func TestTablePagesGrowAndStay(t *testing.T) {
	var tab table
	n := unique.Make(name{limit: "", kind: "gcra/1"})
	var first *record
	for i := range 2*pageSize + 1 {
		r, number := tab.insert(uint64(i)<<32, fmt.Sprint(i), n)
		if int(number) != i {
			t.Fatalf("record %d has the number %d", i, number)
		}
		switch i {
		case 0:
			if len(tab.pages[0]) != 4 {
				t.Errorf("the first page starts with %d records", len(tab.pages[0]))
			}
		case pageSize - 1:
			first = tab.record(0)
		case 2 * pageSize:
			if tab.record(0) != first || len(tab.pages) != 3 || len(tab.pages[2]) != pageSize {
				t.Errorf("a full page has moved, or %d pages of %d", len(tab.pages), len(tab.pages[2]))
			}
		}
		r.state = algorithm.NewState(int64(i))
	}
}

func TestTableCompactsWhatIsMostlyFree(t *testing.T) {
	var tab table
	n := unique.Make(name{limit: "", kind: "gcra/1"})
	h := func(i int) uint64 { return uint64(i+1) * 0x9e3779b97f4a7c15 }
	const slots = 10 * pageSize
	for i := range slots {
		tab.insert(h(i), fmt.Sprint(i), n)
	}
	for i := range slots {
		if sparse := tab.sparse(); sparse != (slots > 4*tab.count+slack) {
			t.Fatalf("with %d of %d records used: sparse is %t", tab.count, slots, sparse)
		}
		if i%20 != 0 {
			tab.remove(h(i), fmt.Sprint(i), n)
		}
	}
	kept := tab.count
	small := tab.compacted()
	if small.count != kept || int(small.used) != kept || small.free != 0 || len(small.pages) != (kept+pageSize-1)/pageSize {
		t.Errorf("%d slots take %d records on %d pages, first free %d", small.count, small.used, len(small.pages), small.free)
	}
	for i := 0; i < slots; i += 20 {
		if small.find(h(i), fmt.Sprint(i), n) == nil {
			t.Errorf("slot %d is gone", i)
		}
	}
	if none := (&table{}).compacted(); none.count != 0 || none.places != nil || none.pages != nil {
		t.Errorf("an empty table becomes %+v", none)
	}
}

// The name of a limit is forgotten with the last slot of the limit, and its number is used again.
func TestTableForgetsNames(t *testing.T) {
	var tab table
	named := func(i int) unique.Handle[name] { return unique.Make(name{limit: fmt.Sprint(i)}) }
	for i := range 100 {
		for _, key := range []string{"a", "b"} {
			tab.insert(uint64(i)<<40, key, named(i))
		}
		if i >= 3 {
			for _, key := range []string{"a", "b"} {
				if !tab.remove(uint64(i-3)<<40, key, named(i-3)) {
					t.Fatalf("the slot of %q and the limit %d is gone", key, i-3)
				}
			}
		}
	}
	if len(tab.names.all) != 4 || len(tab.names.numbers) != 3 {
		t.Errorf("3 limits in use take %d numbers and %d names", len(tab.names.all), len(tab.names.numbers))
	}
	for i := range 3 {
		if r := tab.find(uint64(97+i)<<40, "a", named(97+i)); r == nil {
			t.Errorf("the limit %d is gone", 97+i)
		}
		if r := tab.find(uint64(97+i)<<40, "a", named(96)); r != nil {
			t.Errorf("the limit 96 has the slot of the limit %d", 97+i)
		}
	}
}

// A record is a line of a cache, and full pages begin at one.
func TestRecordIsALine(t *testing.T) {
	if strconv.IntSize == 32 {
		t.Skip("int has 32 bits: a record takes 60 bytes")
	}
	if size := unsafe.Sizeof(record{}); size != 64 {
		t.Errorf("a record takes %d bytes", size)
	}
	var tab table
	for i := range 2 * pageSize {
		tab.insert(uint64(i)<<32, fmt.Sprint(i), unique.Make(name{}))
	}
	for page := range tab.pages {
		if at := uintptr(unsafe.Pointer(&tab.pages[page][0])); at%64 != 0 {
			t.Errorf("page %d begins %d bytes after a line", page, at%64)
		}
	}
}
