package checks

import (
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// mustNotChange takes nothing, a part or all of a key of each kind, makes calls
// that must have no effect, and takes what must remain.
func mustNotChange(w *world.World, calls func(s store.Slot, capacity int64)) {
	for s, capacity := range w.SomeLimits() {
		for _, part := range []int64{0, 1, capacity, capacity / 2}[:w.Often(4, 3)] {
			if part > 0 {
				w.Apply(world.Op(s, part))
			}
			left := w.Look(s).Remaining
			calls(s, capacity)
			w.MustRemain(s, left)
			if left < capacity {
				w.MustDeny(world.Op(s, left+1))
			}
			if left > 0 {
				w.MustCommit(world.Op(s, left))
			}
			w.Reset(s)
		}
	}
}

func peekChangesNothing(w *world.World) {
	mustNotChange(w, func(s store.Slot, capacity int64) {
		now := w.Now()
		for _, cost := range []int64{0, 1, capacity, capacity + 1} {
			w.Peek(world.Op(s, cost))
		}
		for _, by := range []time.Duration{time.Microsecond, -time.Second, 500 * time.Millisecond} {
			w.Advance(by)
			w.Peek(world.Op(s, 1))
		}
		w.SetClock(now)
		if w.Can(world.NeedsOps) {
			w.Peek(world.Op(s, 1), world.Take(s.Key, "other", s.Algorithm, 1))
		}
	})
}

func lookChangesNothing(w *world.World) {
	mustNotChange(w, func(s store.Slot, _ int64) {
		w.MustCommit(world.Op(s, 0))
		now := w.Now()
		w.Advance(-500 * time.Millisecond)
		if w.Can(world.NeedsOps) {
			w.MustCommit(world.Op(s, 0), world.Take(s.Key, "other", s.Algorithm, 0))
		}
		w.SetClock(now)
	})
}

func denialChangesNothing(w *world.World) {
	mustNotChange(w, func(s store.Slot, capacity int64) {
		for range w.Often(5, 2) {
			w.MustDeny(world.Op(s, capacity+1))
		}
	})
}

func resetOne(w *world.World) {
	var slots []store.Slot
	for _, place := range [][2]string{{"a", "l"}, {"a", "m"}, {"al", ""}, {"b", "l"}}[:w.Often(4, 3)] {
		slots = append(slots, w.Slots(place[0], place[1])...)
	}
	full, left := world.Capacities(slots), make([]int64, len(slots))
	w.MustTakeAll(slots, full)
	for i, s := range slots {
		w.Reset(s)
		left[i] = full[i]
		w.MustAllRemain(slots, left)
	}
	w.MustTakeAll(slots, full)
	w.Reset(slots[1:5]...)
	clear(left)
	copy(left[1:5], full[1:5])
	w.MustAllRemain(slots, left)
	// The parameters do not belong to the place.
	last := slots[len(slots)-len(w.Kinds())] // the first kind
	w.MustRemain(last, 0)
	w.Reset(world.SlotOf(last.Key, last.Limit, world.Limit(w.Kinds()[0].Name+":1/1s")))
	w.MustBeFresh(last)
	// Many in one call.
	var many []store.Slot
	for i := range 40 {
		many = append(many, keySlot("key"+strconv.Itoa(i), "l"))
	}
	w.MustTakeAll(many, world.Capacities(many))
	w.Reset(many...)
	w.MustBeFresh(many...)
}

// logEntries fills logs entry by entry, each at an instant of its own.
func logEntries(w *world.World) {
	for _, f := range algorithm.Families() {
		if !f.Log {
			continue
		}
		w.StartAt(world.Start)
		const limit = 2500
		n := w.Often(2100, 1010)
		s := world.SlotOf("a", "l", w.Limit(f.Name+":"+strconv.Itoa(limit)+"/24h"))
		for range n {
			w.MustCommit(world.Op(s, 1))
			w.Advance(time.Microsecond)
		}
		w.MustDeny(world.Op(s, int64(limit-n+1)))
		w.MustCommit(world.Op(s, int64(limit-n)))
		w.Reset(s)
		w.MustBeFresh(s)
	}
}

func resetTwice(w *world.World) {
	slots := w.Slots("a key", "l")
	w.Reset()
	for range 2 {
		w.Reset(slots...)
		w.Reset(slots...)
		w.MustBeFresh(slots...)
		for _, s := range slots {
			w.MustCommit(world.Op(s, 1))
		}
	}
	w.Reset(slots...)
	w.Reset(slots...)
	first := slots[0]
	w.MustCommit(world.Op(first, 1))
	for _, bad := range []struct {
		what   string
		slot   store.Slot
		target error
	}{
		{"Reset of an empty key", store.Slot{Limit: "l", Algorithm: first.Algorithm}, store.ErrInvalid},
		{"Reset without an algorithm", store.Slot{Key: "a key"}, store.ErrInvalid},
		{"Reset of a slot twice", first, store.ErrDuplicateSlot},
	} {
		err := w.Store.Reset(background, []store.Slot{first, bad.slot})
		w.MustBeError(bad.what, err, bad.target, []store.Op{world.Op(bad.slot, 0)})
	}
	w.MustRemain(first, world.Capacity(first.Algorithm)-1)
}

// keySlot is a slot of three units.
func keySlot(key, limit string) store.Slot {
	return world.SlotOf(key, limit, world.Limit("gcra:3/8760h"))
}

// mustBeKeptApart takes from each slot in turn, and then of all together: where
// two are taken for one, there is less than there must be.
func mustBeKeptApart(w *world.World, slots []store.Slot) {
	left := make([]int64, len(slots))
	for i, s := range slots {
		ops := []store.Op{world.Op(s, 1)}
		w.MustCommit(ops...) // and be answered as a fresh key
		left[i] = ops[0].Outcome.Remaining
	}
	w.MustAllRemain(slots, left)
	w.Reset(slots[0])
	w.MustBeFresh(slots[0])
	if !w.Can(world.NeedsKeys) {
		return
	}
	w.MustCommit(world.Ops(slots, 0)...)
	again := world.Ops(slots, 1)
	for i := range again {
		if _, custom := slots[i].Algorithm.(world.Cooldown); custom { // it admits once
			again[i].Request.Cost = 0
		}
	}
	w.MustCommit(again...)
}

// keyAmongMany fills the store with others and looks at a few keys of which
// something was taken, one of them all. A number of keys that is bounded below that,
// and any place that two keys share, show here.
func keyAmongMany(w *world.World) {
	watched := w.Slots("watched", "l")
	costs := world.Capacities(watched)
	for i := range costs {
		if i%2 == 1 {
			costs[i] = 0
		}
	}
	w.MustTakeAll(watched, costs)
	left := w.Remaining(watched)
	for _, name := range []string{"a", "b", "c", "d"} {
		w.WriteOthers(name, 250)
		w.MustAllRemain(watched, left)
	}
}

// keptApart is a check of slots, which may depend on what the store can do.
func keptApart(slots func(w *world.World) []store.Slot) func(w *world.World) {
	return func(w *world.World) { mustBeKeptApart(w, slots(w)) }
}

// kindSlots are the kinds of algorithm of one key and limit name.
func kindSlots(w *world.World) []store.Slot {
	slots := append(w.Slots("a", "l"), w.Slots("a", "")...)
	if w.Can(world.NeedsCustom) {
		slots = append(slots, world.SlotOf("a", "l", world.NewCooldownOf("conformance.cooldown/2")), world.SlotOf("a", "l", world.NewCooldownOf("conformance.cooldown")))
	}
	return slots
}

// limitNameSlots have limit names that a store may take for something else, or cut off.
func limitNameSlots(*world.World) []store.Slot {
	var slots []store.Slot
	for _, name := range hostileTexts {
		slots = append(slots, keySlot("a", name))
	}
	for _, n := range []int{31, 32, 63, 64, 127, 128, 191, 192, 193, 199, 200, 201, 254, 255, 256, 257, 1024, 65_536} {
		long := strings.Repeat("n", n)
		slots = append(slots, keySlot("a", long), keySlot("a", long[:n-1]+"o"), keySlot("a", "o"+long[1:]))
	}
	return slots
}

// collidingSlots have keys and limit names with equal hashes: CRC-32, FNV-1, FNV-1a,
// that of Java.
func collidingSlots(*world.World) []store.Slot {
	var slots []store.Slot
	for _, pair := range [][2]string{
		{"plumless", "buckeroo"}, {"creamwove", "quists"}, {"costarring", "liquid"}, {"declinate", "macallums"}, {"Aa", "BB"},
	} {
		slots = append(slots, keySlot(pair[0], "l"), keySlot(pair[1], "l"), keySlot("a", pair[0]), keySlot("a", pair[1]))
	}
	return slots
}

// hostileSlots have keys that a store may take for something else.
func hostileSlots(*world.World) []store.Slot {
	var slots []store.Slot
	for _, key := range hostileTexts {
		slots = append(slots, keySlot(key, "l"))
	}
	return slots
}

var hostileTexts = []string{
	"a", "A", "aa", "aaa", "a:", ":a", "a:b", "a::b", "::", "a/b", "a|b", "a,b", "a.b", "a-b", "a_b",
	" ", "  ", "a ", " a", "a b", "a\tb", "a\nb", "a\r\nb", "\n",
	"\x00", "\x00\x00", "a\x00", "a\x00b", "\x00a",
	"{", "}", "{}", "{}a", "{a}", "{a}b", "a{b}", "a}b{c", "}x", "{{a}}", "{a", "a}", "{a}{b}",
	"%", "%7B", "%7Ba%7D", "%25", "%#", "%#a", "%%", "%s", "%d", "%00",
	"*", "?", "[a]", "a*", "\\", "\\x00", `"`, "'", "`", "$1", "${a}", "--", ";", "0", "1", "-1", "nil", "null",
	"\xff", "\xff\xfe", "\xc3\x28", "\xe2\x82", "é", "e\u0301", "\u00a0", "\u200b", "K", "\u212a", "ß", "ss", "İ", "日本語", "🙂",
	"__proto__", "gcra/1", "gcra/1:l", "l", "a:gcra/1:l", "2001:db8::1", "2001:db8:0:0::1",
}

// longSlots have keys that differ in one byte, at the end, in the middle, or by
// being longer, with lengths around those where a store may cut or digest.
func longSlots(*world.World) []store.Slot {
	var slots []store.Slot
	for _, n := range []int{31, 32, 63, 64, 127, 128, 199, 200, 201, 255, 256, 257, 511, 512, 1023, 1024, 4096, 65535, 65536, 1 << 18} {
		slots = append(slots, keySlot(strings.Repeat("k", n), "l"))
	}
	for _, n := range []int{200, 300, 70_000} {
		long := strings.Repeat("x", n)
		slots = append(slots,
			keySlot(long, "l"), keySlot(long+"a", "l"), keySlot(long+"b", "l"), keySlot("a"+long, "l"),
			keySlot(long[:n/2]+"y"+long[n/2+1:], "l"), keySlot(long[:n-1]+"\x00", "l"),
			keySlot("{"+long+"}", "l"), keySlot("{"+long+"}a", "l"), keySlot("{a}"+long, "l"))
	}
	long := strings.Repeat("n", 190)
	return append(slots, keySlot("a", long), keySlot("a", long+"o"), keySlot("an", long[1:]))
}

// joinedSlots are pairs that read the same where a store joins them.
func joinedSlots(*world.World) []store.Slot {
	pairs := [][2]string{
		{"ab", "c"}, {"a", "bc"}, {"abc", ""}, {"a", "c"}, {"a", ""}, {"b", ""}, {"c", "a"},
		{"a:b", "c"}, {"a", "b:c"}, {"a:", "b:c"}, {"a:b:", "c"}, {"a:b:c", ""}, {"a", ":b:c"}, {"a", "b:c:"},
		{"a\x00b", "c"}, {"a", "b\x00c"}, {"a\x00b\x00c", ""}, {"a", "\x00b\x00c"}, {"a\x00", "b\x00c"},
		{"a/b", "c"}, {"a", "b/c"}, {"{a}", "b"}, {"a", "{a}b"}, {"{a}b", ""}, {"a}", "{b"}, {"a}{b", ""},
		{"type_example", ""}, {"type", "_example"}, {"type", "example"}, {"type_", "example"},
		{"a", "gcra/1"}, {"a:gcra/1", ""}, {"a", "gcra/1:"}, {"a gcra/1", ""},
		{"a", " "}, {"a ", ""}, {"a", "\xff"}, {"a", "\xfe"}, {"a\xff", ""}, {"a", "%3A"}, {"a", ":"}, {"a%3A", ""},
	}
	slots := make([]store.Slot, len(pairs))
	for i, p := range pairs {
		slots[i] = keySlot(p[0], p[1])
	}
	return slots
}
