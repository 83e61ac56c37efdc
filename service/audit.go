package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/api/weirv1"
	"github.com/weirgo/weir/service/audit"
	"github.com/weirgo/weir/service/auth"
	"github.com/weirgo/weir/service/config"
)

func openAudit(c *config.Audit) (*audit.Log, error) {
	if c == nil {
		return nil, nil
	}
	l, err := audit.Open(c.Folder, &audit.Options{Keep: c.Days, HashKey: c.Key()})
	if err != nil {
		return nil, fmt.Errorf("service: %w", err)
	}
	return l, nil
}

// refused writes down who was refused.
func (s *Service) refused(_ context.Context, r auth.Refusal) {
	if s.audit == nil {
		return
	}
	e := audit.Entry{
		Actor: r.Caller.Name, Role: string(r.Caller.Role), Tenant: r.Caller.Tenant, Remote: r.Remote,
		Action: "refuse", Target: r.Target, RequestID: weir.NewID(), Result: audit.Refused,
	}
	if r.Missed > 0 { // before this one, in a burst
		e.After = fmt.Appendf(nil, `{"refusals_without_a_line":%d}`, r.Missed)
	}
	_, err := s.audit.Write(e)
	s.auditFailed(err)
}

func (s *Service) auditFailed(err error) {
	if err != nil {
		s.log.Error("the audit could not be written", "error", err)
	}
}

// auditReload writes down that a policy or a configuration was replaced, or why not.
func (s *Service) auditReload(action, tenant, version string, failed error) {
	if s.audit == nil {
		return
	}
	e := audit.Entry{Actor: "service", Tenant: tenant, Action: action, Target: "configuration", PolicyVersion: version, RequestID: weir.NewID(), Result: audit.Done}
	if failed != nil {
		e.Result = audit.Failed + failed.Error()
	}
	_, err := s.audit.Write(e)
	s.auditFailed(err)
}

// auditedReset writes a reset down before it is made, and what came of it. A reset that
// cannot be written down is refused.
func (s *Service) auditedReset(next grpc.UnaryHandler) grpc.UnaryHandler {
	return func(ctx context.Context, message any) (any, error) {
		return s.auditReset(ctx, message.(*weirv1.ResetRequest), next)
	}
}

func (s *Service) auditReset(ctx context.Context, m *weirv1.ResetRequest, next grpc.UnaryHandler) (any, error) {
	caller, _ := auth.CallerOf(ctx)
	e := audit.Entry{
		Actor: caller.Name, Role: string(caller.Role), Tenant: caller.Tenant, Action: "reset", RequestID: weir.NewID(), Target: "limit:",
	}
	if p, has := peer.FromContext(ctx); has && p.Addr != nil {
		e.Remote = p.Addr.String()
	}
	version := ""
	if engine, err := s.Engine(caller.Tenant); err == nil {
		version = engine.PolicyVersion()
		name := m.GetLimit().GetLimitName()
		if slices.ContainsFunc(engine.Limits(), func(l weir.Limit) bool { return l.Name == name }) {
			e.Target += name // one that there is not may be anything, also a key
		}
	}
	if subject := m.GetSubject(); subject != nil {
		e.Target = s.audit.UserTarget(caller.Tenant, subject.GetIdentifier())
	}
	e.PolicyVersion = version
	change, err := s.audit.Begin(e)
	if err != nil {
		s.auditFailed(err)
		return nil, status.Error(codes.Unavailable, "the audit cannot be written, so nothing was reset")
	}
	response, failed := next(ctx, m)
	var after json.RawMessage
	if r, is := response.(*weirv1.ResetResponse); is && failed == nil {
		after, err = json.Marshal(map[string][]string{"rules": r.GetRuleIds()})
	}
	result := failed
	if failed != nil {
		result = errors.New(status.Code(failed).String()) // its text may have what a caller has sent
	}
	s.auditFailed(errors.Join(err, change.End(nil, after, version, result)))
	return response, failed
}
