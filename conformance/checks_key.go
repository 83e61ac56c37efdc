package conformance

import (
	"strings"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// keyChecks are about what tells slots apart: all of key, limit name and kind,
// and nothing else.
func keyChecks() []Check {
	return []Check{
		checkOf("key/and-limit-name", "T9",
			"key and limit name are kept apart where they would be the same one after the other; a name may be empty",
			func(w *checkWorld) { w.mustBeKeptApart(shiftedSlots()) }),
		checkOf("key/any-bytes", "T9",
			"keys are kept apart whatever bytes they consist of", func(w *checkWorld) {
				var slots []store.Slot
				for _, key := range hostileKeys() {
					slots = append(slots, keySlot(key, "l"))
				}
				w.mustBeKeptApart(slots)
			}),
		checkOf("key/long", "T9",
			"long keys are kept apart by all of their bytes", func(w *checkWorld) {
				w.mustBeKeptApart(longKeySlots())
			}),
		checkOf("key/and-kind", "K6",
			"the kinds of algorithm of one key and limit name have states of their own",
			func(w *checkWorld) {
				w.mustBeKeptApart(append(w.slots("a", "l"), w.slots("a", "")...))
			}),
	}
}

// crowdedChecks are about one key beside many others.
func crowdedChecks() []Check {
	return []Check{
		checkOf("key/among-many", "J1 T6",
			"what a thousand other keys do changes nothing of a key's answers", keyAmongMany),
	}
}

// keySlot is a slot of three units.
func keySlot(key, limit string) store.Slot {
	return store.Slot{Key: key, Limit: limit, Algorithm: algorithm.Must(algorithm.ParseSpec("gcra:3/8760h"))}
}

// mustBeKeptApart takes from each slot in turn, and then of all together: where
// two are taken for one, there is less than there must be.
func (w *checkWorld) mustBeKeptApart(slots []store.Slot) {
	w.Helper()
	left := make([]int64, len(slots))
	for i, s := range slots {
		ops := []store.Op{checkOp(s.Key, s.Limit, s.Algorithm, 1)}
		w.mustBe(true, ops...) // and be answered as a fresh key
		left[i] = ops[0].Outcome.Remaining
	}
	w.mustAllRemain(slots, left)
	w.reset(slots[0])
	w.mustRemain(slots[0], checkCapacity(slots[0].Algorithm))
	if !w.can(needsKeys) {
		return
	}
	all := make([]store.Op, len(slots))
	for i, s := range slots {
		all[i] = checkOp(s.Key, s.Limit, s.Algorithm, 0)
	}
	w.mustBe(true, all...)
	for i := range all {
		if _, custom := slots[i].Algorithm.(checkPause); !custom {
			all[i].Request.Cost = 1
		}
	}
	w.mustBe(true, all...)
}

// keyAmongMany fills the store with others and looks at a few keys of which
// something was taken, one of them all. Memory bounded below so many slots, and
// any place that two keys share, show here.
func keyAmongMany(w *checkWorld) {
	watched := w.slots("watched", "l")
	costs := capacities(watched)
	for i := range costs {
		if i%2 == 1 {
			costs[i] = 0
		}
	}
	w.mustAllTake(watched, costs)
	left := w.remaining(watched)
	for _, name := range []string{"a", "b", "c", "d"} {
		w.others(name, 250)
		w.mustAllRemain(watched, left)
	}
}

func hostileKeys() []string {
	return []string{
		"a", "A", "aa", "aaa", "a:", ":a", "a:b", "a::b", "::", "a/b", "a|b", "a,b", "a.b", "a-b", "a_b",
		" ", "  ", "a ", " a", "a b", "a\tb", "a\nb", "a\r\nb", "\n",
		"\x00", "\x00\x00", "a\x00", "a\x00b", "\x00a",
		"{", "}", "{}", "{}a", "{a}", "{a}b", "a{b}", "a}b{c", "}x", "{{a}}", "{a", "a}", "{a}{b}",
		"%", "%7B", "%7Ba%7D", "%25", "%#", "%#a", "%%", "%s", "%d", "%00",
		"*", "?", "[a]", "a*", "\\", "\\x00", `"`, "'", "`", "$1", "${a}", "--", ";", "0", "1", "-1", "nil", "null",
		"\xff", "\xff\xfe", "\xc3\x28", "\xe2\x82", "é", "e\u0301", "\u00a0", "\u200b", "K", "\u212a", "ß", "ss", "İ", "日本語", "🙂",
		"__proto__", "gcra/1", "gcra/1:l", "l", "a:gcra/1:l", "2001:db8::1", "2001:db8:0:0::1",
	}
}

// longKeySlots are keys that differ in one byte, at the end, in the middle, or
// by being longer, with lengths around those where a store may cut or digest.
func longKeySlots() []store.Slot {
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

// shiftedSlots are pairs that read the same where a store joins them.
func shiftedSlots() []store.Slot {
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
