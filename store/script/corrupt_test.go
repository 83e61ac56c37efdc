package script

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// stringKinds are the kinds whose state is one string, each with the bounds of its
// words: the texts under test have words on both sides of them.
var stringKinds = []struct {
	algorithm algorithm.Algorithm
	words     []int64
}{
	{algorithm.Must(algorithm.NewGCRA(algorithm.Rate{Units: 7, Per: 3 * time.Second}, 10)), []int64{8_576_800_000_000_000, 2, 1, algorithm.MaxUnits}},
	{algorithm.Must(algorithm.NewLeakyBucket(algorithm.Rate{Units: 7, Per: 3 * time.Second}, 10)), []int64{8_576_800_000_000_000, 2, 1, algorithm.MaxUnits}},
	{algorithm.Must(algorithm.NewTokenBucket(algorithm.Rate{Units: 7, Per: 3 * time.Second}, 10)), []int64{int64(algorithm.MaxInstant), algorithm.MaxUnits, 2, maxMicros}},
	{algorithm.Must(algorithm.NewFixedWindow(algorithm.PerSecond(10))), []int64{int64(algorithm.MaxInstant), algorithm.MaxUnits}},
	{algorithm.Must(algorithm.NewSlidingCounter(algorithm.PerSecond(10))), []int64{int64(algorithm.MaxInstant), algorithm.MaxUnits}},
}

// refusedByGo says what a store in Go would say of a stored text.
func refusedByGo(a algorithm.Algorithm, text string) bool {
	state, err := algorithm.ParseState(text)
	return err != nil || state.Fresh() || checkState(a, state) != nil
}

// boundaryTexts are texts of one to five words, each of them on either side of a bound.
func boundaryTexts(bounds []int64) (texts []string) {
	words := []string{"0", "1", "-1", "9007199254740991", "9007199254740992", "-9007199254740991"}
	for _, bound := range bounds {
		for _, n := range []int64{bound - 1, bound, bound + 1} {
			words = append(words, strconv.FormatInt(n, 10))
		}
	}
	texts = append([]string(nil), words...)
	for last := texts; len(last[0]) > 0 && strings.Count(last[0], " ") < 2; {
		var longer []string
		for _, text := range last {
			for _, word := range words {
				longer = append(longer, text+" "+word)
			}
		}
		texts, last = append(texts, longer...), longer
	}
	// Pairs of a fraction and what it is over, behind words that are fine.
	for _, f := range words {
		for _, d := range words {
			for _, before := range []string{"0 ", "5 5 ", "7000000000000000 1000000000000 ", "5 5 5 "} {
				texts = append(texts, before+f+" "+d)
			}
		}
	}
	return texts
}

// damagedTexts are no states, or only by chance.
func damagedTexts(r *rand.Rand, count int) []string {
	texts := []string{
		"", " ", "  ", "\n", "\x00", "5\x00", "\x005", "5 5\x00", "5\x005", "a", "nil", "5 ", " 5", "5 5 ", " 5 5", "5  5", "5\t5", "5\n5", "5 5\n",
		"5,5", "5;5", "5:5", "+5", "+5 5", "5 +5", "-5", "-0", "0 -0", "-5 5", "05", "5 05", "00", "5 00", "5.0", "5.0 5", "5 5.5", "1e3", "5 1e3",
		"0x5", "5 0x5", "nan 5", "5 inf", "5 5 5 5 5", "5 5 5 5 5 5", "5 5 0", "5 5 00", "5 5 0 5", "0 0 0 0", "1 2 3 4", "5:2", "+1 5:2", "+1 5:2 6",
		strings.Repeat("9", 17), strings.Repeat("9", 400), strings.Repeat("5 ", 1000) + "5", strings.Repeat("5", 10_000), "{\"w\":5}", "\xff\xfe", "5 \u0665",
		"9007199254740993 5", "5 9007199254740993", "18446744073709551616 5", "5 5 5 9223372036854775808", "%d %d", "5 5)", "true",
	}
	for range count {
		var words []string
		for range 1 + r.IntN(4) {
			words = append(words, strconv.FormatInt(whole(r, mostNumber+10), 10))
		}
		texts = append(texts, mangled(r, strings.Join(words, " ")))
	}
	return texts
}

// decideOf is the beginning of the script for a batch, which defines all kinds for a
// call without requests. decide is that of one kind, and texts are the arguments.
func decideOf(s *source) string {
	kinds, _, _ := strings.Cut(batchProgram.text, placeOfKinds)
	return "local texts, ARGV = ARGV, { '', '', '0' }\n" + kinds + fmt.Sprintf("local decide = kinds['%d'].decide\n", s.index)
}

// TestLuaRefusesTheStatesThatGoRefuses (T10): the check of a state in Lua and that of
// ParseState and CheckState say the same of every text.
func TestLuaRefusesTheStatesThatGoRefuses(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w, r, s := dialWire(t, server), random(t), open(t, unused, nil)
		for _, kind := range stringKinds {
			limit, err := s.prepare(kind.algorithm)
			if err != nil {
				t.Fatal(err)
			}
			texts := append(boundaryTexts(kind.words), damagedTexts(r, fewer(8_000))...)
			for _, cost := range []int64{0, 1, 11} {
				numbers, err := limit.numbers(kind.algorithm, algorithm.Request{Cost: cost})
				if err != nil {
					t.Fatal(err)
				}
				program := decideOf(limit.source) + `
local out = {}
for i = 1, #texts do
  local a = decide(texts[i], 0, ` + strings.Join(numbers, ", ") + `)
  local b = decide(texts[i], 7000000000000000, ` + strings.Join(numbers, ", ") + `)
  out[i] = a == '!' and b == '!' and '!' or (a == '!' or b == '!') and '?' or '.'
end
return table.concat(out)`
				got := w.run(t, program, nil, texts)
				accepted := 0
				for i, text := range texts {
					want := byte('.')
					if refusedByGo(kind.algorithm, text) {
						want = '!'
					} else {
						accepted++
					}
					if got[i] != want {
						t.Fatalf("%v, cost %d: Lua says %c of %.60q, Go %c", kind.algorithm, cost, got[i], text, want)
					}
				}
				if accepted < 20 || accepted > len(texts)-fewer(1000) {
					t.Errorf("%v: %d of %d texts were states", kind.algorithm, accepted, len(texts))
				}
			}
		}
	})
}

// untouched is all that a server tells of a key.
func untouched(t *testing.T, w *wire, name string) string {
	t.Helper()
	return fmt.Sprintf("%q until %s", w.ask(t, "DUMP", name), w.ask(t, "PEXPIRETIME", name))
}

// wantCorrupt asks for a decision on a corrupt slot in every way, and looks that
// each is refused and nothing changes.
func wantCorrupt(t *testing.T, w *wire, s *Store, slot store.Slot, what string) {
	t.Helper()
	ctx, name := context.Background(), s.name(&slot)
	before := untouched(t, w, name)
	other := store.Op{Slot: store.Slot{Key: slot.Key + " other", Algorithm: everything}, Request: algorithm.Request{Cost: 1}}
	for _, cost := range []int64{0, 1, 1 << 60} {
		op := store.Op{Slot: slot, Request: algorithm.Request{Cost: cost}}
		for way, ops := range map[string][]store.Op{"alone": {op}, "first of a list": {op, other}, "last of a list": {other, op}} {
			if _, _, err := s.Apply(ctx, ops); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("%s: apply of cost %d, %s: %v", what, cost, way, err)
			}
			if _, err := s.Peek(ctx, ops); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("%s: peek of cost %d, %s: %v", what, cost, way, err)
			}
		}
	}
	if after := untouched(t, w, name); after != before {
		t.Errorf("%s: it was %s, and is %s", what, before, after)
	}
	if got := w.ask(t, "EXISTS", s.name(&other.Slot)); got != "0" {
		t.Errorf("%s: the other op of the group was charged", what)
	}
}

// TestCorruptStringsAreReportedAndKept (T10): whole value and time to live.
func TestCorruptStringsAreReportedAndKept(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w, r := dialWire(t, server), random(t)
		s := open(t, w, nil)
		for i, kind := range stringKinds {
			slot := store.Slot{Key: strconv.Itoa(i), Algorithm: kind.algorithm}
			for _, text := range damagedTexts(r, fewer(20)) {
				if refusedByGo(kind.algorithm, text) {
					w.ask(t, "SET", s.name(&slot), text, "PX", "5000000")
					wantCorrupt(t, w, s, slot, fmt.Sprintf("%v, %.60q", kind.algorithm, text))
				}
			}
		}
	})
}

// TestStatesWithinTheBoundsAreRead: what CheckState lets pass is decided as Go does.
func TestStatesWithinTheBoundsAreRead(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w, clock := dialWire(t, server), &manualClock{}
		s := open(t, w, &Options{Clock: clock})
		for i, kind := range stringKinds {
			texts := boundaryTexts(kind.words)
			for n := 0; n < len(texts); n += 1 + len(texts)/1500 {
				text := texts[n]
				if refusedByGo(kind.algorithm, text) {
					continue
				}
				state, _ := algorithm.ParseState(text)
				clock.set([]algorithm.Instant{0, 1_790_000_000_123_456, algorithm.MaxInstant}[n%3])
				ops := oneOp(strconv.Itoa(i), kind.algorithm)
				w.ask(t, "SET", s.name(&ops[0].Slot), text)
				if _, _, err := s.Apply(context.Background(), ops); err != nil {
					t.Fatalf("%v on %q: %v", kind.algorithm, text, err)
				}
				next, want := kind.algorithm.Step(state, clock.at, ops[0].Request)
				if diff := cmp.Diff(want, ops[0].Outcome); diff != "" {
					t.Errorf("%v on %q (-want +got):\n%s", kind.algorithm, text, diff)
				}
				if got := stored(w, s.name(&ops[0].Slot), kind.algorithm.Spec().Kind); got != next.String() {
					t.Errorf("%v on %q: stored %q, want %q", kind.algorithm, text, got, next)
				}
			}
		}
	})
}

// TestOtherTypesAreReportedAndKept (T10): a list where a string should be, and so on.
func TestOtherTypesAreReportedAndKept(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w := dialWire(t, server)
		s := open(t, w, nil)
		log := algorithm.Must(algorithm.NewSlidingLog(algorithm.PerSecond(10)))
		kinds := []algorithm.Algorithm{log}
		for _, kind := range stringKinds {
			kinds = append(kinds, kind.algorithm)
		}
		for _, a := range kinds {
			for made, command := range map[string][]string{
				"string": {"SET", "", "5"}, "empty string": {"SET", "", ""}, "list": {"RPUSH", "", "5", "6"}, "hash": {"HSET", "", "5", "6"},
				"set": {"SADD", "", "5"}, "zset": {"ZADD", "", "5", "6"}, "stream": {"XADD", "", "5-1", "6", "7"},
			} {
				if a == log && made == "list" || a != log && made == "string" {
					continue
				}
				slot := store.Slot{Key: "a " + made, Algorithm: a}
				command[1] = s.name(&slot)
				w.ask(t, command...)
				w.ask(t, "PEXPIRE", command[1], "5000000")
				wantCorrupt(t, w, s, slot, fmt.Sprintf("%v on a %s", a, made))
				if err := s.Reset(context.Background(), []store.Slot{slot}); err != nil {
					t.Error(err)
				}
				if _, committed, err := s.Apply(context.Background(), oneOp(slot.Key, a)); err != nil || !committed {
					t.Errorf("%v on a %s after Reset: %v, %v", a, made, committed, err)
				}
			}
		}
	})
}
