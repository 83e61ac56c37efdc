package script

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/loglist"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// logUnderTest counts what is younger than a second.
var logUnderTest = algorithm.Must(algorithm.NewSlidingLog(algorithm.PerSecond(10)))

// setList makes a list of elements.
func setList(t *testing.T, w *wire, name string, elements []string) {
	t.Helper()
	w.ask(t, "DEL", name)
	w.ask(t, append([]string{"RPUSH", name}, elements...)...)
	w.ask(t, "PEXPIRE", name, "5000000")
}

// TestCorruptLogsAreReportedAndKept (T10): the ends of a log are looked at in every
// call, and what lies between them where it has expired or where a denied caller has
// to know when it does. What is not read is not looked at: that is what makes a call
// cheap.
func TestCorruptLogsAreReportedAndKept(t *testing.T) {
	const now = algorithm.Instant(5_000_000)
	always := []string{
		"a", "4500000 a", "a 4500000", "-1", "-0", "00", "04500000", "4500000.0", "4.5e6", "0x5", "+4500000", "4500000:", ":", ":2", "4500000:2:3",
		"4500000:0", "4500000:1", "4500000:-1", "4500000:01", "4500000:02", "4500000:+2", "4500000:a", "4500000:2.0", "4500000:9007199254740992",
		"7000000000000001", "4500000 7000000000000001", "7000000000000001:2", "9007199254740992", "9007199254740991", "4500000 9007199254740992",
		"4600000 4500000", "4500001 4500000", "4500000 4500000", "+1", "+0", "+", "+:", "+1:0", "4500000+1", "4500000:2+1", "4500000+0", "+1 4500000:2",
		"+1:0 4500000:2", "4500000:2+01:0", "4500000+-1:0", "4500000:2+a:0", "4500000:2+1.0:0", "4500000:2+:0", "4500000:2++1:0", "4500000:2+1:",
		"4500000:2+1:00", "4500000:2+1:-1", "4500000:2+1:a", "4500000:2+1:0:0", "4500000:2+1:1048576", "4500000:2+9007199254740992:0", "4500000:2+0:0",
		"4500000:2+" + strings.Repeat("9", 30) + ":0", "4500000:2+1:" + strings.Repeat("9", 30), "4500000+1:0 4500001:3", "4500000 4500001:2+1:0",
		"4500000+1:0 4500001:2+1:0", "a+1:0 4500000:2", "4500000+1:0 a", "4500000 4500001:2", "4500000\x00", "\x004500000", "4500000\n", "\xff",
		strings.Repeat("9", 30), "4500000 " + strings.Repeat("9", 30),
	}
	expired := []string{"1 a 4500000", "1 2 3:1 4500000", "1 2:2 4500000", "1+1:0 2+1:0 4500000:2", "1+1:0 2 x:2 4500000", "1 2 3 4 5 6 7 8 9 10 11 a 4500000"}
	full := []string{
		"4500000 4500001 4500002 4500003 4500004 4500005 4500006 4500007 4500008 a 4500010",
		"4500000 4500001 4500002 4500003 4500004 4500005 4500006 4500007 4500008 4500009:2 4500010",
		"4500000+8:0 4500001:1 4500002:9", "4500000+1:0 +1 4500002 4500003 4500004 4500005 4500006 4500007 4500008 4500009 4500010:2",
		"4500000+10:0 4500001:9",
	}
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w, clock := dialWire(t, server), &manualClock{at: now}
		s := open(t, w, &Options{Clock: clock})
		slot := store.Slot{Key: "log", Algorithm: logUnderTest}
		for _, text := range append(always, expired...) {
			elements := strings.Split(text, " ")
			if !isDamaged(elements) {
				t.Errorf("%q is a log", text)
			}
			setList(t, w, s.name(&slot), elements)
			wantCorrupt(t, w, s, slot, fmt.Sprintf("%.60q", text))
		}
		for _, text := range full {
			setList(t, w, s.name(&slot), strings.Split(text, " "))
			before := untouched(t, w, s.name(&slot))
			ops := oneOp(slot.Key, logUnderTest)
			ops[0].Request.Cost = 9
			if _, _, err := s.Apply(context.Background(), ops); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("%q, when a cost of 9 is denied: %v", text, err)
			}
			if after := untouched(t, w, s.name(&slot)); after != before {
				t.Errorf("%q was changed", text)
			}
		}
	})
}

// isDamaged reports whether elements are not the list of a log from which nothing has
// left.
func isDamaged(elements []string) bool {
	text := loglist.Text(elements)
	return refusedByGo(logUnderTest, text) || !slices.Equal(loglist.Elements(text), elements)
}

// randomLog draws the elements of a log, often with one of them damaged.
func randomLog(r *rand.Rand, now algorithm.Instant) []string {
	var words []string
	at, extra := int64(now)-r.Int64N(3_000_000), int64(0)
	for range 1 + r.IntN(40) {
		at = max(0, at)
		word := strconv.FormatInt(at, 10)
		if r.IntN(3) == 0 {
			cost := 2 + r.Int64N(3)
			word, extra = word+":"+strconv.FormatInt(cost, 10), extra+cost-1
		}
		words = append(words, word)
		at += 1 + r.Int64N(150_000)
	}
	if extra > 0 {
		words = append([]string{"+" + strconv.FormatInt(extra, 10)}, words...)
	}
	words = loglist.Elements(strings.Join(words, " "))
	switch i := r.IntN(len(words)); r.IntN(6) {
	case 0, 1:
		if words[i] = strings.ReplaceAll(mangled(r, words[i]), " ", "_"); words[i] == "" {
			words[i] = "_"
		}
	case 2:
		k := r.IntN(len(words))
		words[i], words[k] = words[k], words[i]
	case 3:
		words = append(words[:i:i], words[i+1:]...)
		if len(words) == 0 {
			return []string{"_"}
		}
	}
	return words
}

// TestLogsThatGoAcceptsAreDecidedAsGoDoes: Lua finds no fault with a log that Go reads,
// decides it as Go does, and never answers with anything but a decision or ErrCorrupt
// where Go does not.
func TestLogsThatGoAcceptsAreDecidedAsGoDoes(t *testing.T) {
	const now = algorithm.Instant(5_000_000)
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w, r, clock := dialWire(t, server), random(t), &manualClock{at: now}
		s := open(t, w, &Options{Clock: clock})
		ops := oneOp("log", logUnderTest)
		name := s.name(&ops[0].Slot)
		damaged, seen := 0, 0
		for range fewer(1500) {
			elements := randomLog(r, now)
			text := loglist.Text(elements)
			setList(t, w, name, elements)
			before := untouched(t, w, name)
			ops[0].Request.Cost = r.Int64N(12)
			_, _, err := s.Apply(context.Background(), ops)
			changed := untouched(t, w, name) != before
			if err != nil && (changed || !errors.Is(err, store.ErrCorrupt)) {
				t.Fatalf("%q: %v; changed: %v", elements, err, changed)
			}
			if isDamaged(elements) {
				damaged++
				if err != nil {
					seen++
				}
				continue
			}
			if err != nil {
				t.Fatalf("%q is a log: %v", text, err)
			}
			state, _ := algorithm.ParseState(text)
			next, want := logUnderTest.Step(state, now, ops[0].Request)
			if diff := cmp.Diff(want, ops[0].Outcome); diff != "" {
				t.Fatalf("cost %d on %q (-want +got):\n%s", ops[0].Request.Cost, text, diff)
			}
			if got := stored(w, name, algorithm.KindSlidingLog); got != next.String() {
				t.Fatalf("cost %d on %q: stored %q, want %q", ops[0].Request.Cost, text, got, next)
			}
		}
		if damaged < fewer(200) || seen < damaged/4 {
			t.Errorf("%d logs were damaged and %d of them found", damaged, seen)
		}
	})
}
