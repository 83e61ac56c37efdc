package acceptance_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weirgo/weir/internal/servertest"
)

const (
	processesOfCallers = 4
	callersOfProcess   = 16
	unitsOfAll         = 1000
)

// TestProcessesTakeExactlyTheLimit: many processes that ask for one key get its limit
// together, not a unit more or less.
func TestProcessesTakeExactlyTheLimit(t *testing.T) {
	t.Parallel()
	each(t, allPairs(), nil, func(t *testing.T, e *env) {
		callers := startCallers(t, processesOfCallers, e.library, e.server.Addr())
		countEach(t, e, false, func(t *testing.T, j job) {
			sum := callers.do(t, e.server, j, nil)
			sum.mustBeClean(t)
			mustBeSpent(t, e, j, sum)
		})
	})
}

// TestLosingScriptsChangesNothing: the server forgets all scripts, again and again,
// and nobody notices.
func TestLosingScriptsChangesNothing(t *testing.T) {
	t.Parallel()
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		callers := startCallers(t, processesOfCallers, e.library, e.server.Addr())
		var flushes atomic.Int64
		countEach(t, e, true, func(t *testing.T, j job) {
			e.server.Do("CONFIG", "RESETSTAT")
			sum := callers.do(t, e.server, j, func() {
				if _, err := e.server.Try("SCRIPT", "FLUSH"); err == nil {
					flushes.Add(1)
				}
			})
			sum.mustBeClean(t)
			mustBeSpent(t, e, j, sum)
			if errorReplies(e.server, "NOSCRIPT") < 2 {
				t.Errorf("the scripts were not missed in the middle")
			}
		})
	})
}

// TestCutConnectionsLeaveNoDoubt: the server closes all connections, again and again.
// Callers learn of each call whether it was charged, was not, or may have been.
func TestCutConnectionsLeaveNoDoubt(t *testing.T) {
	t.Parallel()
	each(t, naturalPairs(), nil, func(t *testing.T, e *env) {
		callers := startCallers(t, processesOfCallers, e.library, e.server.Addr())
		var doubts int64
		var killed atomic.Int64
		countEach(t, e, true, func(t *testing.T, j job) {
			sum := callers.do(t, e.server, j, func() {
				if n, err := e.server.Try("CLIENT", "KILL", "TYPE", "normal"); err == nil {
					killed.Add(n.(int64))
				}
			})
			doubts += sum.Unknown
			sum.mustBeCovered(t, j.Units)
		})
		if killed.Load() == 0 || doubts == 0 {
			t.Errorf("%d connections were cut, and left %d units in doubt: this test shows nothing", killed.Load(), doubts)
		}
	})
}

// countEach runs f for each algorithm, those of a user included, with calls that are
// shared and calls that are not; with a faulty server it does so with every other
// combination, unless asked for more.
func countEach(t *testing.T, e *env, faulty bool, f func(t *testing.T, j job)) {
	for i, name := range append([]string{"own Lua", "without Lua"}, kindNames...) {
		for share := range 2 { // 0 is the default, 1 switches sharing off
			if skip := i + share + len(e.library); faulty && rounds() == 1 && skip%2 == 0 {
				continue
			}
			j := job{Units: unitsOfAll, Share: share, Callers: callersOfProcess, Mixed: 2}
			switch name {
			case "without Lua": // two round trips and more for each decision
				j.Units, j.Callers = unitsOfAll/10, callersOfProcess/4
				fallthrough
			case "own Lua":
				j.Spec = name
			default:
				j.Spec = specOf(name, unitsOfAll, long())
			}
			for round := range rounds() {
				t.Run(fmt.Sprintf("%s/share %d/%d", name, share, round), func(t *testing.T) {
					j.Key = t.Name()
					f(t, j)
				})
			}
		}
	}
}

// mustBeSpent checks that exactly the limit was taken, also by what the server says.
func mustBeSpent(t *testing.T, e *env, j job, sum tally) {
	t.Helper()
	if sum.Acknowledged != j.Units {
		t.Errorf("%d units were admitted, of %d", sum.Acknowledged, j.Units)
	}
	a, err := j.algorithm()
	if err != nil {
		t.Fatal(err)
	}
	if left := remaining(t, e.store(t, nil), slotOf(j.Key, a)); left != 0 {
		t.Errorf("%d units are left", left)
	}
}

// mustBeCovered checks that the limit lies between what was acknowledged and that with
// what is in doubt.
func (t tally) mustBeCovered(tb testing.TB, limit int64) {
	tb.Helper()
	if t.Other != 0 {
		tb.Errorf("errors that must not be: %+v", t)
	}
	if t.Acknowledged > limit || t.Acknowledged+t.Unknown < limit {
		tb.Errorf("%d units were acknowledged and %d are in doubt, of %d", t.Acknowledged, t.Unknown, limit)
	}
}

// errorReplies is how many replies of an error a server has given.
func errorReplies(s *servertest.Server, code string) int {
	return stat(s, "errorstats", "errorstat_"+code, "count")
}

// calls is how often a server has been sent a command, whether or not it ran.
func calls(s *servertest.Server, command string) int {
	line := "cmdstat_" + command
	return stat(s, "commandstats", line, "calls") + stat(s, "commandstats", line, "rejected_calls")
}

// stat reads a number such as cmdstat_get:calls=1 from a section of INFO; 0 where
// it is not there.
func stat(s *servertest.Server, section, line, field string) int {
	reply, _ := s.Try("INFO", section)
	info, _ := reply.(string)
	_, rest, _ := strings.Cut(info, "\r\n"+line+":")
	rest, _, _ = strings.Cut(rest, "\r\n")
	for part := range strings.SplitSeq(rest, ",") {
		if value, found := strings.CutPrefix(part, field+"="); found {
			n, _ := strconv.Atoi(value)
			return n
		}
	}
	return 0
}
