package policy

import (
	"time"

	"github.com/weirgo/weir"
)

// Verdict is the answer to a Request.
type Verdict struct {
	// Allowed reports whether the request may pass.
	Allowed bool
	// Rules has an entry for each limit of the rules that apply, enforced or in shadow, in
	// the order of the policy. None with a List, and none where no rule applies.
	Rules []RuleVerdict
	// Binding is the index in Rules of the enforced limit that matters most: when denied
	// the one with the longest RetryAfter, when allowed the one with the smallest
	// Remaining; the first of equals. -1 where there is none.
	Binding int
	// RetryAfter is the longest wait that an enforced limit or a list asks for. 0 when
	// allowed, weir.Never where no wait helps.
	RetryAfter time.Duration
	// Delay is how long an admitted caller must wait before it starts: leaky buckets have
	// one. 0 when denied.
	Delay time.Duration
	// Standing is how near the request is to being denied: the worst of the enforced
	// limits. It informs, and decides nothing.
	Standing Standing
	// List is what a list says, and Entry the entry that says so.
	List  ListAction
	Entry ListEntry
	// Tier is the tier of the request, where one of the limits asked for it.
	Tier       string
	TierSource TierSource
	// Degraded reports that the store did not decide, and an OnFailure did; Cause is why.
	Degraded bool
	Cause    error
	// Version is the version of the policy that decided: Compiled.Version.
	Version string
}

// summarize fills in what a Verdict says of its Rules together. decided reports whether
// there was no error.
func (v *Verdict) summarize(decided bool) {
	v.Allowed = decided
	for i := range v.Rules {
		r := &v.Rules[i]
		if r.Enforced && r.Action != ActionExempt {
			v.Allowed = v.Allowed && r.Allowed
		}
	}
	for i := range v.Rules {
		r := &v.Rules[i]
		if !r.Enforced || r.Action == ActionExempt {
			continue
		}
		v.Standing = max(v.Standing, r.Standing)
		if r.Decided && r.Decision.Degraded {
			v.Degraded, v.Cause = true, r.Decision.Cause
		}
		v.bind(i)
	}
	if v.Allowed {
		v.RetryAfter = 0
	} else {
		v.Delay = 0
		if v.Binding >= 0 {
			v.RetryAfter = v.Rules[v.Binding].RetryAfter
		}
	}
}

// bind makes the enforced limit i the binding one if it matters more.
func (v *Verdict) bind(i int) {
	r := &v.Rules[i]
	if v.Allowed && !r.Decided || !v.Allowed && r.RetryAfter == 0 {
		return
	}
	if v.Binding < 0 {
		v.Binding = i
		return
	}
	b := &v.Rules[v.Binding]
	if v.Allowed && r.Decision.Remaining < b.Decision.Remaining || !v.Allowed && r.RetryAfter > b.RetryAfter {
		v.Binding = i
	}
}

// RuleVerdict is the answer of one limit of a rule.
type RuleVerdict struct {
	PlannedLimit
	// Allowed reports whether the limit would let the request pass by itself; false where
	// it was not asked, but for ActionExempt.
	Allowed bool
	// Decided reports whether the limit was asked: not where the Action is another than
	// ActionAsk, and not where another limit blocks before any is asked.
	Decided bool
	// Decision is the answer of the limit where Decided. A limit that was asked together
	// with one that denied may say Allowed, and was not charged.
	Decision weir.Decision
	// FailedOver reports that the decider had an error, and that the OnFailure of the policy
	// gave the Decision.
	FailedOver bool
	// RetryAfter is the wait that this limit asks for.
	RetryAfter time.Duration
	// Standing is how near the limit is to denying.
	Standing Standing
	// Err is why a limit in shadow has no decision. It never changes the answer.
	Err error
}

// Standing is how near a request is to being denied.
type Standing int

const (
	// Normal: less than Rule.WarnAt is used.
	Normal Standing = iota
	// Warning: Rule.WarnAt was reached, and since then not less than Rule.CalmAt used.
	Warning
	// Throttled: denied.
	Throttled
)

// String returns "normal", "warning" or "throttled".
func (s Standing) String() string { return nameOf(int(s), "normal", "warning", "throttled") }
