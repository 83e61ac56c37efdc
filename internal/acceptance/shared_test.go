package acceptance_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// answer is what one Apply of several has given.
type answer struct {
	ops       []store.Op
	committed bool
	err       error
}

// together makes Applies that travel in one call of their own to the server. The
// groups of an attempt must be new ones: it takes more than one where the callers
// are not all there in time. s must have been opened with oneAtATime, and know its
// scripts.
func together(t *testing.T, e *env, s *serverStore, groups func(attempt int) [][]store.Op) []answer {
	t.Helper()
	ctx := patient(t)
	var answers []answer
	attempt := 0
	servertest.Await(t, "all callers travel in one call", func() bool {
		attempt++
		all := groups(attempt)
		answers = make([]answer, len(all))
		e.server.Do("CONFIG", "RESETSTAT")
		e.server.Freeze()
		var callers sync.WaitGroup
		first := []store.Op{op("first", "", longest("gcra", 1), 0)}
		callers.Go(func() { _, _, _ = s.Apply(ctx, first) })
		// Nobody can see how far the callers are: give them a chance.
		for range 50 * attempt {
			runtime.Gosched()
		}
		for i, ops := range all {
			callers.Go(func() {
				answers[i].ops = ops
				_, answers[i].committed, answers[i].err = s.Apply(ctx, ops)
			})
		}
		for range 50 * attempt {
			runtime.Gosched()
		}
		e.server.Thaw()
		callers.Wait()
		return calls(e.server, "evalsha") == 2
	})
	return answers
}

// oneAtATime are options of a store that has one call in flight, which carries any
// number of Applies.
func oneAtATime() *storeOptions { return &storeOptions{InFlight: 1, Share: 1000} }

// learn makes all scripts of a store known to the server.
func learn(t *testing.T, e *env, s *serverStore) {
	t.Helper()
	a := longest("gcra", 1)
	mustApply(t, s, op("first", "", a, 0))
	mustApply(t, s, op("first", "", a, 0), op("first", "other", a, 0))
}

// TestCorruptKeyFailsForItselfAlone: of fifty Applies in one call, one meets a key
// that is no state.
func TestCorruptKeyFailsForItselfAlone(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		const groups, bad = 50, 17
		s := e.store(t, oneAtATime())
		learn(t, e, s)
		for _, name := range kindNames {
			a := longest(name, 10)
			answers := together(t, e, s, func(attempt int) [][]store.Op {
				all := make([][]store.Op, groups)
				for i := range all {
					key := fmt.Sprint(name, attempt, " ", i)
					all[i] = []store.Op{op(key, "good", longest("gcra", 10), 2), op(key, "perhaps", a, 3)}
				}
				spoil(t, e, s, all[bad][1].Slot, "bytes of somebody else")
				return all
			})
			for i, got := range answers {
				want, left := "none", []int64{8, 7}
				if i == bad {
					want, left = "corrupt", []int64{10, -1}
				}
				wantKind(t, fmt.Sprint(name, " group ", i), got.err, want)
				for k := range got.ops {
					if left[k] >= 0 && remaining(t, s, got.ops[k].Slot) != left[k] {
						t.Errorf("%s: group %d, op %d: %d left, want %d", name, i, k, remaining(t, s, got.ops[k].Slot), left[k])
					}
				}
			}
		}
	})
}

// spoil replaces the state of a slot by a string, with a life time, and returns the
// stored name.
func spoil(t *testing.T, e *env, s *serverStore, slot store.Slot, value string) string {
	t.Helper()
	name := nameOf(t, e, s, slot)
	e.server.Do("DEL", name)
	e.server.Do("SET", name, value, "PX", "3600000")
	return name
}

// nameOf returns the name under which a slot is stored: that of the one key that
// appears when it is charged.
func nameOf(t *testing.T, e *env, s *serverStore, slot store.Slot) string {
	t.Helper()
	before := keysOf(e)
	mustApply(t, s, store.Op{Slot: slot, Request: algorithm.Request{Cost: 1}})
	for name := range keysOf(e) {
		if !before[name] {
			return name
		}
	}
	t.Fatal("a charge has made no key")
	return ""
}

func keysOf(e *env) map[string]bool {
	names := map[string]bool{}
	for _, name := range e.server.Do("KEYS", "*").([]any) {
		names[name.(string)] = true
	}
	return names
}

// TestBrokenLuaFailsForItselfAlone: the Lua of a user has a mistake. Those who travel
// in the same call are not to notice.
func TestBrokenLuaFailsForItselfAlone(t *testing.T) {
	for name, lua := range map[string]string{
		"raises an error": `local function decide(state, now) error('no') end`,
		"reset no number": `local function decide(state, now) return true, 'x', 'y' end`,
		"reset missing":   `local function decide(state, now) return true, 'x' end`,
		"next no text":    `local function decide(state, now) return true, {}, 1000000 end`,
		"denies":          `local function decide(state, now) return false end`,
		"no function":     `local decide = 1`,
	} {
		t.Run(name, func(t *testing.T) {
			each(t, naturalPairs()[:1], nil, func(t *testing.T, e *env) {
				opts := withQuotaLua()
				opts.Scripts[0].Lua = lua
				opts.InFlight, opts.Share = 1, 1000
				s := e.store(t, opts)
				mine := session(10, time.Hour)
				if _, committed, err := s.Apply(context.Background(), []store.Op{op("user", "", mine, 1)}); err == nil || committed {
					t.Errorf("alone: committed %v, %v", committed, err)
				}
				learn(t, e, s)
				answers := together(t, e, s, func(attempt int) [][]store.Op {
					key := fmt.Sprint("user", attempt)
					a, b := longest("gcra", 10), longest("sliding-log", 10)
					return [][]store.Op{
						{op(key, "a", a, 1)}, {op(key, "mine", mine, 1)}, {op(key, "b", b, 1)},
						{op(key, "c", a, 1), op(key, "both", mine, 1)}, {op(key, "d", a, 1), op(key, "e", b, 1)},
					}
				})
				for i, got := range answers {
					if mine := i == 1 || i == 3; mine != (got.err != nil) || got.committed == mine {
						t.Errorf("group %d: committed %v, %v", i, got.committed, got.err)
					}
				}
			})
		})
	}
}

// TestLaterGroupsSeeWhatEarlierOnesTook: Applies for one key that travel in one call
// take its limit and not a unit more.
func TestLaterGroupsSeeWhatEarlierOnesTook(t *testing.T) {
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		s := e.store(t, oneAtATime())
		learn(t, e, s)
		for _, name := range kindNames {
			a := longest(name, 20)
			answers := together(t, e, s, func(attempt int) [][]store.Op {
				all := make([][]store.Op, 60)
				for i := range all {
					all[i] = []store.Op{op(fmt.Sprint(name, attempt), "", a, int64(i%3))}
					if i%2 == 1 {
						all[i] = append(all[i], op(fmt.Sprint(name, attempt), "second", a, 1))
					}
				}
				return all
			})
			taken, second := int64(0), int64(0)
			for _, got := range answers {
				if got.err != nil {
					t.Fatal(got.err)
				}
				if got.committed {
					taken += got.ops[0].Request.Cost
					if len(got.ops) == 2 {
						second++
					}
				}
			}
			if left := remaining(t, s, answers[0].ops[0].Slot); taken != 20 || left != 0 {
				t.Errorf("%s: %d of 20 were taken, and %d are left", name, taken, left)
			}
			if left := remaining(t, s, answers[1].ops[1].Slot); left != 20-second {
				t.Errorf("%s: %d of 20 were taken with others, and %d are left", name, second, left)
			}
		}
	})
}
