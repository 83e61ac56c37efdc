// Package rpc is the service weir.v1.RateLimiter of gRPC: the messages of api/weirv1 in
// front of an engine.
package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/weirgo/weir/api/weirv1"
	"github.com/weirgo/weir/service/engine"
)

// Options are the optional settings of a Server. nil means all defaults.
type Options struct {
	// Skew gets the clock of the caller less that of this process, for each CheckRequest with
	// a timestamp; the time that the message took makes it smaller. It is called concurrently
	// and must not wait. nil is not called.
	Skew func(skew time.Duration)
	// Logger gets errors that are no answer: never a key. nil is slog.Default.
	Logger *slog.Logger
}

// Find returns the engine of the tenant that calls, and the name of the caller, of which
// idempotency keys are. Its errors are *engine.Error.
type Find func(ctx context.Context) (e *engine.Engine, caller string, err error)

// Server is a weirv1.RateLimiterServer. It is safe for concurrent use.
type Server struct {
	weirv1.UnimplementedRateLimiterServer
	find Find
	skew func(time.Duration)
	now  func() time.Time
	log  *slog.Logger
}

var _ weirv1.RateLimiterServer = (*Server)(nil)

// New returns a Server; a nil find is an error.
func New(find Find, opts *Options) (*Server, error) {
	if find == nil {
		return nil, errors.New("rpc: find is nil: must be a function that returns an engine")
	}
	s := &Server{find: find, skew: func(time.Duration) {}, now: time.Now}
	if opts == nil {
		opts = &Options{}
	}
	if opts.Skew != nil {
		s.skew = opts.Skew
	}
	if s.log = opts.Logger; s.log == nil {
		s.log = slog.Default()
	}
	return s, nil
}

// Register adds the service to a gRPC server.
func (s *Server) Register(r grpc.ServiceRegistrar) { weirv1.RegisterRateLimiterServer(r, s) }

// once reads the idempotency key of a call: from the message, the metadata
// idempotency-key, or its alias. Where there are several they have to be equal.
func once(ctx context.Context, caller, method, message string) (*engine.Once, error) {
	keys := append([]string{}, metadata.ValueFromIncomingContext(ctx, "idempotency-key")...)
	keys = append(keys, metadata.ValueFromIncomingContext(ctx, "x-idempotency-key")...)
	if message != "" {
		keys = append(keys, message)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	for _, key := range keys {
		if key != keys[0] {
			return nil, &engine.Error{Code: engine.Invalid, Fields: []engine.FieldError{{
				Path: "idempotency_key", Problem: fmt.Sprintf("given %d times with different values", len(keys)), Allowed: "the same everywhere",
			}}}
		}
	}
	return &engine.Once{Key: keys[0], Caller: caller, Method: method}, nil
}

// CheckRateLimit implements weirv1.RateLimiterServer.
func (s *Server) CheckRateLimit(ctx context.Context, m *weirv1.CheckRequest) (*weirv1.CheckResponse, error) {
	e, caller, err := s.find(ctx)
	if err != nil {
		return nil, s.statusOf(ctx, err)
	}
	key, err := once(ctx, caller, "CheckRateLimit", m.GetIdempotencyKey())
	if err != nil {
		return nil, s.statusOf(ctx, err)
	}
	s.observe(m.GetTimestamp())
	a, err := e.Check(ctx, engine.Request{
		Subject: subjectOf(m), Cost: m.Cost, Once: key,
	})
	if err != nil {
		return nil, s.statusOf(ctx, err)
	}
	return checkResponse(a), nil
}

// observe shows the skew of the clock of a caller.
func (s *Server) observe(micros int64) {
	if micros <= 0 {
		return
	}
	ahead := float64(micros) - float64(s.now().UnixMicro())
	most := float64(math.MaxInt64 / int64(time.Microsecond) / 2)
	s.skew(time.Duration(max(-most, min(ahead, most))) * time.Microsecond)
}

// GetRemainingQuota implements weirv1.RateLimiterServer.
func (s *Server) GetRemainingQuota(ctx context.Context, m *weirv1.QuotaRequest) (*weirv1.QuotaResponse, error) {
	e, _, err := s.find(ctx)
	if err != nil {
		return nil, s.statusOf(ctx, err)
	}
	a, err := e.Quota(ctx, subjectOf(m))
	if err != nil {
		return nil, s.statusOf(ctx, err)
	}
	return quotaResponse(a), nil
}

// ResetLimit implements weirv1.RateLimiterServer.
func (s *Server) ResetLimit(ctx context.Context, m *weirv1.ResetRequest) (*weirv1.ResetResponse, error) {
	return s.Reset(ctx, m)
}

// Reset implements weirv1.RateLimiterServer.
func (s *Server) Reset(ctx context.Context, m *weirv1.ResetRequest) (*weirv1.ResetResponse, error) {
	e, _, err := s.find(ctx)
	if err != nil {
		return nil, s.statusOf(ctx, err)
	}
	response := &weirv1.ResetResponse{}
	switch target := m.GetTarget().(type) {
	case *weirv1.ResetRequest_Limit:
		err = e.Reset(ctx, target.Limit.GetLimitName(), target.Limit.GetKey())
	case *weirv1.ResetRequest_Subject:
		response.RuleIds, err = e.ResetSubject(ctx, subjectOf(target.Subject))
	default:
		err = &engine.Error{Code: engine.Invalid, Fields: []engine.FieldError{{Path: "target", Problem: "missing", Allowed: "limit or subject"}}}
	}
	if err != nil {
		return nil, s.statusOf(ctx, err)
	}
	return response, nil
}

// Allow implements weirv1.RateLimiterServer.
func (s *Server) Allow(ctx context.Context, m *weirv1.AllowRequest) (*weirv1.AllowResponse, error) {
	return s.allow(ctx, "Allow", m.GetLimitName(), m.GetKey(), 1)
}

// AllowN implements weirv1.RateLimiterServer.
func (s *Server) AllowN(ctx context.Context, m *weirv1.AllowNRequest) (*weirv1.AllowResponse, error) {
	return s.allow(ctx, "AllowN", m.GetLimitName(), m.GetKey(), m.GetN())
}

func (s *Server) allow(ctx context.Context, method, limit, key string, n int64) (*weirv1.AllowResponse, error) {
	e, caller, err := s.find(ctx)
	if err != nil {
		return nil, s.statusOf(ctx, err)
	}
	named, err := once(ctx, caller, method, "")
	if err != nil {
		return nil, s.statusOf(ctx, err)
	}
	a, err := e.AllowN(ctx, limit, key, n, named)
	if err != nil {
		return nil, s.statusOf(ctx, err)
	}
	return allowResponse(a), nil
}

// Reserve implements weirv1.RateLimiterServer.
func (s *Server) Reserve(ctx context.Context, m *weirv1.ReserveRequest) (*weirv1.ReserveResponse, error) {
	e, caller, err := s.find(ctx)
	if err != nil {
		return nil, s.statusOf(ctx, err)
	}
	named, err := once(ctx, caller, "Reserve", "")
	if err != nil {
		return nil, s.statusOf(ctx, err)
	}
	r, err := e.Reserve(ctx, m.GetLimitName(), m.GetKey(), m.GetN(), named)
	if err != nil {
		return nil, s.statusOf(ctx, err)
	}
	return &weirv1.ReserveResponse{Reservation: r.Token, Decision: allowResponse(r.LimitAnswer)}, nil
}

// Settle implements weirv1.RateLimiterServer.
func (s *Server) Settle(ctx context.Context, m *weirv1.SettleRequest) (*weirv1.SettleResponse, error) {
	e, _, err := s.find(ctx)
	if err != nil {
		return nil, s.statusOf(ctx, err)
	}
	settled, err := e.Settle(ctx, m.GetReservation(), m.GetActual())
	if err != nil {
		return nil, s.statusOf(ctx, err)
	}
	response := &weirv1.SettleResponse{Charged: settled.Charged, Clamped: settled.Clamped, Degraded: settled.Degraded}
	if settled.Limit != nil {
		response.Decision = allowResponse(*settled.Limit)
	}
	return response, nil
}

// Cancel implements weirv1.RateLimiterServer.
func (s *Server) Cancel(ctx context.Context, m *weirv1.CancelRequest) (*weirv1.CancelResponse, error) {
	e, _, err := s.find(ctx)
	if err != nil {
		return nil, s.statusOf(ctx, err)
	}
	if err := e.Cancel(ctx, m.GetReservation()); err != nil {
		return nil, s.statusOf(ctx, err)
	}
	return &weirv1.CancelResponse{}, nil
}
