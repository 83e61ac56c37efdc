package script

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// TestCoalescedGroupsAreDecidedOneAfterTheOther: callers who ask one slot for the same
// are decided at once, and each is answered, and the slot left, as if they had come
// one after the other.
func TestCoalescedGroupsAreDecidedOneAfterTheOther(t *testing.T) {
	kinds := kindsOfGroups(t)
	costs := []int64{0, 1, 1, 1, 2, 3, math.MaxInt64 / 3, math.MaxInt64}
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w, r := dialWire(t, server), random(t)
		for round := range fewer(40) {
			clock := &manualClock{at: 1_790_000_000_123_456}
			s := open(t, w, &Options{Clock: clock, Share: 1000})
			name := func(way string) string { return fmt.Sprintf("%s %d:", way, round) }
			for range 4 {
				d := &s.takes
				if r.IntN(4) == 0 {
					d = &s.looks
				}
				few := costs[r.IntN(len(costs)):]
				charges := r.IntN(2) == 0
				var groups [][]store.Op
				var want []decided
				for range 1 + r.IntN(60) {
					keys := []int{r.IntN(len(kinds))}
					if r.IntN(20) == 0 { // one that ends the runs of two keys
						keys = r.Perm(len(kinds))[:2]
					}
					cost := map[int]int64{keys[0]: few[r.IntN(min(2, len(few)))]}
					var wait time.Duration
					verb := algorithm.Take
					if r.IntN(4) == 0 {
						wait = time.Duration(r.IntN(3)) * 200 * time.Millisecond
					} else if charges {
						verb = algorithm.Charge
					}
					of := func(way string) []store.Op {
						ops := groupOf(kinds, name(way), cost, keys...)
						ops[0].Request.MaxDelay, ops[0].Request.Verb = wait, verb
						return ops
					}
					groups = append(groups, of("together"))
					want = append(want, together(t, d, of("alone"))...)
				}
				got := together(t, d, groups...)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("(-one by one +together):\n%s", diff)
				}
				for key := range kinds {
					kind := kinds[key].Spec().Kind
					a, b := groupOf(kinds, name("together"), nil, key)[0], groupOf(kinds, name("alone"), nil, key)[0]
					if got, want := stored(w, s.name(&a.Slot), kind), stored(w, s.name(&b.Slot), kind); got != want {
						t.Fatalf("%s: together leaves %q, one by one %q", kind, got, want)
					}
				}
				clock.set(clock.at + algorithm.Instant(r.Int64N(2_000_000)))
			}
		}
	})
}

// TestCoalescedGroupsAreSentAsOne: concurrent callers of one slot are one key and one
// request to decide, which is what makes it cheap.
func TestCoalescedGroupsAreSentAsOne(t *testing.T) {
	var sent []string
	s := open(t, clientFunc(func(_ context.Context, c *Command) (string, error) {
		sent = slices.Clone(c.Args)
		return "5;*2,", nil
	}), &Options{Share: 1000})
	got := together(t, &s.takes, oneOp("k", windowOf10), oneOp("k", windowOf10))
	if sent[2] != "1" || strings.Join(sent[len(sent)-4:], " ") != "0 2 1 2" {
		t.Errorf("%q is sent", sent)
	}
	for i, d := range got {
		if !d.Committed || d.Outcomes[0].Remaining != 9-int64(i) {
			t.Errorf("caller %d: %+v", i, d)
		}
	}
}

// TestCoalescedChargesAreSentAsOne: so are those who charge, as the service for Envoy does.
func TestCoalescedChargesAreSentAsOne(t *testing.T) {
	var sent []string
	s := open(t, clientFunc(func(_ context.Context, c *Command) (string, error) {
		sent = slices.Clone(c.Args)
		return "5;*3,0 9", nil
	}), &Options{Share: 1000})
	charge := func() []store.Op {
		ops := oneOp("k", windowOf10)
		ops[0].Request.Verb = algorithm.Charge
		return ops
	}
	got := together(t, &s.takes, charge(), charge(), charge())
	if sent[2] != "1" || strings.Join(sent[len(sent)-4:], " ") != "0 3 1 2" {
		t.Errorf("%q is sent", sent)
	}
	for i, d := range got {
		if o := d.Outcomes[0]; !d.Committed || o.Remaining != 0 || o.Debt != int64(i) {
			t.Errorf("caller %d: %+v", i, d)
		}
	}
}

// TestNameIsMadeOnceForCallersOfOneSlot: those who join another one need none. Whoever
// asks the slot for something else ends that, also with a limit of other parameters.
func TestNameIsMadeOnceForCallersOfOneSlot(t *testing.T) {
	windowOf20 := algorithm.Must(algorithm.NewFixedWindow(algorithm.PerSecond(20)))
	var keys string
	s := open(t, clientFunc(func(_ context.Context, c *Command) (string, error) {
		keys = c.Args[2]
		return "5;*2,;+0 2;*2,0 3;+", nil
	}), nil)
	sent := sendTogether(t, &s.takes, oneOp("k", windowOf10), oneOp("k", windowOf10), oneOp("k", windowOf20),
		oneOp("k", windowOf10), oneOp("k", windowOf10), oneOp("other", windowOf10))
	if keys != "4" {
		t.Errorf("%s requests, want 4", keys)
	}
	for i, want := range []int{1, 0, 1, 1, 0, 1} {
		if got := len(sent[i].names); got != want {
			t.Errorf("caller %d: %d names, want %d", i, got, want)
		}
	}
	for i, want := range []int64{9, 8, 17, 6, 5, 9} {
		ops := make([]store.Op, 1)
		if _, committed, err := waitFor(sent[i], ops); !committed || err != nil || ops[0].Outcome.Remaining != want {
			t.Errorf("caller %d: %v, %v, %d remain, want %d", i, committed, err, ops[0].Outcome.Remaining, want)
		}
	}
}

// TestRepliesToCoalescedGroups: one that is not of the script is a decision for nobody.
func TestRepliesToCoalescedGroups(t *testing.T) {
	three := [][]store.Op{oneOp("k", windowOf10), oneOp("k", windowOf10), oneOp("k", windowOf10)}
	var charged, denied *DisagreementError
	is := func(d decided, want any) bool {
		switch want := want.(type) {
		case bool:
			return d.Err == nil && d.Committed == want
		case *DisagreementError:
			return errors.As(d.Err, &want)
		}
		return errors.Is(d.Err, want.(error))
	}
	for reply, want := range map[string][3]any{
		"*3,":        {true, true, true},
		"*3,0 7":     {true, true, true},
		"*2,0 8":     {true, true, false},
		"*0,0 10":    {false, false, false},
		"*2,0 7":     {true, true, denied},
		"*3,0 8":     {true, true, charged},
		"*2,other":   {charged, charged, store.ErrCorrupt},
		"*0,other":   {store.ErrCorrupt, store.ErrCorrupt, store.ErrCorrupt},
		"!1":         {store.ErrCorrupt, store.ErrCorrupt, store.ErrCorrupt},
		"*4,":        {store.ErrOutcomeUnknown, store.ErrOutcomeUnknown, store.ErrOutcomeUnknown},
		"*-1,":       {store.ErrOutcomeUnknown, store.ErrOutcomeUnknown, store.ErrOutcomeUnknown},
		"*3":         {store.ErrOutcomeUnknown, store.ErrOutcomeUnknown, store.ErrOutcomeUnknown},
		"*":          {store.ErrOutcomeUnknown, store.ErrOutcomeUnknown, store.ErrOutcomeUnknown},
		"+":          {store.ErrOutcomeUnknown, store.ErrOutcomeUnknown, store.ErrOutcomeUnknown},
		"-0 10":      {store.ErrOutcomeUnknown, store.ErrOutcomeUnknown, store.ErrOutcomeUnknown},
		"":           {store.ErrOutcomeUnknown, store.ErrOutcomeUnknown, store.ErrOutcomeUnknown},
		"*1,;*1,;*1": {store.ErrOutcomeUnknown, store.ErrOutcomeUnknown, store.ErrOutcomeUnknown},
	} {
		s := open(t, answering("5;"+reply, nil), nil)
		for i, d := range together(t, &s.takes, three...) {
			if !is(d, want[i]) {
				t.Errorf("%q, caller %d: %+v", reply, i, d)
			}
		}
	}
	// Who looks has an answer for all in the form of one.
	for reply, want := range map[string]any{"+": true, "-0 10": false, "*3,": store.ErrUnavailable} {
		s := open(t, answering("5;"+reply, nil), nil)
		for i, d := range together(t, &s.looks, three...) {
			if !is(d, want) {
				t.Errorf("look, %q, caller %d: %+v", reply, i, d)
			}
		}
	}
}
