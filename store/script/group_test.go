package script

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// decided is what a group was told.
type decided struct {
	At        algorithm.Instant
	Committed bool
	Err       error
	Outcomes  []algorithm.Outcome
}

// prepareGroup returns a group that is ready to be sent.
func prepareGroup(t *testing.T, ctx context.Context, l *dispatcher, ops []store.Op) *pending {
	t.Helper()
	p := l.pending(ctx, 0, len(ops))
	copy(p.ops, ops)
	if scripted, err := p.prepare(l.store); err != nil || !scripted {
		t.Fatal(scripted, err)
	}
	return p
}

// waitFor returns the answer to a group that was sent.
func waitFor(p *pending, ops []store.Op) (algorithm.Instant, bool, error) {
	if err := p.dispatcher.wait(p); err != nil {
		return 0, false, err
	}
	return p.result(ops)
}

// sendTogether sends groups in one call, as if all had come while another call was in
// flight, and returns them when they are answered.
func sendTogether(t *testing.T, l *dispatcher, groups ...[]store.Op) (sent []*pending) {
	t.Helper()
	l.mu.Lock()
	for _, ops := range groups {
		p := prepareGroup(t, context.Background(), l, ops)
		l.batcher.Enqueue("", "", &p.group)
		sent = append(sent, p)
	}
	c := l.next()
	if c == nil || len(c.Groups) != len(groups) {
		t.Fatal("the groups do not leave together")
	}
	l.mu.Unlock()
	c.run(nil)
	if l.done(c) != nil {
		t.Fatal("a second call leaves")
	}
	return sent
}

// together is what groups that are sent together are answered.
func together(t *testing.T, l *dispatcher, groups ...[]store.Op) []decided {
	t.Helper()
	sent := sendTogether(t, l, groups...)
	all := make([]decided, len(groups))
	for i, p := range sent {
		ops := slices.Clone(groups[i])
		d := &all[i]
		d.At, d.Committed, d.Err = waitFor(p, ops)
		for _, op := range ops {
			d.Outcomes = append(d.Outcomes, op.Outcome)
		}
	}
	return all
}

// kindsOfGroups are an algorithm of each kind that admits a few units.
func kindsOfGroups(t *testing.T) (all []algorithm.Algorithm) {
	for _, kind := range kindsUnderTest {
		a, err := kind.build(algorithm.Rate{Units: 7, Per: 3 * time.Second}, 5)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

// groupOf is a group of ops on keys, each a number, with algorithms in turn.
func groupOf(kinds []algorithm.Algorithm, prefix string, costs map[int]int64, keys ...int) (ops []store.Op) {
	for _, key := range keys {
		cost, given := costs[key]
		if !given {
			cost = 1
		}
		ops = append(ops, store.Op{
			Slot:    store.Slot{Key: fmt.Sprintf("%s%d", prefix, key), Algorithm: kinds[key%len(kinds)]},
			Request: algorithm.Request{Cost: cost},
		})
	}
	return ops
}

// TestCorruptKeyFailsItsGroupAlone: of fifty groups in one call one has a key that is
// no state. It gets ErrCorrupt and nothing of it is written; the others, which share
// its other keys, are decided and written as if it were not there.
func TestCorruptKeyFailsItsGroupAlone(t *testing.T) {
	kinds := kindsOfGroups(t)
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w := dialWire(t, server)
		for i := range kinds {
			for place := range 3 {
				// The corrupt key is number i: of each kind, at each place in its group.
				with, without := fmt.Sprintf("with %d/%d:", i, place), fmt.Sprintf("without %d/%d:", i, place)
				var groups, others [][]store.Op
				for n := range 50 {
					keys := []int{20 + n%9, 40 + n%7, 60 + n} // many meet, and some are denied
					if n == 25 {
						keys = slices.Insert([]int{20 + n%9, 43}, place, i)
					} else {
						others = append(others, groupOf(kinds, without, nil, keys...))
					}
					groups = append(groups, groupOf(kinds, with, nil, keys...))
				}
				clock := &manualClock{at: 1_790_000_000_123_456}
				s := open(t, w, &Options{Clock: clock, Share: 50})
				name := s.name(&groups[25][place].Slot)
				if kinds[i].Spec().Kind == algorithm.KindSlidingLog {
					w.ask(t, "RPUSH", name, "not an instant")
				} else {
					w.ask(t, "SET", name, "not a state", "PX", "5000000")
				}
				before := untouched(t, w, name)
				got, want := together(t, &s.takes, groups...), together(t, &s.takes, others...)
				if err := got[25].Err; !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), fmt.Sprintf("op %d", place)) {
					t.Errorf("%v at %d: %v", kinds[i], place, err)
				}
				if after := untouched(t, w, name); after != before {
					t.Errorf("%v: it was %s, and is %s", kinds[i], before, after)
				}
				if diff := cmp.Diff(want, slices.Delete(got, 25, 26)); diff != "" {
					t.Errorf("%v at %d (-without +with the corrupt key):\n%s", kinds[i], place, diff)
				}
				for n := range others {
					for k := range others[n] {
						kind := others[n][k].Algorithm.Spec().Kind
						n25 := n
						if n >= 25 {
							n25++
						}
						a, b := stored(w, s.name(&others[n][k].Slot), kind), stored(w, s.name(&groups[n25][k].Slot), kind)
						if a != b {
							t.Errorf("%v at %d: group %d leaves %q, without the corrupt key %q", kinds[i], place, n25, b, a)
						}
					}
				}
			}
		}
	})
}

// TestGroupsAreDecidedOneAfterTheOther: a call of many groups is the groups in order,
// each a call of its own at the same instant.
func TestGroupsAreDecidedOneAfterTheOther(t *testing.T) {
	kinds := kindsOfGroups(t)
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w, r := dialWire(t, server), random(t)
		for round := range fewer(20) {
			clock := &manualClock{at: 1_790_000_000_123_456}
			shared, single := fmt.Sprintf("shared %d:", round), fmt.Sprintf("single %d:", round)
			s := open(t, w, &Options{Clock: clock, Share: 1000})
			for range 3 {
				var groups [][]store.Op
				var want []decided
				for range 1 + r.IntN(60) {
					keys := r.Perm(12)[:1+r.IntN(4)]
					costs := map[int]int64{}
					for _, key := range keys {
						costs[key] = r.Int64N(4)
					}
					groups = append(groups, groupOf(kinds, shared, costs, keys...))
					want = append(want, together(t, &s.takes, groupOf(kinds, single, costs, keys...))...)
				}
				if diff := cmp.Diff(want, together(t, &s.takes, groups...)); diff != "" {
					t.Fatalf("(-one by one +together):\n%s", diff)
				}
				for key := range 12 {
					a, b := groupOf(kinds, shared, nil, key)[0], groupOf(kinds, single, nil, key)[0]
					kind := a.Algorithm.Spec().Kind
					if got, want := stored(w, s.name(&a.Slot), kind), stored(w, s.name(&b.Slot), kind); got != want {
						t.Fatalf("key %d: together leaves %q, one by one %q", key, got, want)
					}
					if got, want := w.ask(t, "PTTL", s.name(&a.Slot)), w.ask(t, "PTTL", s.name(&b.Slot)); (got == "-1" || got == "-2") != (want == "-1" || want == "-2") {
						t.Fatalf("key %d: together lives %s ms, one by one %s", key, got, want)
					}
				}
				clock.set(clock.at + algorithm.Instant(r.Int64N(2_000_000)))
			}
		}
	})
}

// TestCallReadsTheClockOnce (C8): one TIME for all groups, one for a single op, none
// with a clock of the caller; and a call that refuses writes nothing.
func TestCallReadsTheClockOnce(t *testing.T) {
	kinds := kindsOfGroups(t)
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		w := dialWire(t, server)
		for _, clock := range []store.Clock{nil, &manualClock{at: 5}} {
			s := open(t, w, &Options{Clock: clock, Prefix: fmt.Sprintf("%v:", clock == nil)})
			var groups [][]store.Op
			for n := range 30 {
				groups = append(groups, groupOf(kinds, "", nil, n, n+1, n+2))
			}
			calls := map[string]func(){
				"list": func() { together(t, &s.takes, groups...) },
				"look": func() { together(t, &s.looks, groups...) },
			}
			for i, a := range kinds {
				calls["single "+a.Spec().Kind] = func() { together(t, &s.takes, groupOf(kinds, "single", nil, i)) }
			}
			for name, call := range calls {
				call() // the script is known from now on
				m := server.Monitor(t)
				call()
				times, writes := 0, 0
				for _, line := range m.Lines() {
					_, command, _ := strings.Cut(line, ` lua] "`)
					command, _, _ = strings.Cut(command, `"`)
					if command == "TIME" {
						times++
					}
					if luaWrites[command] {
						writes++
					}
				}
				want := 1
				if clock != nil {
					want = 0
				}
				if times != want {
					t.Errorf("%s reads the clock %d times, want %d", name, times, want)
				}
				if (writes == 0) != (name == "look") {
					t.Errorf("%s writes %d times", name, writes)
				}
				m.Stop()
			}
		}
	})
}
