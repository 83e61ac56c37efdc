package checks

import (
	"strings"

	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// keyChecks are about what tells slots apart: all of key, limit name and kind, and
// nothing else.
func keyChecks() []world.Check {
	apart := func(slots func() []store.Slot) func(w *world.World) {
		return func(w *world.World) { mustBeKeptApart(w, slots()) }
	}
	return []world.Check{
		check("key/and-limit-name", "T9", 0,
			"key and limit name are kept apart where they would be the same one after the other; a name may be empty", apart(joinedSlots)),
		check("key/any-bytes", "T9", 0,
			"keys are kept apart whatever bytes they consist of", apart(hostileSlots)),
		check("key/long", "T9", 0,
			"long keys are kept apart by all of their bytes", apart(longSlots)),
		check("key/and-kind", "K6", 0,
			"the kinds of algorithm of one key and limit name have states of their own",
			func(w *world.World) { mustBeKeptApart(w, append(w.Slots("a", "l"), w.Slots("a", "")...)) }),
	}
}

// amongManyChecks are about one key beside many others.
func amongManyChecks() []world.Check {
	return []world.Check{
		check("key/among-many", "J1 T6", 0,
			"what a thousand other keys do changes nothing of a key's answers", keyAmongMany),
	}
}

// keySlot is a slot of three units.
func keySlot(key, limit string) store.Slot {
	return world.SlotOf(key, limit, world.Limit("gcra:3/8760h"))
}

// mustBeKeptApart takes from each slot in turn, and then of all together: where
// two are taken for one, there is less than there must be.
func mustBeKeptApart(w *world.World, slots []store.Slot) {
	w.Helper()
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

// hostileSlots have keys that a store may take for something else.
func hostileSlots() []store.Slot {
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
func longSlots() []store.Slot {
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
func joinedSlots() []store.Slot {
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
