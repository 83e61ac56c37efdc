package algorithm_test

import (
	"fmt"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// sessionQuota admits limit units in a session. A session starts with the first
// request that is admitted, not at an aligned instant, and lasts for length.
type sessionQuota struct {
	limit  int64
	length time.Duration // whole microseconds
}

// Spec names the layout of the state, "start used", and the parameters.
func (q sessionQuota) Spec() algorithm.Spec {
	return algorithm.Spec{Kind: "session-quota/1", Params: [4]int64{q.limit, q.length.Microseconds()}}
}

// Step is all there is to write: no clock, no lock, no store.
func (q sessionQuota) Step(s algorithm.State, now algorithm.Instant, r algorithm.Request) (algorithm.State, algorithm.Outcome) {
	start, used := int64(now), int64(0)
	if !s.Fresh() && start < s.Word(0)+q.length.Microseconds() {
		// Still in the session, also where the clock shows an instant
		// before it: a clock that goes back must not start a new one.
		start, used = s.Word(0), s.Word(1)
	}
	wait := time.Duration(start-int64(now))*time.Microsecond + q.length

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

// An algorithm of your own is a function from a state, an instant and a request
// to the next state and an outcome. conformance.TestAlgorithm checks it, and
// every store runs it.
func ExampleAlgorithm() {
	var quota algorithm.Algorithm = sessionQuota{limit: 3, length: time.Minute}

	var s algorithm.State // fresh
	var o algorithm.Outcome
	for _, at := range []algorithm.Instant{10_000_000, 25_000_000, 69_999_999, 70_000_000} {
		s, o = quota.Step(s, at, algorithm.Request{Cost: 2})
		fmt.Printf("%v: allowed %t, %d left, retry after %v, state %q\n", at, o.Allowed, o.Remaining, o.RetryAfter, s)
	}
	// Output:
	// 10000000: allowed true, 1 left, retry after 0s, state "10000000 2"
	// 25000000: allowed false, 1 left, retry after 45s, state "10000000 2"
	// 69999999: allowed false, 1 left, retry after 1µs, state "10000000 2"
	// 70000000: allowed true, 1 left, retry after 0s, state "70000000 2"
}
