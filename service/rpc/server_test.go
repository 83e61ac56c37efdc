package rpc

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/benbjohnson/clock"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/api/weirv1"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/service/engine"
	memorystore "github.com/weirgo/weir/store/memory"
)

const testPolicy = `
version: 1
rules:
  - {id: user, key: [user], limit: gcra:10/1h}
  - {id: orders, key: [user], endpoints: {"POST /orders": "leaky-bucket:3/1h"}}
lists: {deny: [{match: {user: blocked}, reason: abuse}]}
`

// bench is a Server over gRPC, whose clock the test moves.
type bench struct {
	weirv1.RateLimiterClient
	server *Server
	clock  *clock.Mock
	skews  chan time.Duration
	log    bytes.Buffer // read when no call is running
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{clock: clock.NewMock(), skews: make(chan time.Duration, 10)}
	b.clock.Set(time.Date(2026, 11, 29, 12, 0, 0, 500_000_000, time.UTC))
	memory := weir.Must(memorystore.New(&memorystore.Options{Clock: b.clock}))
	file := weir.Must(policy.Parse([]byte(testPolicy), nil))
	e := weir.Must(engine.New(memory, &engine.Options{
		Policy: file.Compiled, Limits: []weir.Limit{weir.Must(weir.ParseLimit("api", "gcra:10/1h"))},
		ReservationKey: []byte("0123456789abcdef"), Enforcer: &policy.EnforcerOptions{Clock: b.clock},
	}))
	find := func(ctx context.Context) (*engine.Engine, string, error) {
		callers := metadata.ValueFromIncomingContext(ctx, "caller")
		if len(callers) == 0 {
			return e, "", nil
		}
		for code := range codeOf {
			if callers[0] == code.String() {
				return nil, "", &engine.Error{Code: code, Message: "for the test", RetryAfter: 3 * time.Second}
			}
		}
		return e, callers[0], nil
	}
	service := weir.Must(New(find, &Options{Skew: func(d time.Duration) {
		select {
		case b.skews <- d:
		default: // nobody reads them
		}
	}, Logger: slog.New(slog.NewTextHandler(&b.log, nil))}))
	service.now, b.server = b.clock.Now, service
	server := grpc.NewServer()
	service.Register(server)
	listener := bufconn.Listen(1 << 16)
	go server.Serve(listener)
	conn, err := grpc.NewClient("passthrough:///bufconn", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	b.RateLimiterClient = weirv1.NewRateLimiterClient(conn)
	t.Cleanup(func() { conn.Close(); server.Stop(); e.Close(); memory.Close() })
	return b
}

func user(name string) *weirv1.CheckRequest {
	return &weirv1.CheckRequest{Identifier: name, Dimension: weirv1.Dimension_USER, Endpoint: "/"}
}

func (b *bench) check(t *testing.T, m *weirv1.CheckRequest, pairs ...string) *weirv1.CheckResponse {
	t.Helper()
	r, err := b.CheckRateLimit(metadata.AppendToOutgoingContext(t.Context(), pairs...), m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCheckResponseHasEveryField(t *testing.T) {
	b := newBench(t)
	now := b.clock.Now()
	m := user("u")
	m.Endpoint, m.Method = "/orders", "POST"
	r := b.check(t, m)
	if !r.Allowed || r.RuleId != "orders/POST /orders" || r.Limit != 3 || r.Remaining != 2 || r.CurrentCount != 1 || r.RetryAfter != 0 ||
		r.ResetAt != now.Unix()+1200+1 || r.ResetAfterExact.AsDuration() != 20*time.Minute || !r.At.AsTime().Equal(now) ||
		r.PolicyVersion == "" || r.Standing != weirv1.Standing_STANDING_NORMAL || r.Replayed || r.Degraded {
		t.Errorf("%v", r)
	}
	if len(r.Decisions) != 2 || r.Decisions[0].RuleId != "user" || r.Decisions[0].Remaining != 9 || r.Decisions[0].ResetAt != now.Unix()+360+1 {
		t.Errorf("decisions %v", r.Decisions)
	}
	b.check(t, m)
	if r = b.check(t, m); !r.Allowed || r.Delay.AsDuration() != 40*time.Minute || r.Standing != weirv1.Standing_STANDING_WARNING {
		t.Errorf("%v: want a wait of 40 minutes for its turn", r)
	}
	if r = b.check(t, m); r.Allowed || r.RetryAfter != 1200 || r.RetryAfterExact.AsDuration() != 20*time.Minute || r.Standing != weirv1.Standing_STANDING_THROTTLED {
		t.Errorf("%v: want denied for 20 minutes", r)
	}
	eleven := int64(11)
	m.Cost = &eleven
	if r = b.check(t, m); r.Allowed || r.RetryAfter != -1 || r.RetryAfterExact != nil {
		t.Errorf("%v: want denied for ever", r)
	}
	if r = b.check(t, user("blocked")); r.Allowed || r.RetryAfter != -1 || len(r.Decisions) != 0 || r.Standing != weirv1.Standing_STANDING_THROTTLED {
		t.Errorf("%v: want denied by the list", r)
	}
	m = user("o")
	m.Dimension = weirv1.Dimension_ORG
	if r = b.check(t, m); !r.Allowed || r.Decisions != nil || r.Standing != weirv1.Standing_STANDING_UNSPECIFIED {
		t.Errorf("%v: want allowed without decisions", r)
	}
}

func TestTimestampFeedsTheSkewAndDecidesNothing(t *testing.T) {
	b := newBench(t)
	m := user("u")
	for _, c := range []struct {
		timestamp int64
		want      time.Duration
	}{
		{b.clock.Now().Add(-time.Minute).UnixMicro(), -time.Minute},
		{b.clock.Now().Add(time.Hour).UnixMicro(), time.Hour},
	} {
		m.Timestamp = c.timestamp
		if r := b.check(t, m); !r.At.AsTime().Equal(b.clock.Now()) {
			t.Errorf("decided at %v", r.At.AsTime())
		}
		if skew := <-b.skews; skew != c.want {
			t.Errorf("skew %s, want %s", skew, c.want)
		}
	}
	m.Timestamp = 0
	b.check(t, m)
	if len(b.skews) != 0 {
		t.Error("a request without a timestamp has a skew")
	}
	m.Timestamp = 1<<63 - 1
	b.check(t, m)
	if skew := <-b.skews; skew < 100*365*24*time.Hour {
		t.Errorf("skew %s of the largest timestamp: want a long time ahead", skew)
	}
}

// violations are the fields of a BadRequest.
func violations(err error) (fields []string) {
	for _, detail := range status.Convert(err).Details() {
		if bad, is := detail.(*errdetails.BadRequest); is {
			for _, v := range bad.FieldViolations {
				fields = append(fields, v.Field)
			}
		}
	}
	return fields
}

func TestBadInputHasFieldViolations(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	minus := int64(-1)
	long := strings.Repeat("x", 1025)
	for name, c := range map[string]struct {
		call func() error
		want string
	}{
		"empty check": {func() error { _, err := b.CheckRateLimit(ctx, &weirv1.CheckRequest{Cost: &minus}); return err }, "identifier dimension endpoint cost"},
		"no such dimension": {func() error {
			_, err := b.CheckRateLimit(ctx, &weirv1.CheckRequest{Identifier: long, Dimension: 9, Endpoint: "/"})
			return err
		}, "identifier dimension"},
		"quota": {func() error { _, err := b.GetRemainingQuota(ctx, &weirv1.QuotaRequest{}); return err }, "identifier dimension endpoint"},
		"n below 0": {func() error {
			_, err := b.AllowN(ctx, &weirv1.AllowNRequest{LimitName: "api", N: -1})
			return err
		}, "key n"},
		"allow":            {func() error { _, err := b.Allow(ctx, &weirv1.AllowRequest{}); return err }, "limit_name key"},
		"reset of nothing": {func() error { _, err := b.Reset(ctx, &weirv1.ResetRequest{}); return err }, "target"},
		"reserve":          {func() error { _, err := b.Reserve(ctx, &weirv1.ReserveRequest{N: -1}); return err }, "limit_name key n"},
		"settle":           {func() error { _, err := b.Settle(ctx, &weirv1.SettleRequest{Actual: -1}); return err }, "actual reservation"},
		"cancel":           {func() error { _, err := b.Cancel(ctx, &weirv1.CancelRequest{Reservation: "x"}); return err }, "reservation"},
		"bad key":          {func() error { m := user("u"); m.IdempotencyKey = long; _, err := b.CheckRateLimit(ctx, m); return err }, "idempotency_key"},
		"two keys": {func() error {
			m := user("u")
			m.IdempotencyKey = "a"
			_, err := b.CheckRateLimit(metadata.AppendToOutgoingContext(ctx, "idempotency-key", "b"), m)
			return err
		}, "idempotency_key"},
	} {
		err := c.call()
		if got := strings.Join(violations(err), " "); status.Code(err) != codes.InvalidArgument || got != c.want {
			t.Errorf("%s: %v with %q: want INVALID_ARGUMENT with %q", name, err, got, c.want)
		}
	}
}

func TestErrorsHaveTheirStatus(t *testing.T) {
	b := newBench(t)
	for code, want := range codeOf {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "caller", code.String())
		for name, call := range map[string]func() error{
			"check":  func() error { _, err := b.CheckRateLimit(ctx, user("u")); return err },
			"quota":  func() error { _, err := b.GetRemainingQuota(ctx, &weirv1.QuotaRequest{}); return err },
			"reset":  func() error { _, err := b.ResetLimit(ctx, &weirv1.ResetRequest{}); return err },
			"allow":  func() error { _, err := b.Allow(ctx, &weirv1.AllowRequest{}); return err },
			"settle": func() error { _, err := b.Settle(ctx, &weirv1.SettleRequest{}); return err },
		} {
			b.log.Reset()
			s := status.Convert(call())
			if logged := strings.Contains(b.log.String(), "method=/weir.v1.RateLimiter/"); logged != (code == engine.Internal) {
				t.Errorf("%s: %s: the log has %q", name, code, b.log.String())
			}
			if s.Code() != want || s.Message() != "for the test" {
				t.Errorf("%s: %s: %v, want %v", name, code, s, want)
			}
			retry := time.Duration(0)
			for _, detail := range s.Details() {
				if info, is := detail.(*errdetails.RetryInfo); is {
					retry = info.RetryDelay.AsDuration()
				}
			}
			if retry != 3*time.Second {
				t.Errorf("%s: %s: RetryInfo %s, want 3s", name, code, retry)
			}
		}
	}
	if _, err := b.Allow(t.Context(), &weirv1.AllowRequest{LimitName: "none", Key: "k"}); status.Code(err) != codes.NotFound {
		t.Errorf("%v: want NOT_FOUND", err)
	}
}

func TestIdempotencyKeyOfMetadataAndItsAlias(t *testing.T) {
	b := newBench(t)
	first := b.check(t, user("u"), "idempotency-key", "k")
	b.clock.Add(time.Second)
	for _, pairs := range [][]string{{"idempotency-key", "k"}, {"x-idempotency-key", "k"}, {"x-idempotency-key", "k", "idempotency-key", "k"}} {
		if r := b.check(t, user("u"), pairs...); !r.Replayed || r.Remaining != first.Remaining || r.ResetAt != first.ResetAt || !r.At.AsTime().Equal(first.At.AsTime()) {
			t.Errorf("%v: %v, want the answer %v", pairs, r, first)
		}
	}
	m := user("u")
	m.IdempotencyKey = "k"
	if r := b.check(t, m); !r.Replayed {
		t.Errorf("%v: want the key of the message to be the same", r)
	}
	_, err := b.CheckRateLimit(metadata.AppendToOutgoingContext(t.Context(), "idempotency-key", "k"), user("v"))
	if status.Code(err) != codes.InvalidArgument || len(violations(err)) != 1 || violations(err)[0] != "idempotency_key" {
		t.Errorf("another request under the key: %v", err)
	}
	if r := b.check(t, user("u"), "idempotency-key", "k", "caller", "other"); r.Replayed || r.Remaining != 8 {
		t.Errorf("%v: want a new request of another caller", r)
	}
	// Of another method it is another key.
	ctx := metadata.AppendToOutgoingContext(t.Context(), "idempotency-key", "k")
	for range 2 {
		if a, err := b.Allow(ctx, &weirv1.AllowRequest{LimitName: "api", Key: "k"}); err != nil || a.Remaining != 9 {
			t.Errorf("%v, %v: want 9 left", a, err)
		}
	}
	if a, err := b.AllowN(ctx, &weirv1.AllowNRequest{LimitName: "api", Key: "k", N: 1}); err != nil || a.Remaining != 8 || a.Replayed {
		t.Errorf("%v, %v: want 8 left", a, err)
	}
}

func TestReservationsOverTheWire(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	once := metadata.AppendToOutgoingContext(ctx, "idempotency-key", "k")
	r, err := b.Reserve(once, &weirv1.ReserveRequest{LimitName: "api", Key: "k", N: 6})
	if err != nil || !r.Decision.Allowed || r.Decision.Remaining != 4 {
		t.Fatalf("%v, %v", r, err)
	}
	b.clock.Add(time.Second)
	again, err := b.Reserve(once, &weirv1.ReserveRequest{LimitName: "api", Key: "k", N: 6})
	if err != nil || !again.Decision.Replayed || again.Reservation != r.Reservation {
		t.Errorf("%v, %v: want the same reservation", again, err)
	}
	s, err := b.Settle(ctx, &weirv1.SettleRequest{Reservation: r.Reservation, Actual: 2})
	if err != nil || s.Charged != 2 || s.Decision.Remaining != 8 {
		t.Errorf("%v, %v: want 2 charged", s, err)
	}
	if _, err := b.Settle(ctx, &weirv1.SettleRequest{Reservation: r.Reservation, Actual: 3}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("%v: want FAILED_PRECONDITION", err)
	}
	if _, err := b.Cancel(ctx, &weirv1.CancelRequest{Reservation: r.Reservation}); err != nil {
		t.Errorf("%v: want nothing to happen", err)
	}
}

func TestResetAndQuota(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	b.check(t, user("u"))
	quota := &weirv1.QuotaRequest{Identifier: "u", Dimension: weirv1.Dimension_USER, Endpoint: "/"}
	for range 2 {
		if q, err := b.GetRemainingQuota(ctx, quota); err != nil || !q.Allowed || q.Remaining != 9 || q.RuleId != "user" || len(q.Decisions) != 1 {
			t.Errorf("%v, %v: want 9 left", q, err)
		}
	}
	r, err := b.ResetLimit(ctx, &weirv1.ResetRequest{Target: &weirv1.ResetRequest_Subject{Subject: &weirv1.Subject{Identifier: "u", Dimension: weirv1.Dimension_USER, Endpoint: "/"}}})
	if err != nil || len(r.RuleIds) != 1 || r.RuleIds[0] != "user" {
		t.Errorf("%v, %v: want the rule user", r, err)
	}
	if q, err := b.GetRemainingQuota(ctx, quota); err != nil || q.Remaining != 10 {
		t.Errorf("%v, %v: want 10 left", q, err)
	}
	if _, err := b.Reset(ctx, &weirv1.ResetRequest{Target: &weirv1.ResetRequest_Limit{Limit: &weirv1.LimitKey{LimitName: "api", Key: "k"}}}); err != nil {
		t.Error(err)
	}
}
