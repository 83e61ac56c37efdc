package rpc

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/api/weirv1"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/service/engine"
)

// subject is what the messages that name one have.
type subject interface {
	GetIdentifier() string
	GetDimension() weirv1.Dimension
	GetEndpoint() string
	GetMethod() string
	GetAttributes() map[string]string
}

func subjectOf(m subject) engine.Subject {
	s := engine.Subject{Identifier: m.GetIdentifier(), Endpoint: m.GetEndpoint(), Method: m.GetMethod(), Attributes: m.GetAttributes()}
	if d := m.GetDimension(); d != weirv1.Dimension_DIMENSION_UNSPECIFIED {
		s.Dimension = engine.Dimension(d.String()) // a number that is not known is its own text
	}
	return s
}

// exact is a wait; nil where no wait helps.
func exact(d time.Duration) *durationpb.Duration {
	if d == weir.Never {
		return nil
	}
	return durationpb.New(d)
}

func instant(at time.Time) *timestamppb.Timestamp {
	if at.IsZero() {
		return nil
	}
	return timestamppb.New(at)
}

var standings = map[policy.Standing]weirv1.Standing{
	policy.Normal:    weirv1.Standing_STANDING_NORMAL,
	policy.Warning:   weirv1.Standing_STANDING_WARNING,
	policy.Throttled: weirv1.Standing_STANDING_THROTTLED,
}

func checkResponse(a engine.Answer) *weirv1.CheckResponse {
	return &weirv1.CheckResponse{
		Allowed: a.Allowed, CurrentCount: a.Current, Limit: a.Limit, Remaining: a.Remaining,
		ResetAt: a.ResetAtUnix(), RetryAfter: a.RetryAfterSeconds(),
		RetryAfterExact: exact(a.RetryAfter), ResetAfterExact: exact(a.ResetAfter), Delay: exact(a.Delay), At: instant(a.At),
		RuleId: a.Rule, Decisions: decisionsOf(a), Standing: standingOf(a), Degraded: a.Degraded, PolicyVersion: a.PolicyVersion,
		Replayed: a.Replayed,
	}
}

func quotaResponse(a engine.Answer) *weirv1.QuotaResponse {
	return &weirv1.QuotaResponse{
		Allowed: a.Allowed, CurrentCount: a.Current, Limit: a.Limit, Remaining: a.Remaining,
		ResetAt: a.ResetAtUnix(), RetryAfter: a.RetryAfterSeconds(),
		RetryAfterExact: exact(a.RetryAfter), ResetAfterExact: exact(a.ResetAfter), Delay: exact(a.Delay), At: instant(a.At),
		RuleId: a.Rule, Decisions: decisionsOf(a), Standing: standingOf(a), Degraded: a.Degraded, PolicyVersion: a.PolicyVersion,
	}
}

// standingOf is not known where nothing was asked.
func standingOf(a engine.Answer) weirv1.Standing {
	if len(a.Decisions) == 0 && !a.Listed {
		return weirv1.Standing_STANDING_UNSPECIFIED
	}
	return standings[a.Standing]
}

func decisionsOf(a engine.Answer) []*weirv1.RuleDecision {
	var all []*weirv1.RuleDecision
	for _, d := range a.Decisions {
		all = append(all, &weirv1.RuleDecision{
			Allowed: d.Allowed, CurrentCount: d.Current, Limit: d.Limit, Remaining: d.Remaining,
			ResetAt: d.ResetAtUnix(), RetryAfter: d.RetryAfterSeconds(),
			RetryAfterExact: exact(d.RetryAfter), ResetAfterExact: exact(d.ResetAfter), Delay: exact(d.Delay),
			RuleId: d.Rule,
		})
	}
	return all
}

func allowResponse(a engine.LimitAnswer) *weirv1.AllowResponse {
	return &weirv1.AllowResponse{
		Allowed: a.Allowed, CurrentCount: a.Current, Limit: a.Limit, Remaining: a.Remaining,
		ResetAt: a.ResetAtUnix(), RetryAfter: a.RetryAfterSeconds(),
		RetryAfterExact: exact(a.RetryAfter), ResetAfterExact: exact(a.ResetAfter), Delay: exact(a.Delay), At: instant(a.At),
		Degraded: a.Degraded, Replayed: a.Replayed,
	}
}
