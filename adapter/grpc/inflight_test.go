package grpclimit_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/weirgo/weir"
	grpclimit "github.com/weirgo/weir/adapter/grpc"
	"github.com/weirgo/weir/httplimit"
	"github.com/weirgo/weir/resilience/inflight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// newInFlight returns a limiter, and what is in use of a key of it.
func newInFlight(t *testing.T, units int64, opts *inflight.Options) (*inflight.Limiter, func(key string) int64) {
	t.Helper()
	l := weir.Must(inflight.New(weir.Must(inflight.NewMemory(nil)), inflight.Limit{Name: "calls", Units: units}, opts))
	return l, func(key string) int64 {
		s, err := l.Peek(context.Background(), key)
		if err != nil {
			t.Fatal(err)
		}
		return s.InUse
	}
}

func await(t *testing.T, what string, yes func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !yes(); {
		if time.Now().After(deadline) {
			t.Fatal("not within a minute: " + what)
		}
	}
}

func TestCallsInFlightAreBoundedByTheServer(t *testing.T) {
	for _, c := range []struct {
		status   int
		code     codes.Code
		violated int
	}{{429, codes.ResourceExhausted, 1}, {503, codes.Unavailable, 0}} {
		l, inUse := newInFlight(t, 1, nil)
		m := weir.Must(httplimit.NewInFlight(l, httplimit.Everyone, &httplimit.InFlightOptions{Status: c.status, RetryAfter: 2 * time.Second}))
		conn := serve(t, []grpc.ServerOption{grpc.UnaryInterceptor(grpclimit.UnaryServer(m)), grpc.StreamInterceptor(grpclimit.StreamServer(m))})
		if _, _, err := check(conn); err != nil {
			t.Fatal(err)
		}
		if inUse("everyone") != 0 {
			t.Error("a call that has ended is in use")
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/test.Echo/Echo")
		if err != nil {
			t.Fatal(err)
		}
		exchange := func() {
			t.Helper()
			if err := stream.SendMsg(wrapperspb.Int64(7)); err != nil {
				t.Fatal(err)
			}
			var answer wrapperspb.Int64Value
			if err := stream.RecvMsg(&answer); err != nil {
				t.Fatal(err)
			}
		}
		exchange()
		_, trailer, err := check(conn)
		wait, violated := detailsOf(t, err)
		if status.Code(err) != c.code || wait != 2*time.Second || len(violated) != c.violated || trailer.Get("grpc-retry-pushback-ms")[0] != "2000" || trailer.Get("retry-after")[0] != "2" {
			t.Errorf("beside a stream: %v, %v, %v, %v", err, wait, violated, trailer)
		}
		exchange() // which goes on
		if inUse("everyone") != 1 {
			t.Error("a stream has given its unit back before its end")
		}
		cancel()
		await(t, "a cancelled stream gives its unit back", func() bool { return inUse("everyone") == 0 })
	}
}

func TestPanicOfAHandlerGivesItsUnitBack(t *testing.T) {
	l, inUse := newInFlight(t, 1, nil)
	m := weir.Must(httplimit.NewInFlight(l, httplimit.Everyone, nil))
	func() {
		defer func() { _ = recover() }()
		_, _ = grpclimit.UnaryServer(m)(context.Background(), nil, &grpc.UnaryServerInfo{FullMethod: "/s/m"}, func(context.Context, any) (any, error) { panic("no") })
		t.Error("no panic")
	}()
	if inUse("everyone") != 0 {
		t.Error("still in use")
	}
}

func TestCallsInFlightAreBoundedByTheClient(t *testing.T) {
	l, inUse := newInFlight(t, 1, nil)
	conn := serve(t, nil, grpc.WithUnaryInterceptor(grpclimit.UnaryClientInFlight(l)), grpc.WithStreamInterceptor(grpclimit.StreamClientInFlight(l)))
	target := conn.Target()
	if _, _, err := check(conn); err != nil || inUse(target) != 0 {
		t.Fatal(err, inUse(target))
	}
	open := func() (grpc.ClientStream, context.CancelFunc) {
		t.Helper()
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(cancel)
		stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/test.Echo/Echo")
		if err != nil {
			t.Fatal(err)
		}
		if inUse(target) != 1 {
			t.Errorf("%d in use", inUse(target))
		}
		return stream, cancel
	}
	stream, _ := open()
	late, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err := healthpb.NewHealthClient(conn).Check(late, &healthpb.HealthCheckRequest{})
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("beside a stream: %v", err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(&wrapperspb.Int64Value{}); err != io.EOF || inUse(target) != 0 {
		t.Errorf("at the end: %v, %d in use", err, inUse(target))
	}
	_, leave := open()
	leave()
	await(t, "a cancelled stream gives its unit back", func() bool { return inUse(target) == 0 })
	refuse := func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
		return nil, io.ErrUnexpectedEOF
	}
	if _, err := grpclimit.StreamClientInFlight(l)(context.Background(), &grpc.StreamDesc{}, conn, "/s/m", refuse); err != io.ErrUnexpectedEOF || inUse(target) != 0 {
		t.Errorf("a stream that does not begin: %v, %d in use", err, inUse(target))
	}
	// A stream of one answer has ended with it.
	one, err := conn.NewStream(context.Background(), &grpc.StreamDesc{ClientStreams: true}, "/grpc.health.v1.Health/Check")
	if err != nil {
		t.Fatal(err)
	}
	if err := one.SendMsg(&healthpb.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
	if err := one.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := one.RecvMsg(&healthpb.HealthCheckResponse{}); err != nil || inUse(target) != 0 {
		t.Errorf("%v, %d in use", err, inUse(target))
	}
}
