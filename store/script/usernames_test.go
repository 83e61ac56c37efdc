package script

import (
	"fmt"
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
)

// TestNamesInALuaOfAUserAreItsOwn: functions of a user that are called like one of ours
// change nothing for the store, nor for others in the same call.
func TestNamesInALuaOfAUserAreItsOwn(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		w := dialWire(t, server)
		for i, name := range []string{"call", "try", "sub", "match", "find", "floor", "max", "format", "text", "number", "muldiv", "clock", "get", "put", "expiry", "theirs", "key", "verdict", "kinds", "all"} {
			s := open(t, w, &Options{
				Prefix: fmt.Sprintf("%d:", i),
				Clock:  &manualClock{at: 5},
				Scripts: []Source{{
					Kind:    constant{}.Spec().Kind,
					Lua:     "local function " + name + "() return 1 end\nlocal function decide(state, now) return " + name + "() == 1, '1 2', 1000000 end",
					Limit:   func(algorithm.Algorithm, []int64) []int64 { return nil },
					Request: func(algorithm.Algorithm, algorithm.Request, []int64) []int64 { return nil },
				}},
			})
			if _, err := s.Check(t.Context()); err != nil {
				t.Errorf("%s: check: %v", name, err)
			}
			single := together(t, &s.takes, oneOp("single", constant{}))[0]
			if single.Err != nil || !single.Committed {
				t.Errorf("%s, alone: %+v", name, single)
			}
			slot := oneOp("single", constant{})[0].Slot
			if got := stored(w, s.name(&slot), constant{}.Spec().Kind); got != "1 2" {
				t.Errorf("%s, alone: stored is %q", name, got)
			}
			for who, d := range together(t, &s.takes, oneOp("before", windowOf10), oneOp("mine", constant{}), oneOp("after", windowOf10)) {
				if d.Err != nil || !d.Committed {
					t.Errorf("%s, caller %d: %+v", name, who, d)
				}
			}
		}
	})
}

// constant is an algorithm without numbers: it admits everything and leaves one state.
type constant struct{}

func (constant) Spec() algorithm.Spec { return algorithm.Spec{Kind: "constant/1"} }

func (constant) Step(algorithm.State, algorithm.Instant, algorithm.Request) (algorithm.State, algorithm.Outcome) {
	return algorithm.NewState(1, 2), algorithm.Outcome{Allowed: true}
}
