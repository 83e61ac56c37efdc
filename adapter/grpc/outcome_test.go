package grpclimit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	grpclimit "github.com/weirgo/weir/adapter/grpc"
	"github.com/weirgo/weir/httplimit"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// outcomes collects what is settled, and gives everything back.
type outcomes struct {
	mu   sync.Mutex
	seen []httplimit.Outcome
}

func (o *outcomes) settle(_ *http.Request, seen *httplimit.Outcome) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen = append(o.seen, *seen)
	return 0
}

func TestOutcomeOfACallIsSettled(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		err    error
		panics bool
		status int
	}{
		"OK":          {nil, false, 200},
		"not found":   {status.Error(codes.NotFound, "no"), false, 404},
		"wrapped":     {fmt.Errorf("x: %w", status.Error(codes.Unauthenticated, "no")), false, 401},
		"no status":   {broken, false, 500},
		"its context": {context.Canceled, false, 499},
		"a panic":     {httplimit.ErrPanicked, true, 500},
	} {
		var o outcomes
		m := newMiddleware(t, "gcra:1/1m", httplimit.Everyone, &httplimit.Options{Settle: o.settle})
		reply := &healthpb.HealthCheckResponse{}
		for range 2 { // of 1: the unit is given back
			func() {
				defer func() { _ = recover() }()
				got, err := grpclimit.UnaryServer(m)(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/a/b"}, func(context.Context, any) (any, error) {
					if test.panics {
						panic("x")
					}
					return reply, test.err
				})
				if got != any(reply) || err != test.err {
					t.Errorf("%s: %v %v", name, got, err)
				}
			}()
		}
		if len(o.seen) != 2 || o.seen[1].Status != test.status || o.seen[1].Err != test.err || !test.panics && o.seen[1].Reply != any(reply) {
			t.Errorf("%s: %+v", name, o.seen)
		}
	}
}

func TestMessagesAreSettledOneByOne(t *testing.T) {
	var o outcomes
	m := newMiddleware(t, "gcra:1/1m", httplimit.Everyone, &httplimit.Options{Settle: o.settle})
	conn := serve(t, []grpc.ServerOption{grpc.StreamInterceptor(grpclimit.StreamMessages(m))})
	stream := openEcho(t, conn)
	for i := range 3 { // of 1: each is given back when the next one comes
		if err := stream.exchange(int64(i)); err != nil {
			t.Errorf("message %d: %v", i, err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for stream.RecvMsg(&healthpb.HealthCheckResponse{}) == nil {
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.seen) != 3 || slices.ContainsFunc(o.seen, func(o httplimit.Outcome) bool { return o.Status != 200 }) {
		t.Errorf("%+v", o.seen)
	}
}

// TestRateLimitIsNoTrailerField: a message that is denied after the header was sent.
func TestRateLimitIsNoTrailerField(t *testing.T) {
	m := newMiddleware(t, "gcra:1/1m", httplimit.Everyone, nil)
	conn := serve(t, []grpc.ServerOption{grpc.StreamInterceptor(grpclimit.StreamMessages(m))})
	stream := openEcho(t, conn)
	if err := stream.exchange(1); err != nil {
		t.Fatal(err)
	}
	if err := stream.exchange(2); status.Code(err) != codes.ResourceExhausted {
		t.Fatal(err)
	}
	trailer := stream.Trailer()
	if len(trailer["ratelimit"])+len(trailer["ratelimit-policy"]) > 0 || fmt.Sprint(trailer["retry-after"], trailer["grpc-retry-pushback-ms"]) != "[60] [60000]" {
		t.Errorf("%v", trailer)
	}
}
