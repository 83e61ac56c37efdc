package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/api/client"
	"github.com/weirgo/weir/api/weirv1"
	memorystore "github.com/weirgo/weir/store/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// fixed is a clock that stands still.
type fixed struct{}

func (fixed) Now() time.Time { return time.Unix(1_764_288_000, 0) }

// service is a service in this process: it counts in memory by the limit "api", and
// charges an idempotency key once.
type service struct {
	weirv1.UnimplementedRateLimiterServer
	limiter *weir.Limiter
	answer  func(method string) error // where it is not nil, asked before a call
	reply   func(method string) error // and behind it, when all is counted

	mu    sync.Mutex
	calls []call
	once  map[string]*weirv1.AllowResponse
}

// call is what the service has seen of a call.
type call struct {
	method, key, token string
	request            any
}

func newService(t *testing.T) *service {
	t.Helper()
	s, err := memorystore.New(&memorystore.Options{Clock: fixed{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	limiter, err := weir.New(s, weir.Must(weir.ParseLimit("api", "fixed-window:10/1m")), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &service{limiter: limiter, once: map[string]*weirv1.AllowResponse{}}
}

func (s *service) AllowN(ctx context.Context, r *weirv1.AllowNRequest) (*weirv1.AllowResponse, error) {
	if r.GetLimitName() != "api" {
		return nil, status.Error(codes.NotFound, "no such limit")
	}
	s.mu.Lock() // so that a key that is used concurrently is charged once
	defer s.mu.Unlock()
	key := incoming(ctx, "idempotency-key")
	if before := s.once[key]; key != "" && before != nil {
		again := proto.CloneOf(before)
		again.Replayed = true
		return again, nil
	}
	d, err := s.limiter.AllowN(ctx, r.GetKey(), r.GetN())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	answer := &weirv1.AllowResponse{Allowed: d.Allowed, CurrentCount: d.Limit - d.Remaining, Limit: d.Limit, Remaining: d.Remaining,
		RetryAfterExact: durationpb.New(d.RetryAfter), ResetAfterExact: durationpb.New(d.ResetAfter), Delay: durationpb.New(d.Delay), At: timestamppb.New(d.At)}
	if d.RetryAfter == weir.Never {
		answer.RetryAfter, answer.RetryAfterExact = -1, nil
	}
	if key != "" {
		s.once[key] = answer
	}
	return answer, nil
}

func (s *service) Allow(ctx context.Context, r *weirv1.AllowRequest) (*weirv1.AllowResponse, error) {
	return s.AllowN(ctx, &weirv1.AllowNRequest{LimitName: r.GetLimitName(), Key: r.GetKey(), N: 1})
}

func (s *service) CheckRateLimit(ctx context.Context, r *weirv1.CheckRequest) (*weirv1.CheckResponse, error) {
	a, err := s.AllowN(ctx, &weirv1.AllowNRequest{LimitName: "api", Key: r.GetIdentifier(), N: 1})
	if err != nil {
		return nil, err
	}
	return &weirv1.CheckResponse{Allowed: a.Allowed, CurrentCount: a.CurrentCount, Limit: a.Limit, Remaining: a.Remaining, RetryAfterExact: a.RetryAfterExact, ResetAfterExact: a.ResetAfterExact, At: a.At,
		RuleId: "rule", Decisions: []*weirv1.RuleDecision{{Allowed: a.Allowed, Limit: a.Limit, Remaining: a.Remaining, RuleId: "rule"}, {Allowed: true, Limit: 5, RetryAfter: -1, RuleId: "other"}},
		Standing: weirv1.Standing_STANDING_WARNING, PolicyVersion: "v1", Replayed: a.Replayed, Degraded: r.GetMethod() == "DEGRADED"}, nil
}

func (s *service) GetRemainingQuota(context.Context, *weirv1.QuotaRequest) (*weirv1.QuotaResponse, error) {
	return &weirv1.QuotaResponse{Allowed: true, Limit: 10, Remaining: 10, RuleId: "rule", Standing: weirv1.Standing_STANDING_NORMAL, PolicyVersion: "v1"}, nil
}

func (s *service) Reset(ctx context.Context, r *weirv1.ResetRequest) (*weirv1.ResetResponse, error) {
	return &weirv1.ResetResponse{}, s.limiter.Reset(ctx, r.GetLimit().GetKey())
}

func (s *service) ResetLimit(ctx context.Context, r *weirv1.ResetRequest) (*weirv1.ResetResponse, error) {
	return &weirv1.ResetResponse{RuleIds: []string{"rule"}}, s.limiter.Reset(ctx, r.GetSubject().GetIdentifier())
}

func (s *service) Reserve(ctx context.Context, r *weirv1.ReserveRequest) (*weirv1.ReserveResponse, error) {
	reserved, err := s.limiter.Reserve(ctx, r.GetKey(), r.GetN())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	d := reserved.Decision()
	answer := &weirv1.ReserveResponse{Decision: &weirv1.AllowResponse{Allowed: d.Allowed, Limit: d.Limit, Remaining: d.Remaining}}
	if d.Allowed {
		text, err := reserved.MarshalText()
		if err != nil {
			return nil, err
		}
		answer.Reservation = string(text)
	}
	return answer, nil
}

func (s *service) Settle(ctx context.Context, r *weirv1.SettleRequest) (*weirv1.SettleResponse, error) {
	reserved, err := s.limiter.Resume([]byte(r.GetReservation()))
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, "no reservation")
	}
	settled, err := reserved.Settle(ctx, r.GetActual())
	if errors.Is(err, weir.ErrSettled) {
		return nil, status.Error(codes.FailedPrecondition, "settled with another cost")
	} else if err != nil {
		return nil, err
	}
	answer := &weirv1.SettleResponse{Charged: settled.Charged[0], Clamped: settled.Clamped}
	if len(settled.Decisions) > 0 {
		d := settled.Decisions[0]
		answer.Decision = &weirv1.AllowResponse{Allowed: d.Allowed, Limit: d.Limit, Remaining: d.Remaining}
	}
	return answer, nil
}

func (s *service) Cancel(ctx context.Context, r *weirv1.CancelRequest) (*weirv1.CancelResponse, error) {
	reserved, err := s.limiter.Resume([]byte(r.GetReservation()))
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, "no reservation")
	}
	return &weirv1.CancelResponse{}, reserved.Cancel(ctx)
}

// intercept notes a call and lets the test answer or lose it.
func (s *service) intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	s.mu.Lock()
	s.calls = append(s.calls, call{info.FullMethod, incoming(ctx, "idempotency-key"), incoming(ctx, "authorization"), request})
	s.mu.Unlock()
	if s.answer != nil {
		if err := s.answer(info.FullMethod); err != nil {
			return nil, err
		}
	}
	answer, err := handle(ctx, request)
	if err == nil && s.reply != nil {
		err = s.reply(info.FullMethod)
	}
	return answer, err
}

// incoming is the first value of a name in the metadata.
func incoming(ctx context.Context, name string) string {
	md, _ := metadata.FromIncomingContext(ctx)
	if values := md.Get(name); len(values) > 0 {
		return values[0]
	}
	return ""
}

func (s *service) seen() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]call(nil), s.calls...)
}

// used is how many units a key has used.
func (s *service) used(t *testing.T, key string) int64 {
	t.Helper()
	d, err := s.limiter.Peek(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return d.Limit - d.Remaining
}

// connections counts the connections of a client, and cuts them.
type connections struct {
	listener *bufconn.Listener
	mu       sync.Mutex
	open     []net.Conn
}

func (c *connections) dial(ctx context.Context, _ string) (net.Conn, error) {
	conn, err := c.listener.DialContext(ctx)
	if err == nil {
		c.mu.Lock()
		c.open = append(c.open, conn)
		c.mu.Unlock()
	}
	return conn, err
}

// cut cuts the newest connection.
func (c *connections) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[len(c.open)-1].Close()
}

// start serves s, and returns a client of it. Options that the test leaves out are those
// of a patient client on a plaintext connection.
func start(t *testing.T, s *service, opts client.Options, serverOpts ...grpc.ServerOption) (*client.Client, *connections) {
	t.Helper()
	conns := &connections{listener: bufconn.Listen(1 << 16)}
	server := grpc.NewServer(append(serverOpts, grpc.UnaryInterceptor(s.intercept))...)
	weirv1.RegisterRateLimiterServer(server, s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(conns.listener) // ends with Stop
	}()
	t.Cleanup(func() { server.Stop(); <-done })
	opts.Plaintext = opts.TLS == nil
	if opts.Timeout == 0 {
		opts.Timeout = time.Minute
	}
	opts.Dial = append(opts.Dial, grpc.WithContextDialer(conns.dial))
	c, err := client.New("passthrough:///service", &opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, conns
}

func withTLS(certificate tls.Certificate) grpc.ServerOption {
	return grpc.Creds(credentials.NewServerTLSFromCert(&certificate))
}
