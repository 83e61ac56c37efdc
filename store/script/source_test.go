package script

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// rounds is an algorithm as a user writes it: of every so many units all are admitted,
// and with the last of them the key is fresh again.
type rounds int64

func (n rounds) Spec() algorithm.Spec {
	return algorithm.Spec{Kind: "rounds/1", Params: [4]int64{int64(n)}}
}

func (n rounds) Step(s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
	o := algorithm.Outcome{Limit: int64(n), Remaining: int64(n) - s.Word(0), RetryAfter: algorithm.Never}
	if r.Cost > o.Remaining {
		return s, o
	}
	o.Allowed, o.RetryAfter = true, 0
	if o.Remaining -= r.Cost; r.Cost > 0 && o.Remaining > 0 {
		s, o.ResetAfter = algorithm.NewState(int64(n)-o.Remaining), time.Second
	} else if r.Cost > 0 {
		s, o.Remaining = algorithm.State{}, int64(n)
	}
	return s, o
}

const luaOfRounds = `
local function decide(state, now, limit, _, _, _, cost)
  local used = 0
  if state then
    used = number(state)
    if not used then return nil end
  end
  if cost > limit - used then return false end
  if cost == 0 then return true end
  if used + cost == limit then return true, '', 0 end
  return true, text(used + cost), 1000000
end`

var sourceOfRounds = Source{Kind: "rounds/1", Lua: luaOfRounds}

// TestLuaOfAUserDecidesAsItsGo: alone and in a list, where the next state is the fresh
// one the key is gone.
func TestLuaOfAUserDecidesAsItsGo(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w, r := dialWire(t, server), random(t)
		s := open(t, w, &Options{Clock: &manualClock{at: 5}, Scripts: []Source{sourceOfRounds}})
		var state algorithm.State
		a, fresh := rounds(7), 0
		for range 300 {
			ops := oneOp("k", a)
			ops[0].Request.Cost = r.Int64N(5)
			if r.IntN(2) == 0 {
				ops = append(ops, oneOp("other", everything)...)
			}
			_, _, err := s.Apply(context.Background(), ops)
			if err != nil {
				t.Fatal(err)
			}
			var want algorithm.Outcome
			state, want = a.Step(state, 5, ops[0].Request)
			if diff := cmp.Diff(want, ops[0].Outcome); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			name := s.name(&ops[0].Slot)
			if got := stored(w, name, "rounds/1"); got != state.String() {
				t.Fatalf("stored %q, want %q", got, state)
			}
			if exists := w.ask(t, "EXISTS", name); (exists == "0") != state.Fresh() {
				t.Fatalf("EXISTS is %s for %q", exists, state)
			} else if exists == "0" {
				fresh++
			}
		}
		if fresh < 10 {
			t.Errorf("only %d times fresh", fresh)
		}
	})
}

// TestKeyMayBecomeFreshAndUsedInOneCall: groups of one call see what those before
// them did, also where a key is to be deleted.
func TestKeyMayBecomeFreshAndUsedInOneCall(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w := dialWire(t, server)
		s := open(t, w, &Options{Clock: &manualClock{at: 5}, Scripts: []Source{sourceOfRounds}})
		costs := []int64{2, 2, 2, 3, 1, 0, 3, 2}
		for count := 1; count <= len(costs); count++ {
			key, state := fmt.Sprint(count), algorithm.State{}
			var groups [][]store.Op
			var want []decided
			for _, cost := range costs[:count] {
				ops := oneOp(key, rounds(4))
				ops[0].Request.Cost = cost
				groups = append(groups, ops)
				var o algorithm.Outcome
				state, o = rounds(4).Step(state, 5, ops[0].Request)
				want = append(want, decided{At: 5, Committed: o.Allowed, Outcomes: []algorithm.Outcome{o}})
			}
			if diff := cmp.Diff(want, together(t, &s.takes, groups...)); diff != "" {
				t.Errorf("%d groups (-want +got):\n%s", count, diff)
			}
			if got := stored(w, s.name(&groups[0][0].Slot), "rounds/1"); got != state.String() {
				t.Errorf("%d groups leave %q, want %q", count, got, state)
			}
		}
	})
}

// brokenLua are mistakes of a user, each in the body of decide(state, now, …): at run
// time, and in what is returned.
var brokenLua = map[string]string{
	"raises":                   "error('broken')",
	"raises a table":           "error({ err = 'ERR broken' })",
	"raises nothing":           "error()",
	"arithmetic on nil":        "return nothing + 1",
	"calls nil":                "local f = nil\n return f()",
	"recurses for ever":        "local function f() return 1 + f() end\n return f()",
	"writes a global":          "broken = 5\n return true",
	"reads a global":           "return broken",
	"next is a number":         "return true, 5, 1000000",
	"next is a table":          "return true, {}, 1000000",
	"next is true":             "return true, true, 1000000",
	"next is no state":         "return true, 'a,b;c', 1000000",
	"next has a newline":       "return true, '5\\n', 1000000",
	"no reset":                 "return true, '5'",
	"reset is a table":         "return true, '5', {}",
	"reset is a word":          "return true, '5', 'soon'",
	"reset is not a number":    "return true, '5', 0 / 0",
	"reset is infinite":        "return true, '5', 1 / 0",
	"reset is below zero":      "return true, '5', -5000000",
	"reset is too large":       "return true, '5', 1e300",
	"reset is 2^63":            "return true, '5', 9223372036854775808",
	"verdict is a number":      "return 5",
	"verdict is text":          "return '+', '5', 1000000",
	"verdict is a table":       "return {}",
	"nil and a word":           "return nil, 'broken'",
	"nil and a mark":           "return nil, ';'",
	"nil and a number":         "return nil, 5",
	"nil and a table":          "return nil, {}",
	"denied, and a next state": "return false, '5', 1000000",
}

// TestBrokenLuaOfAUserFailsAlone: whatever it does, its own group gets an error and
// nothing of it is charged; the other groups of the call are decided.
func TestBrokenLuaOfAUserFailsAlone(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w := dialWire(t, server)
		for name, body := range brokenLua {
			s := open(t, w, &Options{
				Clock: &manualClock{at: 5}, Prefix: name + ":",
				Scripts: []Source{{Kind: "mine/1", Lua: "local function decide(state, now, ...)\n " + body + "\nend"}},
			})
			single := oneOp("k", kindOnly("mine/1"))
			for way, ops := range map[string][]store.Op{
				"alone": single, "first": append(single, oneOp("l", logOf10)...), "last": append(oneOp("l", logOf10), single...),
			} {
				before := oneOp("before "+way, logOf10)
				behind := oneOp("behind "+way, windowOf10)
				groups := [][]store.Op{before, ops, behind}
				if way == "alone" {
					groups = groups[1:2] // the script for one op
				}
				for _, l := range []*dispatcher{&s.looks, &s.takes} {
					for i, d := range together(t, l, groups...) {
						mine := len(groups) == 1 || i == 1
						if !mine && (d.Err != nil || !d.Outcomes[0].Allowed) {
							t.Errorf("%s, %s: the group beside it: %v", name, way, d.Err)
						}
						if mine && d.Err == nil && d.Committed {
							t.Errorf("%s, %s: %+v", name, way, d)
						}
					}
				}
				if len(groups) > 1 && stored(w, s.name(&before[0].Slot), algorithm.KindSlidingLog) != "5" {
					t.Errorf("%s, %s: the group before it is not charged", name, way)
				}
			}
			for _, slot := range []store.Slot{{Key: "k", Algorithm: kindOnly("mine/1")}, {Key: "l", Algorithm: logOf10}} {
				if w.ask(t, "EXISTS", s.name(&slot)) != "0" {
					t.Errorf("%s: the slot %s was charged", name, slot.Key)
				}
			}
		}
	})
}

// TestFailedLuaOfAUserIsNamed: by its kind, the number of the op, and what the server
// says of it, which no key can get into.
func TestFailedLuaOfAUserIsNamed(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		s := open(t, dialWire(t, server), &Options{Scripts: []Source{{Kind: "mine/1", Lua: "local function decide() error('not, today; \\1') end"}}})
		for want, ops := range map[string][]store.Op{
			"op 0: the Lua of mine/1 failed": oneOp("secret", kindOnly("mine/1")),
			"op 1: the Lua of mine/1 failed": append(oneOp("l", logOf10), oneOp("secret", kindOnly("mine/1"))...),
		} {
			_, _, err := s.Apply(context.Background(), ops)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "today") || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v, want %s", err, want)
			}
			for _, meaning := range meanings {
				if errors.Is(err, meaning) {
					t.Errorf("%v is %v", err, meaning)
				}
			}
		}
	})
}

// TestForeignValueAtAKindOfAUserFailsAlone: Lua that does not look at its state shows
// it in the reply, and that must not get in the way of other groups.
func TestForeignValueAtAKindOfAUserFailsAlone(t *testing.T) {
	lax := map[string]string{
		"denies": "return false", "admits": "return true", "writes": "return true, '5', 1000000", "deletes": "return true, '', 0",
	}
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w := dialWire(t, server)
		for name, body := range lax {
			s := open(t, w, &Options{
				Clock: &manualClock{at: 5}, Prefix: name + ":",
				Scripts: []Source{{Kind: "mine/1", Lua: "local function decide(state)\n " + body + "\nend"}},
			})
			for i, value := range []string{"", ",", ";", "5;+5", "5,5", "a b", "5;+,;", "\n", "05", "5 ", "+5", "5:5", "\x00", strings.Repeat("9", 30), "-0", "00", " 5", "5  5", "9007199254740992", "-9007199254740992"} {
				mine := oneOp("k"+strconv.Itoa(i), kindOnly("mine/1"))
				stored := s.name(&mine[0].Slot)
				w.ask(t, "SET", stored, value, "PX", "5000000")
				before := untouched(t, w, stored)
				got := together(t, &s.takes, oneOp("before", windowOf10), append(mine, oneOp("mine", windowOf10)...), oneOp("behind", windowOf10))
				for n, d := range got {
					if n != 1 && d.Err != nil {
						t.Errorf("%s, %q: the group beside it: %v", name, value, d.Err)
					}
				}
				after := untouched(t, w, stored)
				if err := got[1].Err; !errors.Is(err, store.ErrCorrupt) || after != before {
					t.Errorf("%s, %q: %v; changed: %v", name, value, err, after != before)
				}
				if _, _, err := s.Apply(context.Background(), mine); !errors.Is(err, store.ErrCorrupt) || untouched(t, w, stored) != before {
					t.Errorf("%s, %q alone: %v", name, value, err)
				}
			}
		}
	})
}
