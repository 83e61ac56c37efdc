package acceptance_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// oddKeys are keys that a careless name would mix up or choke on.
func oddKeys() []string {
	huge := strings.Repeat("k", 1<<20)
	return []string{
		"alice", "{alice}", "{alice", "alice}", "a}b{c", "a{b}c", "b", "{b}", "{b}c", "}x", "{}", "{}x", "{{}}", "{", "}", "%", "%7B",
		"%25", "%#", "{a}{b}", "a b", "a  b", "a\nb", "a\r\nb", "\x00", "a\x00b", "\xff\xfe", "é", "e\u0301", "*", "[a]", "\\", "\"", "'",
		"a:gcra/1:", "a:gcra/1", "a", "a:", ":", "w{a}G", "G", "aG", "check", " ", strings.Repeat("k", 200), strings.Repeat("k", 201),
		strings.Repeat("k", 202), huge, huge[1:] + "l", "{" + huge + "}", "{t}" + huge, "{t}" + huge[1:] + "l",
	}
}

// TestKeysAreKeptApart: whatever a key contains, it has a budget of its own, with every
// algorithm, and so has every limit of it.
func TestKeysAreKeptApart(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		s := e.store(t, nil)
		for _, name := range kindNames {
			a := longest(name, 5)
			admitted, denied := map[string]int{}, map[string]int{}
			for range 6 { // in turn, so that keys that share a budget are in each other's way
				for _, key := range oddKeys() {
					if mustApply(t, s, op(key, "", a, 1)) {
						admitted[key]++
					} else {
						denied[key]++
					}
				}
			}
			for _, key := range oddKeys() {
				if admitted[key] != 5 || denied[key] != 1 {
					t.Errorf("%s: %.20q: %d admitted and %d denied, of 5 and one more", name, key, admitted[key], denied[key])
				}
			}
			if n := e.server.Do("DBSIZE"); n != int64(len(oddKeys())) {
				t.Errorf("%s: %v keys are stored, for %d", name, n, len(oddKeys()))
			}
			e.server.Do("FLUSHALL")
			_, _, err := s.Apply(context.Background(), []store.Op{op("", "", a, 1)})
			wantKind(t, name+": empty key", err, "invalid")
			// Also in one step, where each is in the reply.
			var ops []store.Op
			for _, key := range oddKeys() {
				ops = append(ops, op(key, "", a, 5))
			}
			if !mustApply(t, s, ops...) || mustApply(t, s, ops...) {
				t.Errorf("%s: all keys together", name)
			}
			for i := range ops {
				if err := s.Reset(context.Background(), []store.Slot{ops[i].Slot}); err != nil {
					t.Fatal(err)
				}
				if left := e.server.Do("DBSIZE"); left != int64(len(ops)-1-i) {
					t.Fatalf("%s: a Reset of %.20q has left %v keys, of %d", name, ops[i].Key, left, len(ops))
				}
			}
		}
	})
}

// TestNamesDoNotJoin: key and name of a limit are told apart by structure, not by what
// comes out when they are joined.
func TestNamesDoNotJoin(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		s := e.store(t, nil)
		other := e.store(t, &storeOptions{Prefix: "wx"})
		a := longest("gcra", 1)
		slots := [][2]string{
			{"type", "example"}, {"type_example", ""}, {"typeexample", ""}, {"type:example", ""}, {"type", "_example"},
			{"a", "b:c"}, {"a:b", "c"}, {"a", "b:gcra/1:c"}, {"a", "Gb"}, {"aG", "b"}, {"{a}", "x:y"}, {"{a}x", "y"}, {"a:gcra/1:b", "c"}, {"a:gcra/1", "b:c"}, {"{a}", "b:c"},
			{"a", ":"}, {"a:", ""}, {"a", ""}, {"a", "%3A"}, {"a", "%"}, {"a", "{b}"}, {"a{b}", ""}, {"a", "\x00"}, {"a\x00", ""},
			{"{a}x", "b:gcra/1:c"}, {"{a}x:gcra/1:b", "c"}, {"{a}x:gcra/1", "b:c"}, {"{a}", "x"}, {"{a}x", ""},
		}
		for round := range 2 {
			for _, slot := range slots {
				if got := mustApply(t, s, op(slot[0], slot[1], a, 1)); got != (round == 0) {
					t.Errorf("round %d, %q: admitted %v", round, slot, got)
				}
			}
		}
		for _, slot := range slots {
			if !mustApply(t, other, op(slot[0], slot[1], a, 1)) {
				t.Errorf("%q shares its budget with another prefix", slot)
			}
		}
		// Also where the parts are drawn from what separates them.
		parts := []string{"a", ":", "{", "}", "%", "gcra/1", "3A", " "}
		random := rand.New(rand.NewPCG(3, 4))
		join := func() (text string) {
			for range random.IntN(5) {
				text += parts[random.IntN(len(parts))]
			}
			return text
		}
		var seen [][2]string
		for range 500 * rounds() {
			slot := [2]string{[]string{"x", "{a}", "{a", "a}"}[random.IntN(4)] + join(), join()}
			if admitted, known := mustApply(t, s, op(slot[0], slot[1], a, 1)), slices.Contains(seen, slot); admitted == known {
				t.Fatalf("%q: admitted %v, seen before %v", slot, admitted, known)
			}
			seen = append(seen, slot)
		}
	})
}

// TestSameSlotTwiceIsRefused before anything is sent, and so is more than a thousand.
func TestSameSlotTwiceIsRefused(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		s := e.store(t, nil)
		a, b := longest("gcra", 5), longest("gcra", 9)
		e.server.Do("CONFIG", "RESETSTAT")
		for what, want := range map[string]string{"twice": "duplicate", "twice with other numbers": "duplicate", "too many": "invalid", "none": "invalid", "cost below 0": "invalid"} {
			ops := []store.Op{op("user", "x", a, 1), op("other", "x", a, 1), op("user", "x", a, 1)}
			switch what {
			case "twice with other numbers":
				ops[2] = op("user", "x", b, 2)
			case "too many":
				ops = thousand(a, store.MaxOps+1)
			case "none":
				ops = nil
			case "cost below 0":
				ops = []store.Op{op("user", "x", a, 1), op("other", "x", a, -3)}
			}
			_, _, err := s.Apply(context.Background(), ops)
			wantKind(t, what, err, want)
			_, err = s.Peek(context.Background(), ops)
			wantKind(t, "peek "+what, err, want)
		}
		if n := calls(e.server, "evalsha") + calls(e.server, "evalsha_ro"); n != 0 {
			t.Errorf("%d calls were sent", n)
		}
		// The same key under another limit or another algorithm is another slot.
		if !mustApply(t, s, op("user", "x", a, 5), op("user", "y", a, 5), op("user", "x", longest("fixed-window", 5), 5)) {
			t.Error("three slots of one key: was denied")
		}
	})
}

// TestThousandLimitsTakeOneRoundTrip: one Take, all or nothing.
func TestThousandLimitsTakeOneRoundTrip(t *testing.T) {
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		s := e.store(t, nil)
		take := multi(t, s)
		for _, k := range []int{2, 10, 1000} {
			e.server.Do("FLUSHALL")
			ops := thousand(nil, k)
			if r, err := take.Peek(patient(t), asks(ops)...); err != nil || !r.Allowed {
				t.Fatalf("%d: %v, %v", k, r.Allowed, err)
			}
			if r, err := take.Take(patient(t), asks(ops)...); err != nil || !r.Allowed || len(r.Decisions) != k {
				t.Fatalf("%d: %v, %v", k, r.Allowed, err)
			}
			e.server.Do("CONFIG", "RESETSTAT")
			r, err := take.Take(patient(t), asks(ops)...)
			if err != nil || !r.Allowed {
				t.Fatalf("%d: %v, %v", k, r.Allowed, err)
			}
			if n := calls(e.server, "evalsha"); n != 1 || errorReplies(e.server, "NOSCRIPT") != 0 {
				t.Errorf("%d ops took %d calls", k, n)
			}
			// The last one has no room any more: nobody is charged.
			ops[k-1].Request.Cost = 4
			r, err = take.Take(patient(t), asks(ops)...)
			if err != nil || r.Allowed || r.Binding != k-1 || !r.Decisions[0].Allowed || r.Decisions[k-1].Allowed {
				t.Errorf("%d: denied by its last: %v, %v, binding %d", k, r.Allowed, err, r.Binding)
			}
			for i := range ops {
				if left := r.Decisions[i].Remaining; left != 3 {
					t.Errorf("%d: op %d has %d left, want 3", k, i, left)
				}
			}
		}
	})
}

// thousand are n ops of different kinds, or of a, with a cost of 1 of 5.
func thousand(a algorithm.Algorithm, n int) []store.Op {
	ops := make([]store.Op, n)
	for i := range ops {
		ops[i] = op(fmt.Sprint("user", i/7), fmt.Sprint(i%7), longest(kindNames[i%len(kindNames)], 5), 1)
		if a != nil {
			ops[i].Algorithm = a
		}
	}
	return ops
}

// TestKeysOfAClusterAreKeptApart: also keys with braces, which say where a cluster puts them.
func TestKeysOfAClusterAreKeptApart(t *testing.T) {
	eachSeveral(t, naturalPairs(), func(t *testing.T, e *env) {
		s := e.store(t, nil)
		keys := []string{"alice", "{alice}", "a}b{c", "}x", "{}", "a key", "a\nkey"}
		for _, name := range kindNames {
			a := longest(name, 5)
			for call := range 6 { // in turn, so that keys that share a budget are in each other's way
				for _, key := range keys {
					if admitted := mustApply(t, s, op(key, "", a, 1)); admitted != (call < 5) {
						t.Errorf("%s: %q: call %d of 5 and one more: %v", name, key, call+1, admitted)
					}
				}
			}
			_, _, err := s.Apply(context.Background(), []store.Op{op("", "", a, 1)})
			wantKind(t, name+": empty key", err, "invalid")
		}
	})
}
