package script

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	"pgregory.net/rapid"
)

// onceOf is an ID that is remembered for an hour.
func onceOf(id string) store.Once { return store.Once{ID: id, TTL: time.Hour} }

// TestHalfRightsMakeAStepWithAnIDWholeOrNotAtAll: a user that may send some of the commands
// leaves a step that is charged and remembered, or one that is neither.
func TestHalfRightsMakeAStepWithAnIDWholeOrNotAtAll(t *testing.T) {
	eachServer(t, &servertest.Config{Users: []string{leastUser}}, func(t *testing.T, server *servertest.Server) {
		kinds := append(kindsOfGroups(t), rounds(3), logWithoutLua{logOf10})
		for _, missing := range missingRights() {
			if strings.Contains(missing, " ") && missing != "pexpire ltrim" && !strings.HasPrefix(missing, "set ") {
				continue // each alone, and some of two
			}
			setRights(server, missing)
			r := newRights(t, server, missing)
			for i, a := range kinds {
				for shape := range 3 {
					key := fmt.Sprintf("%s %d %d", missing, i, shape)
					op := func(part string, a algorithm.Algorithm) store.Op {
						return store.Op{Slot: store.Slot{Key: key + part, Algorithm: a}, Request: algorithm.Request{Cost: 1}}
					}
					ops := [][]store.Op{
						{op("", a)},
						{op("", a), op("log", logOf10)},
						{op("log", logOf10), op("other", logOf10), op("window", windowOf10)},
					}[shape]
					before := r.standings(t, ops)
					_, _, err := r.user.once(context.Background(), 0, onceOf("x"), ops)
					after := r.standings(t, ops)
					if missing == "pexpire ltrim" && errors.Is(err, store.ErrOutcomeUnknown) {
						continue // an entry that can neither live as long as it should nor be taken back
					}
					if err != nil && !errors.Is(err, store.ErrUnavailable) {
						t.Errorf("without %s: %v of %d: %v", missing, a, len(ops), err)
					}
					for k := range ops {
						if changed := after[k] != before[k]; changed == (err != nil) {
							t.Errorf("without %s: op %d of %d, %v: charged %v, %v", missing, k, len(ops), ops[k].Algorithm, changed, err)
						}
					}
					// With all rights the step is made now, or known.
					if _, committed, err := r.admin.once(context.Background(), 0, onceOf("x"), ops); err != nil || !committed {
						t.Errorf("without %s, and with all rights again: %v of %d: %v, %v", missing, a, len(ops), committed, err)
					}
					for k, o := range r.standings(t, ops) {
						if before[k].Remaining-o.Remaining < 1 || err == nil && o != after[k] {
							t.Errorf("without %s: op %d of %d, %v: in the end %+v, from %+v", missing, k, len(ops), ops[k].Algorithm, o, before[k])
						}
					}
				}
			}
			for _, name := range server.Do("KEYS", "*").([]any) {
				if left := server.Do("PTTL", name.(string)).(int64); left < 0 {
					t.Errorf("without %s: a key lives for %d ms", missing, left)
				}
			}
			setRights(server, "")
			server.Do("FLUSHALL")
		}
	})
}

// TestUserWithoutTheKeyOfTheIDChargesNothing: also where states may be written and IDs not,
// or the other way round.
func TestUserWithoutTheKeyOfTheIDChargesNothing(t *testing.T) {
	eachServer(t, &servertest.Config{Users: []string{leastUser}}, func(t *testing.T, server *servertest.Server) {
		for i, keys := range []string{"resetkeys %R~w{* ~w{*}I*", "resetkeys %R~w{* ~w{*}F* ~w{*}G* ~w{*}S*"} {
			server.Do(append([]string{"ACL", "SETUSER", "app"}, strings.Fields(keys)...)...)
			r := newRights(t, server, keys)
			for n, a := range []algorithm.Algorithm{windowOf10, everything, logOf10} {
				ops := oneOp(fmt.Sprint(i, n), a)
				if n == 1 {
					ops = append(ops, oneOp(fmt.Sprint(i, n, "log"), logOf10)...)
				}
				before := r.standings(t, ops)
				if _, _, err := r.user.once(context.Background(), 0, onceOf("x"), ops); !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("%s: %v: %v", keys, a, err)
				}
				for k, o := range r.standings(t, ops) {
					if o != before[k] {
						t.Errorf("%s: op %d, %v was charged", keys, k, ops[k].Algorithm)
					}
				}
				if _, committed, err := r.admin.once(context.Background(), 0, onceOf("x"), ops); err != nil || !committed {
					t.Error(committed, err)
				}
				for k, o := range r.standings(t, ops) {
					if before[k].Remaining-o.Remaining != 1 {
						t.Errorf("%s: op %d, %v: what was not charged is remembered", keys, k, ops[k].Algorithm)
					}
				}
			}
		}
	})
}

// TestIDLivesAsLongAsItShould: its time to live and a second, an hour at least with a clock
// of the caller; and what is damaged is an error, and stays.
func TestIDLivesAsLongAsItShould(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w, ctx := dialWire(t, server), context.Background()
		served, injected := open(t, w, nil), open(t, w, &Options{Clock: &manualClock{at: 5}, Prefix: "injected:"})
		for i, a := range append(kindsOfGroups(t), logWithoutLua{logOf10}) {
			for s, least := range map[*Store]time.Duration{served: 90 * time.Second, injected: time.Hour} {
				ops := oneOp(fmt.Sprint("a{tag", i, "}"), a)
				o := store.Once{ID: "an id", TTL: 90 * time.Second}
				if _, _, err := s.once(ctx, 0, o, ops); err != nil {
					t.Fatal(err)
				}
				name := s.idName(o, ops)
				ms, err := strconv.ParseInt(w.ask(t, "PTTL", name), 10, 64)
				if left := time.Duration(ms) * time.Millisecond; err != nil || left > max(least, 91*time.Second) || left < least-time.Minute {
					t.Errorf("%v: %v are left, %v", a, left, err)
				}
				ends := strconv.FormatInt(1<<52, 10) + " " + store.OnceDigest(ops) + " "
				for _, damage := range [][]string{
					{"SET", name, "nonsense"}, {"SET", name, "1 a"}, {"RPUSH", name, "1"},
					// A good record with a reply that is none: never taken for a reply that was lost.
					{"SET", name, ends + "nonsense"}, {"SET", name, ends + "7;"}, {"SET", name, ends + "7;nonsense"}, {"SET", name, ends + "7;-"},
					{"SET", name, ends + "7;+,"}, {"SET", name, ends + "7;=1"}, {"SET", name, ends + "x;+"},
				} {
					w.ask(t, "DEL", name)
					w.ask(t, damage...)
					before := w.ask(t, "TYPE", name)
					if _, _, err := s.once(ctx, 0, o, ops); !errors.Is(err, store.ErrCorrupt) || strings.Contains(err.Error(), "nonsense") {
						t.Errorf("%v, %q: %v", a, damage, err)
					}
					if after := w.ask(t, "TYPE", name); after != before {
						t.Errorf("%q was written over", damage)
					}
				}
				if look := oneOp(ops[0].Key, a); s == served && a.Spec().Kind == algorithm.KindFixedWindow {
					look[0].Request.Cost = 0
					if _, err := s.Peek(ctx, look); err != nil || look[0].Outcome.Limit-look[0].Outcome.Remaining > 1 {
						t.Errorf("charged beside damage: %+v, %v", look[0].Outcome, err)
					}
				}
			}
		}
	})
}

// TestStepIsKnownToAProcessWithoutItsLua: one process has the Lua of a user, another one
// decides by compare-and-set. Each knows the steps of the other.
func TestStepIsKnownToAProcessWithoutItsLua(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w, ctx, clock := dialWire(t, server), context.Background(), &manualClock{at: 5}
		with := open(t, w, &Options{Clock: clock, Scripts: []Source{sourceOfRounds}})
		without := open(t, w, &Options{Clock: clock})
		for i, pair := range [][2]*Store{{with, without}, {without, with}} {
			ops := append(oneOp(fmt.Sprint(i), rounds(3)), oneOp(fmt.Sprint("log", i), logOf10)...)
			again := append([]store.Op(nil), ops...)
			clock.set(5)
			at, _, err := pair[0].once(ctx, 0, onceOf("x"), ops)
			if err != nil {
				t.Fatal(err)
			}
			clock.set(900)
			atAgain, committed, err := pair[1].once(ctx, 0, onceOf("x"), again)
			if err != nil || !committed || atAgain != at || again[0].Outcome != ops[0].Outcome || again[1].Outcome != ops[1].Outcome {
				t.Errorf("%v, %v, %v: %+v, want %+v", atAgain, committed, err, again, ops)
			}
			again[0].Request.Cost = 2
			if _, _, err := pair[1].once(ctx, 0, onceOf("x"), again); !errors.Is(err, store.ErrIDReused) {
				t.Errorf("other ops: %v", err)
			}
		}
	})
}

// TestIDLiesBesideItsStates: in a cluster it has the hash tag of the step, whatever the key
// is, and no slot has its name.
func TestIDLiesBesideItsStates(t *testing.T) {
	s := open(t, unused, nil)
	rapid.Check(t, func(t *rapid.T) {
		key, id := drawBytes(t, "key", 1), drawBytes(t, "id", 1)
		ops := oneOp(key, windowOf10)
		name, slot := s.idName(onceOf(id), ops), s.name(&ops[0].Slot)
		if clusterTag(name) != clusterTag(slot) {
			t.Fatalf("%q lies elsewhere than %q", name, slot)
		}
		_, behind, _ := strings.Cut(name, "}")
		if behind[0] != 'I' || algorithm.ValidKind(kindOfID) {
			t.Fatalf("%q may be the name of a slot", name)
		}
	})
}

// TestDamagedStatesOfAStepAreNotDecidedOver: an algorithm says which states it has, also
// where another process, which has its Lua, made the step.
func TestDamagedStatesOfAStepAreNotDecidedOver(t *testing.T) {
	ops := oneOp("k", checkedRounds{rounds(5)})
	for made, want := range map[string]error{"+1": nil, "+6": errRecord, "+1,1": errRecord, "-1": errRecord, "": errRecord} {
		c := comparison{ops: ops}
		if err := c.decodeMade(5, made); !errors.Is(err, want) {
			t.Errorf("%q: %v", made, err)
		}
	}
}

// checkedRounds panics over a state that its CheckState refuses.
type checkedRounds struct{ rounds }

func (c checkedRounds) CheckState(s algorithm.State) error {
	if s.Word(0) > int64(c.rounds) {
		return errRecord
	}
	return nil
}

func (c checkedRounds) Step(s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
	if err := c.CheckState(s); err != nil {
		panic(err)
	}
	return c.rounds.Step(s, now, r)
}
