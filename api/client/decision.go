package client

import (
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/api/weirv1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Request is a request that the policy of the service decides.
type Request struct {
	// Identifier is who asks, 1 to 1024 bytes, and Dimension what that is. Required.
	Identifier string
	Dimension  weirv1.Dimension
	// Endpoint is what is asked for, such as "/api/orders". Required.
	Endpoint string
	// Method is the HTTP method. "" matches only rules without one.
	Method string
	// Attributes are further attributes of the policy: at most 32, of at most 1024 bytes
	// each.
	Attributes map[string]string
	// Cost is the cost in units. nil is 1; 0 is a look; below 0 is refused.
	Cost *int64
	// Timestamp is when the request was made on the clock of the caller. It feeds a metric
	// of clock skew, and never decides. The zero Time is not sent.
	Timestamp time.Time
}

func (r *Request) check() *weirv1.CheckRequest {
	out := &weirv1.CheckRequest{Identifier: r.Identifier, Dimension: r.Dimension, Endpoint: r.Endpoint, Method: r.Method, Attributes: r.Attributes, Cost: r.Cost}
	if !r.Timestamp.IsZero() {
		out.Timestamp = r.Timestamp.UnixMicro()
	}
	return out
}

func (r *Request) quota() *weirv1.QuotaRequest {
	return &weirv1.QuotaRequest{Identifier: r.Identifier, Dimension: r.Dimension, Endpoint: r.Endpoint, Method: r.Method, Attributes: r.Attributes}
}

func (r *Request) subject() *weirv1.Subject {
	return &weirv1.Subject{Identifier: r.Identifier, Dimension: r.Dimension, Endpoint: r.Endpoint, Method: r.Method, Attributes: r.Attributes}
}

// Decision is the answer of one limit.
type Decision struct {
	// Decision has the numbers. Debt is not known. Degraded with a Cause is an answer of
	// this process, by Options.OnFailure; without a Cause the service has answered for
	// its store.
	weir.Decision
	// Replayed reports that this is the answer to an earlier call with the same idempotency
	// key.
	Replayed bool
}

// Verdict is the answer of a policy. Its Decision is that of the limit that matters
// most: when denied the one with the longest wait, when allowed the one with the least
// remaining units.
type Verdict struct {
	Decision
	// Rule is the ID of that limit's rule. "" where no rule applies, and for an answer of
	// this process.
	Rule string
	// Rules are the answers of all limits that were asked, in the order of the policy.
	Rules []RuleDecision
	// Standing is how near the request is to being denied.
	Standing weirv1.Standing
	// PolicyVersion is the version of the policy that decided.
	PolicyVersion string
}

// RuleDecision is the answer of one limit of a rule.
type RuleDecision struct {
	weir.Decision
	Rule string
}

// numbers are what all answers of the service have.
type numbers interface {
	GetAllowed() bool
	GetLimit() int64
	GetRemaining() int64
	GetRetryAfter() int64
	GetRetryAfterExact() *durationpb.Duration
	GetResetAfterExact() *durationpb.Duration
	GetDelay() *durationpb.Duration
}

func numbersOf(n numbers, at *timestamppb.Timestamp) weir.Decision {
	d := weir.Decision{
		Allowed:    n.GetAllowed(),
		Limit:      n.GetLimit(),
		Remaining:  n.GetRemaining(),
		RetryAfter: n.GetRetryAfterExact().AsDuration(),
		ResetAfter: n.GetResetAfterExact().AsDuration(),
		Delay:      n.GetDelay().AsDuration(),
	}
	if n.GetRetryAfter() < 0 {
		d.RetryAfter = weir.Never
	}
	if at != nil {
		d.At = at.AsTime()
	}
	return d
}

// decision is what an answer of one limit has.
type decision interface {
	numbers
	GetAt() *timestamppb.Timestamp
}

func decisionOf(r decision, degraded, replayed bool) Decision {
	d := Decision{Decision: numbersOf(r, r.GetAt()), Replayed: replayed}
	d.Degraded = degraded
	return d
}

// verdict is what an answer of a policy has.
type verdict interface {
	decision
	GetDegraded() bool
	GetRuleId() string
	GetDecisions() []*weirv1.RuleDecision
	GetStanding() weirv1.Standing
	GetPolicyVersion() string
}

func verdictOf(r verdict) Verdict {
	v := Verdict{Decision: decisionOf(r, r.GetDegraded(), false), Rule: r.GetRuleId(), Standing: r.GetStanding(), PolicyVersion: r.GetPolicyVersion()}
	for _, d := range r.GetDecisions() {
		rule := RuleDecision{numbersOf(d, r.GetAt()), d.GetRuleId()}
		rule.Degraded = v.Degraded
		v.Rules = append(v.Rules, rule)
	}
	return v
}
