// Package quota is an algorithm as a user of weir may write it: a pure function in
// Go, which every store runs, and the same in Lua, with which a server decides in
// one round trip.
package quota

import (
	_ "embed"
	"strconv"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store/script"
)

// Quota admits so many units in a session. A session starts with the first request
// that is admitted, not at an aligned instant, and lasts for a fixed length.
type Quota struct {
	limit  int64
	length int64 // µs
}

// Kind names the layout of the state, "start used": when the session started, in
// µs since the Unix epoch, and the units in it.
const Kind = "quota/1"

// New returns a Quota. What is out of bounds is a *algorithm.ParameterError.
func New(limit int64, length time.Duration) (Quota, error) {
	if limit < 1 || limit > algorithm.MaxUnits {
		return Quota{}, &algorithm.ParameterError{
			Of: "quota", Field: "limit", Value: strconv.FormatInt(limit, 10), Allowed: "1 to 10^12",
		}
	}
	if length < time.Microsecond || length > algorithm.MaxPeriod || length%time.Microsecond != 0 {
		return Quota{}, &algorithm.ParameterError{
			Of: "quota", Field: "length", Value: length.String(), Allowed: "1µs to 9600h in whole microseconds",
		}
	}
	return Quota{limit, length.Microseconds()}, nil
}

// Spec implements algorithm.Algorithm.
func (q Quota) Spec() algorithm.Spec {
	return algorithm.Spec{Kind: Kind, Params: [4]int64{q.limit, q.length}}
}

// Step implements algorithm.Algorithm.
func (q Quota) Step(s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
	start, used := int64(now), int64(0)
	if !s.Fresh() && start < s.Word(0)+q.length {
		// Still in the session, also where the clock shows an instant
		// before it: a clock that goes back must not start a new one.
		start, used = s.Word(0), s.Word(1)
	}
	wait := time.Duration(start+q.length-int64(now)) * time.Microsecond

	o := algorithm.Outcome{Limit: q.limit}
	switch {
	case r.Cost < 0 || r.Cost > q.limit:
		o.RetryAfter = algorithm.Never
	case r.Cost > 0 && r.Cost > q.limit-used:
		o.RetryAfter = wait
	default:
		o.Allowed = true
		if r.Cost > 0 {
			used += r.Cost
			s = algorithm.NewState(start, used)
		}
	}
	if used > 0 {
		o.ResetAfter = wait
	}
	o.Remaining = max(0, q.limit-used)
	return s, o
}

// CheckState implements algorithm.StateChecker: what a Quota cannot have written
// is damage, and never taken for a fresh key.
func (q Quota) CheckState(s algorithm.State) error {
	if s.Fresh() {
		return nil
	}
	if s.Words() != 2 || s.Word(0) < 0 || s.Word(0) > int64(algorithm.MaxInstant) || s.Word(1) < 1 {
		return &algorithm.ParameterError{Of: "quota state", Field: "words", Value: strconv.Itoa(s.Words()), Allowed: "start and used"}
	}
	return nil
}

//go:embed quota.lua
var lua string

// Script is for Options.Scripts of a store on a server.
func Script() script.Source { return script.Source{Kind: Kind, Lua: lua} }
