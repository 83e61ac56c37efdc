// Package observed names what observers tell: results and classes of errors, the same in
// every system of metrics.
package observed

import (
	"context"
	"errors"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/store"
)

// Buckets are the upper bounds of the buckets of latencies, in seconds. The caller may change
// them.
func Buckets() []float64 {
	return []float64{
		50e-6, 100e-6, 250e-6, 500e-6,
		1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1,
	}
}

// Result is the answer of a limit.
type Result int

const (
	Allowed Result = iota
	Denied
	ShadowAllowed
	ShadowDenied
)

// ResultNames are the names of results.
var ResultNames = [...]string{Allowed: "allowed", Denied: "denied", ShadowAllowed: "shadow_allowed", ShadowDenied: "shadow_denied"}

// ResultOf is the Result of an answer.
func ResultOf(allowed, shadow bool) Result {
	r := Denied
	if allowed {
		r = Allowed
	}
	if shadow {
		r += ShadowAllowed
	}
	return r
}

// IsDenial reports whether an error is the form that a denial has: of a charge that would
// leave too large a debt, and of a wait that would never end, or for which the queue has no
// room.
func IsDenial(err error) bool {
	var refused *weir.DebtError
	return errors.As(err, &refused) ||
		errors.Is(err, weir.ErrNeverAdmitted) || errors.Is(err, weir.ErrQueueFull) || errors.Is(err, weir.ErrMaxDelay)
}

// Failed is the name of the result of a rule that has no answer.
const Failed = "error"

// RuleResult is the name of what a rule has answered: of its limits, which must not be empty,
// one that denies is enough. err is the error of the limits that are enforced. It is "" where
// the rule was not asked, since another one has blocked the request before.
func RuleResult(limits []policy.RuleVerdict, err error) string {
	answered, allowed := false, true
	for i := range limits {
		l := &limits[i]
		switch {
		case l.Err != nil, l.Enforced && err != nil && l.Action == policy.ActionAsk:
			return Failed
		case l.Decided, l.Action != policy.ActionAsk: // a block, an exemption, a missing attribute
			answered, allowed = true, allowed && l.Allowed
		}
	}
	if !answered {
		return ""
	}
	return ResultNames[ResultOf(allowed, !limits[0].Enforced)]
}

// Other is the class of an error that has no other.
const Other = "other"

// classes of errors, in the order in which they are tried.
var classes = []struct {
	name string
	is   []error
}{
	{"invalid", []error{store.ErrInvalid, store.ErrDuplicateSlot, store.ErrIDReused, store.ErrUnsupported, weir.ErrSettled}},
	{"cross_node", []error{store.ErrCrossNode}},
	{"unknown", []error{store.ErrOutcomeUnknown}},
	{"unavailable", []error{store.ErrUnavailable}},
	{"contention", []error{store.ErrContention}},
	{"full", []error{store.ErrFull}},
	{"corrupt", []error{store.ErrCorrupt}},
	{"closed", []error{store.ErrClosed}},
	{"context", []error{context.Canceled, context.DeadlineExceeded}},
}

// ClassOf is a name for an error that is safe to show and to count by: never its text, which
// may hold anything.
func ClassOf(err error) string {
	for _, class := range classes {
		for _, each := range class.is {
			if errors.Is(err, each) {
				return class.name
			}
		}
	}
	return Other
}
