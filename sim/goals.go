package sim

// goal is something that ought to happen in some runs: a corner that the checks have
// seen.
type goal int

const (
	goalDeniedByOne goal = iota
	goalAdmittedExactly
	goalWholeCapacity
	goalAboveCapacity
	goalCurveReached
	goalFractionCarried
	goalPreviousCounts
	goalPreviousExact
	goalUsedAgain
	goalClockBack
	goalTwoWindowsBack
	goalDoubleAtEdge
	goalCounterWorst
	goalOnlyLastDenies
	goalShared
	goalLeftUnsent
	goalRequestLost
	goalReplyLost
	goalRetriedUnknown
	goalLateReply
	goalDuplicate
	goalReordered
	goalCallGivenUp
	goalRefused
	goalFailoverLost
	goalForgotten
	goalForgottenDenied
	goalBoundReached
	goalFalseDenial
	goalStoodIn
	goalBothAdmitted
	goalQueued
	goalThrottled
	goalGaveUp
	goals
)

var goalNames = [goals]string{
	goalDeniedByOne:     "denied 1 µs before RetryAfter",
	goalAdmittedExactly: "admitted exactly at RetryAfter",
	goalWholeCapacity:   "cost of the whole capacity",
	goalAboveCapacity:   "cost above the capacity by 1",
	goalCurveReached:    "arrival curve reached",
	goalFractionCarried: "fraction of a unit carried over 3 charges",
	goalPreviousCounts:  "counter rolled with a previous count",
	goalPreviousExact:   "counter weighed without a fraction",
	goalUsedAgain:       "fresh key used again within 1 ms",
	goalClockBack:       "clock went back on a slot",
	goalTwoWindowsBack:  "clock went back two windows",
	goalDoubleAtEdge:    "fixed window admitted twice its limit",
	goalCounterWorst:    "sliding counter admitted 2N-1",
	goalOnlyLastDenies:  "only the last limit denied",
	goalShared:          "call shared by several requests",
	goalLeftUnsent:      "caller left before its request was sent",
	goalRequestLost:     "request lost",
	goalReplyLost:       "reply lost",
	goalRetriedUnknown:  "retry after an unknown outcome",
	goalLateReply:       "reply after its caller had left",
	goalDuplicate:       "request delivered twice",
	goalReordered:       "message overtaken",
	goalCallGivenUp:     "call given up",
	goalRefused:         "server refused",
	goalFailoverLost:    "fail-over lost an admission",
	goalForgotten:       "state forgotten",
	goalForgottenDenied: "state of a denied slot forgotten",
	goalBoundReached:    "excess reached the bound of the faults",
	goalFalseDenial:     "false denial",
	goalStoodIn:         "failure mode admitted",
	goalBothAdmitted:    "slot charged by the server and admitted without it",
	goalQueued:          "leaky bucket made a caller wait",
	goalThrottled:       "client held itself back",
	goalGaveUp:          "caller gave up",
}
