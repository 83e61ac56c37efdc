package grpclimit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir"
	grpclimit "github.com/weirgo/weir/adapter/grpc"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/httplimit"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// fixed is a clock that stands still.
type fixed struct{}

func (fixed) Now() time.Time { return time.Unix(1_764_288_000, 0) }

func newStore(t *testing.T, clock store.Clock) store.Store {
	t.Helper()
	opts := &memorystore.Options{}
	if clock != nil {
		opts.Clock = clock
	}
	states := weir.Must(memorystore.New(opts))
	t.Cleanup(func() { _ = states.Close() })
	return states
}

func newLimiter(t *testing.T, s store.Store, spec string) *weir.Limiter {
	t.Helper()
	return weir.Must(weir.New(s, weir.Must(weir.ParseLimit("api", spec)), nil))
}

func newMiddleware(t *testing.T, spec string, key httplimit.Key, opts *httplimit.Options) *httplimit.Middleware {
	t.Helper()
	return weir.Must(httplimit.New(newLimiter(t, newStore(t, fixed{}), spec), key, opts))
}

// echo is a service with a stream that returns what it receives.
var echo = grpc.ServiceDesc{
	ServiceName: "test.Echo", HandlerType: (*any)(nil),
	Streams: []grpc.StreamDesc{{StreamName: "Echo", ServerStreams: true, ClientStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
		for {
			var m wrapperspb.Int64Value
			if err := stream.RecvMsg(&m); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return fmt.Errorf("echo: %w", err)
			}
			if err := stream.SendMsg(&m); err != nil {
				return err
			}
		}
	}}},
}

// serve starts a server and returns a connection to it.
func serve(t *testing.T, opts []grpc.ServerOption, dial ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	listener := bufconn.Listen(1 << 16)
	server := grpc.NewServer(opts...)
	healthpb.RegisterHealthServer(server, health.NewServer())
	server.RegisterService(&echo, nil)
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	dial = append(dial, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		return listener.DialContext(ctx)
	}))
	conn, err := grpc.NewClient("passthrough:test", dial...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); server.Stop(); <-done })
	return conn
}

// check is one unary call.
func check(conn *grpc.ClientConn, headers ...string) (header, trailer metadata.MD, err error) {
	ctx := metadata.AppendToOutgoingContext(context.Background(), headers...)
	_, err = healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.Header(&header), grpc.Trailer(&trailer))
	return header, trailer, err
}

// detailsOf returns what a denial says.
func detailsOf(t *testing.T, err error) (wait time.Duration, violated []string) {
	t.Helper()
	wait = -1
	for _, detail := range status.Convert(err).Details() {
		switch d := detail.(type) {
		case *errdetails.RetryInfo:
			wait = d.RetryDelay.AsDuration()
		case *errdetails.QuotaFailure:
			for _, v := range d.Violations {
				violated = append(violated, v.Subject)
			}
		default:
			t.Errorf("%v", err)
		}
	}
	return wait, violated
}

func TestUnaryCallIsDenied(t *testing.T) {
	m := newMiddleware(t, "gcra:1/1m", httplimit.Everyone, nil)
	conn := serve(t, []grpc.ServerOption{grpc.UnaryInterceptor(grpclimit.UnaryServer(m))})
	header, _, err := check(conn)
	if err != nil || fmt.Sprint(header["ratelimit"]) != `["api";r=0;t=60]` || fmt.Sprint(header["ratelimit-policy"]) != `["api";q=1;w=60]` {
		t.Errorf("the first: %v, %v", err, header)
	}
	_, trailer, err := check(conn)
	wait, violated := detailsOf(t, err)
	if status.Code(err) != codes.ResourceExhausted || wait != time.Minute || fmt.Sprint(violated) != "[limit:api]" {
		t.Errorf("the second: %v, wait %v, %v", err, wait, violated)
	}
	for name, want := range map[string]string{"retry-after": "[60]", "ratelimit": `["api";r=0;t=60]`, "grpc-retry-pushback-ms": "[60000]"} {
		if got := fmt.Sprint(trailer[name]); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestPushbackHas32Bits: a client that cannot read a number does not repeat the call.
func TestPushbackHas32Bits(t *testing.T) {
	m := newMiddleware(t, "gcra:1/1000h", httplimit.Everyone, nil)
	conn := serve(t, []grpc.ServerOption{grpc.UnaryInterceptor(grpclimit.UnaryServer(m))})
	for i := range 2 {
		_, trailer, err := check(conn)
		if i == 1 && fmt.Sprint(trailer["grpc-retry-pushback-ms"], trailer["retry-after"]) != "[2147483647] [3600000]" {
			t.Errorf("%v: %v", err, trailer)
		}
	}
}

func TestStreamIsDenied(t *testing.T) {
	m := newMiddleware(t, "gcra:1/1m", httplimit.Everyone, nil)
	conn := serve(t, []grpc.ServerOption{grpc.StreamInterceptor(grpclimit.StreamServer(m))})
	for i, want := range []codes.Code{codes.OK, codes.ResourceExhausted} {
		stream := openEcho(t, conn)
		for n := range 3 {
			if got := stream.exchange(int64(n)); status.Code(got) != want {
				t.Errorf("stream %d, message %d: %v", i, n, got)
			}
		}
	}
}

func TestMessagesAreCounted(t *testing.T) {
	m := newMiddleware(t, "gcra:10/1m", httplimit.Everyone, &httplimit.Options{Cost: func(r *http.Request) int64 {
		return grpclimit.Message(r.Context()).(*wrapperspb.Int64Value).GetValue()
	}})
	conn := serve(t, []grpc.ServerOption{grpc.StreamInterceptor(grpclimit.StreamMessages(m))})
	stream := openEcho(t, conn)
	if err := stream.exchange(4); err != nil {
		t.Error(err)
	}
	if err := stream.exchange(6); err != nil {
		t.Error(err)
	}
	err := stream.exchange(7) // the handler wraps the error
	if wait, _ := detailsOf(t, err); status.Code(err) != codes.ResourceExhausted || wait != 42*time.Second {
		t.Errorf("%v, wait %v", err, wait)
	}
}

type echoStream struct{ grpc.ClientStream }

func openEcho(t *testing.T, conn *grpc.ClientConn) echoStream {
	t.Helper()
	stream, err := conn.NewStream(t.Context(), &echo.Streams[0], "/test.Echo/Echo")
	if err != nil {
		t.Fatal(err)
	}
	return echoStream{stream}
}

// exchange sends a message and returns how it was answered.
func (s echoStream) exchange(n int64) error {
	_ = s.SendMsg(wrapperspb.Int64(n)) // where the stream has ended, RecvMsg says why
	return s.RecvMsg(&wrapperspb.Int64Value{})
}

// failing is a store that fails.
type failing struct{ store.Store }

func (failing) Apply(context.Context, []store.Op) (at algorithm.Instant, committed bool, err error) {
	return 0, false, fmt.Errorf("secret address: %w", store.ErrUnavailable)
}

func TestOtherRefusals(t *testing.T) {
	broken := weir.Must(httplimit.New(newLimiter(t, failing{newStore(t, nil)}, "gcra:1/1m"), httplimit.Everyone, nil))
	for name, test := range map[string]struct {
		m    *httplimit.Middleware
		want codes.Code
		push string
	}{
		"no decision": {broken, codes.Unavailable, "[]"},
		"no key":      {newMiddleware(t, "gcra:1/1m", httplimit.Header("x-user"), nil), codes.PermissionDenied, "[-1]"},
		"never":       {newMiddleware(t, "gcra:1/1m", httplimit.Everyone, cost(2)), codes.ResourceExhausted, "[-1]"},
		"cost of -1":  {newMiddleware(t, "gcra:1/1m", httplimit.Everyone, cost(-1)), codes.InvalidArgument, "[]"},
	} {
		conn := serve(t, []grpc.ServerOption{grpc.UnaryInterceptor(grpclimit.UnaryServer(test.m))})
		_, trailer, err := check(conn)
		wait, _ := detailsOf(t, err)
		if status.Code(err) != test.want || fmt.Sprint(trailer["grpc-retry-pushback-ms"]) != test.push || wait != -1 {
			t.Errorf("%s: %v, %v", name, err, trailer)
		}
		if text := err.Error(); strings.Contains(text, "secret") {
			t.Errorf("%s: %s", name, text)
		}
	}
	for err, want := range map[error]codes.Code{context.Canceled: codes.Canceled, context.DeadlineExceeded: codes.DeadlineExceeded} {
		if got := grpclimit.Status(&httplimit.Verdict{Err: fmt.Errorf("ask: %w", err)}).Code(); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
	if s := grpclimit.Status(&httplimit.Verdict{Allowed: true}); s.Code() != codes.OK || s.Err() != nil {
		t.Errorf("allowed: %v", s)
	}
}

// stuck is a store that answers too late.
type stuck struct{ store.Store }

func (stuck) Apply(ctx context.Context, _ []store.Op) (at algorithm.Instant, committed bool, err error) {
	<-ctx.Done()
	return 0, false, ctx.Err()
}

// TestTimeoutOfTheStoreIsUnavailable: the deadline of the call has not ended.
func TestTimeoutOfTheStoreIsUnavailable(t *testing.T) {
	limit := weir.Must(weir.ParseLimit("api", "gcra:1/1m"))
	limiter := weir.Must(weir.New(stuck{newStore(t, nil)}, limit, &weir.Options{Timeout: time.Millisecond}))
	m := weir.Must(httplimit.New(limiter, httplimit.Everyone, nil))
	conn := serve(t, []grpc.ServerOption{grpc.UnaryInterceptor(grpclimit.UnaryServer(m))})
	if _, _, err := check(conn); status.Code(err) != codes.Unavailable {
		t.Errorf("server: %v", err)
	}
	conn = serve(t, nil, grpc.WithUnaryInterceptor(grpclimit.UnaryClient(limiter)))
	if _, _, err := check(conn); status.Code(err) != codes.Unavailable {
		t.Errorf("client: %v", err)
	}
}

func cost(n int64) *httplimit.Options {
	return &httplimit.Options{Cost: func(*http.Request) int64 { return n }}
}

// TestCallIsSeenAsRequest: keys, patterns and addresses of httplimit work.
func TestCallIsSeenAsRequest(t *testing.T) {
	var seen *http.Request
	key := func(r *http.Request) (string, bool) {
		seen = r
		return httplimit.Join(httplimit.Header("X-User"), httplimit.Pattern)(r)
	}
	conn := serve(t, []grpc.ServerOption{grpc.UnaryInterceptor(grpclimit.UnaryServer(newMiddleware(t, "gcra:1/1m", key, nil)))})
	for user, want := range map[string]codes.Code{"a": codes.OK, "b": codes.OK} {
		if _, _, err := check(conn, "x-user", user); status.Code(err) != want {
			t.Errorf("%s: %v", user, err)
		}
		if _, _, err := check(conn, "x-user", user); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("%s again: %v", user, err)
		}
	}
	if seen.Method != "POST" || seen.URL.Path != "/grpc.health.v1.Health/Check" || seen.Pattern != "POST /grpc.health.v1.Health/Check" || seen.RemoteAddr != "bufconn" || seen.Host != "test" {
		t.Errorf("%+v", seen)
	}
	if _, ok := grpclimit.Message(seen.Context()).(*healthpb.HealthCheckRequest); !ok {
		t.Error("the message is not there")
	}
}

// TestErrorsOfTheHandlerAreKept: an interceptor that wraps them keeps their status, too.
func TestErrorsOfTheHandlerAreKept(t *testing.T) {
	wrap := func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		answer, err := handler(ctx, request)
		if err != nil {
			err = fmt.Errorf("wrapped: %w", err)
		}
		return answer, err
	}
	m := newMiddleware(t, "gcra:1/1m", httplimit.Everyone, nil)
	conn := serve(t, []grpc.ServerOption{grpc.ChainUnaryInterceptor(wrap, grpclimit.UnaryServer(m))})
	_, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{Service: "unknown"})
	if status.Code(err) != codes.NotFound {
		t.Errorf("the error of the handler: %v", err)
	}
	_, _, err = check(conn)
	if wait, _ := detailsOf(t, err); status.Code(err) != codes.ResourceExhausted || wait != time.Minute {
		t.Errorf("a denial that was wrapped: %v, %v", err, wait)
	}
}

// TestRetryPolicyOfTheClientWaits: a client with a retry policy waits for the pushback.
func TestRetryPolicyOfTheClientWaits(t *testing.T) {
	const config = `{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 5, "initialBackoff": "1000s",
		"maxBackoff": "1000s", "backoffMultiplier": 1, "retryableStatusCodes": ["RESOURCE_EXHAUSTED"]}}]}`
	l := newLimiter(t, newStore(t, nil), "gcra:10/1s,burst=1")
	m := weir.Must(httplimit.New(l, httplimit.Everyone, nil))
	conn := serve(t, []grpc.ServerOption{grpc.UnaryInterceptor(grpclimit.UnaryServer(m))}, grpc.WithDefaultServiceConfig(config))
	for i := range 3 {
		if _, _, err := check(conn); err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

func TestClientWaitsForItsTurn(t *testing.T) {
	l := newLimiter(t, newStore(t, nil), "gcra:1/1h")
	conn := serve(t, nil, grpc.WithUnaryInterceptor(grpclimit.UnaryClient(l)), grpc.WithStreamInterceptor(grpclimit.StreamClient(l)))
	if _, _, err := check(conn); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	start := time.Now()
	_, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	var late *weir.WaitError
	if status.Code(err) != codes.DeadlineExceeded || !errors.As(err, &late) || time.Since(start) > 30*time.Second {
		t.Errorf("a turn after the deadline: %v", err)
	}
	if _, err := conn.NewStream(ctx, &echo.Streams[0], "/test.Echo/Echo"); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a stream: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := healthpb.NewHealthClient(conn).Check(ended, &healthpb.HealthCheckRequest{}); status.Code(err) != codes.Canceled {
		t.Errorf("a context that has ended: %v", err)
	}
	broken := serve(t, nil, grpc.WithUnaryInterceptor(grpclimit.UnaryClient(newLimiter(t, failing{newStore(t, nil)}, "gcra:1/1h"))))
	if _, _, err := check(broken); status.Code(err) != codes.Unavailable || !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a store that fails: %v", err)
	}
	if err := l.Reset(t.Context(), conn.Target()); err != nil {
		t.Fatal(err)
	}
	if err := openEcho(t, conn).exchange(1); err != nil {
		t.Errorf("a stream in time: %v", err)
	}
}
