package conformance

import (
	"strconv"
	"strings"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// keyChecks are about what tells slots apart: all of key, limit name and kind,
// and nothing else.
func keyChecks() []Check {
	return []Check{
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
		checkOf("key/and-limit-name", "T9",
			"key and limit name are kept apart where they would be the same one after the other; a name may be empty",
			func(w *checkWorld) { w.mustBeKeptApart(shiftedSlots()) }),
		checkOf("key/among-many", "J1 T6",
			"what a thousand other keys do, two hundred in the quick profile, changes nothing of a key's answers", keyAmongMany),
		checkOf("key/and-kind", "K6",
			"the kinds of algorithm of one key and limit name have states of their own",
			func(w *checkWorld) {
				w.mustBeKeptApart(append(w.slots("a", "l"), w.slots("a", "")...))
			}),
	}
}

// keySlot is a slot of three units.
func keySlot(key, limit string) store.Slot {
	return store.Slot{Key: key, Limit: limit, Algorithm: algorithm.Must(algorithm.ParseSpec("gcra:3/8760h"))}
}

// mustBeKeptApart takes from each slot in turn, one by one and all at once:
// where two are taken for one, there is less than there must be.
func (w *checkWorld) mustBeKeptApart(slots []store.Slot) {
	w.Helper()
	for _, s := range slots {
		w.mustRemain(s, checkCapacity(s.Algorithm))
		w.mustBe(true, checkOp(s.Key, s.Limit, s.Algorithm, 1))
	}
	for _, s := range slots {
		if _, custom := s.Algorithm.(checkPause); !custom {
			w.mustRemain(s, checkCapacity(s.Algorithm)-1)
		}
	}
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
	others, each := 1000, 250
	if quick() {
		others, each = 200, 100
	}
	a := w.limit("gcra:5/24h")
	watched := w.slots("watched", "l")
	left := make([]int64, len(watched))
	for i, s := range watched {
		if capacity := checkCapacity(s.Algorithm); i%2 == 0 {
			w.mustBe(true, store.Op{Slot: s, Request: algorithm.Request{Cost: capacity}})
		}
		ops := []store.Op{{Slot: s}}
		w.peek(ops...)
		left[i] = ops[0].Outcome.Remaining
	}
	for from := 0; from < others; from += each {
		for i := from; i < from+each; i++ {
			w.mustBe(true, checkOp("other:"+strconv.Itoa(i), "l", a, 1))
		}
		for i, s := range watched {
			w.mustRemain(s, left[i])
		}
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
