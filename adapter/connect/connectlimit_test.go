package connectlimit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/weirgo/weir"
	connectlimit "github.com/weirgo/weir/adapter/connect"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/httplimit"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// fixed is a clock that stands still.
type fixed struct{}

func (fixed) Now() time.Time { return time.Unix(1_764_288_000, 0) }

func newMiddleware(t *testing.T, s store.Store, key httplimit.Key, opts *httplimit.Options) *httplimit.Middleware {
	t.Helper()
	limiter := weir.Must(weir.New(s, weir.Must(weir.ParseLimit("api", "gcra:1/1m")), nil))
	return weir.Must(httplimit.New(limiter, key, opts))
}

func newStore(t *testing.T) store.Store {
	t.Helper()
	states := weir.Must(memorystore.New(&memorystore.Options{Clock: fixed{}}))
	t.Cleanup(func() { _ = states.Close() })
	return states
}

type number = wrapperspb.Int64Value

const unary, streaming = "/test.Echo/Unary", "/test.Echo/Stream"

// serve starts a server whose procedures return what they get; below 0 is an error.
func serve(t *testing.T, m *httplimit.Middleware) *httptest.Server {
	t.Helper()
	option := connect.WithInterceptors(connectlimit.New(m))
	mux := http.NewServeMux()
	mux.Handle(unary, connect.NewUnaryHandler(unary, func(_ context.Context, r *connect.Request[number]) (*connect.Response[number], error) {
		if r.Msg.Value < 0 {
			return nil, connect.NewError(connect.CodeNotFound, errors.New("below 0"))
		}
		return connect.NewResponse(r.Msg), nil
	}, option))
	mux.Handle(streaming, connect.NewServerStreamHandler(streaming, func(_ context.Context, r *connect.Request[number], s *connect.ServerStream[number]) error {
		return s.Send(r.Msg)
	}, option))
	server := httptest.NewUnstartedServer(mux)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

func call(server *httptest.Server, n int64, headers http.Header, options ...connect.ClientOption) (http.Header, error) {
	client := connect.NewClient[number, number](server.Client(), server.URL+unary, options...)
	request := connect.NewRequest(&number{Value: n})
	for name, values := range headers {
		request.Header()[name] = values
	}
	response, err := client.CallUnary(context.Background(), request)
	var failed *connect.Error
	if errors.As(err, &failed) {
		return failed.Meta(), err
	}
	return response.Header(), err
}

func TestCallIsDenied(t *testing.T) {
	for name, option := range map[string]connect.ClientOption{
		"connect": connect.WithClientOptions(), "grpc": connect.WithGRPC(), "grpc-web": connect.WithGRPCWeb(),
	} {
		server := serve(t, newMiddleware(t, newStore(t), httplimit.Everyone, nil))
		header, err := call(server, 1, nil, option)
		if err != nil || header.Get("RateLimit") != `"api";r=0;t=60` || header.Get("RateLimit-Policy") != `"api";q=1;w=60` {
			t.Errorf("%s: the first: %v, %v", name, err, header)
		}
		header, err = call(server, 1, nil, option)
		var failed *connect.Error
		if connect.CodeOf(err) != connect.CodeResourceExhausted || !errors.As(err, &failed) {
			t.Fatalf("%s: the second: %v", name, err)
		}
		if header.Get("Retry-After") != "60" || header.Get("Grpc-Retry-Pushback-Ms") != "60000" {
			t.Errorf("%s: %v", name, header)
		}
		said := ""
		for _, detail := range failed.Details() {
			switch d := weir.Must(detail.Value()).(type) {
			case *errdetails.RetryInfo:
				said += fmt.Sprint(d.RetryDelay.AsDuration(), " ")
			case *errdetails.QuotaFailure:
				said += d.Violations[0].Subject + " "
			}
		}
		if said != "limit:api 1m0s " {
			t.Errorf("%s: details %s", name, said)
		}
	}
}

// TestPushbackHas32Bits: a client that cannot read a number does not repeat the call.
func TestPushbackHas32Bits(t *testing.T) {
	limiter := weir.Must(weir.New(newStore(t), weir.Must(weir.ParseLimit("api", "gcra:1/1000h")), nil))
	server := serve(t, weir.Must(httplimit.New(limiter, httplimit.Everyone, nil)))
	for i := range 2 {
		header, err := call(server, 1, nil)
		if i == 1 && header.Get("Grpc-Retry-Pushback-Ms") != "2147483647" {
			t.Errorf("%v: %v", err, header)
		}
	}
}

func TestStreamIsDenied(t *testing.T) {
	server := serve(t, newMiddleware(t, newStore(t), httplimit.Everyone, nil))
	client := connect.NewClient[number, number](server.Client(), server.URL+streaming)
	for i := range 2 {
		stream, err := client.CallServerStream(t.Context(), connect.NewRequest(&number{Value: 7}))
		if err != nil {
			t.Fatal(err)
		}
		received := stream.Receive()
		err = stream.Err()
		if i == 0 && (!received || stream.Msg().Value != 7 || stream.ResponseHeader().Get("RateLimit") == "") {
			t.Errorf("the first: %v", err)
		}
		if i == 1 && (received || connect.CodeOf(err) != connect.CodeResourceExhausted) {
			t.Errorf("the second: %v", err)
		}
		_ = stream.Close()
	}
}

func TestErrorsOfTheHandlerAreKept(t *testing.T) {
	server := serve(t, newMiddleware(t, newStore(t), httplimit.Everyone, nil))
	header, err := call(server, -1, nil)
	if connect.CodeOf(err) != connect.CodeNotFound || header.Get("RateLimit") != `"api";r=0;t=60` {
		t.Errorf("%v, %v", err, header)
	}
}

// TestErrorsThatAreSharedAreNotChanged: a handler may return the same error to everybody.
func TestErrorsThatAreSharedAreNotChanged(t *testing.T) {
	notFound := connect.NewError(connect.CodeNotFound, errors.New("not here"))
	key := func(r *http.Request) (string, bool) {
		return connectlimit.Message(r.Context()).(*number).String(), true
	}
	option := connect.WithInterceptors(connectlimit.New(newMiddleware(t, newStore(t), key, nil)))
	server := httptest.NewUnstartedServer(connect.NewUnaryHandler(unary, func(_ context.Context, r *connect.Request[number]) (*connect.Response[number], error) {
		if r.Msg.Value%2 == 0 {
			return nil, fmt.Errorf("look: %w", notFound)
		}
		return connect.NewResponse(r.Msg), nil
	}, option))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	var all sync.WaitGroup
	for i := range int64(24) {
		protocol := []connect.ClientOption{connect.WithClientOptions(), connect.WithGRPC(), connect.WithGRPCWeb()}[i%3]
		all.Go(func() {
			header, err := call(server, i+1, nil, protocol)
			if got := header.Values("RateLimit"); len(got) != 1 || (connect.CodeOf(err) == connect.CodeNotFound) != (i%2 == 1) {
				t.Errorf("call %d: %v, RateLimit %q", i, err, got)
			}
		})
	}
	all.Wait()
	if len(notFound.Meta()) != 0 {
		t.Errorf("the error has %v", notFound.Meta())
	}
}

func TestCallIsSeenAsRequest(t *testing.T) {
	key := httplimit.Join(httplimit.Header("X-User"), httplimit.Pattern, httplimit.RemoteAddress)
	server := serve(t, newMiddleware(t, newStore(t), key, &httplimit.Options{Cost: func(r *http.Request) int64 {
		return connectlimit.Message(r.Context()).(*number).Value
	}}))
	for i, test := range []struct {
		user string
		n    int64
		want string
	}{{"a", 1, ""}, {"b", 1, ""}, {"a", 1, "resource_exhausted"}, {"a", 2, "resource_exhausted"}, {"a", -1, "invalid_argument"}, {"", 1, "permission_denied"}} {
		_, err := call(server, test.n, http.Header{"X-User": {test.user}})
		got := ""
		if err != nil {
			got = connect.CodeOf(err).String()
		}
		if got != test.want {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

// failing is a store that fails.
type failing struct{ store.Store }

func (failing) Apply(context.Context, []store.Op) (at algorithm.Instant, committed bool, err error) {
	return 0, false, fmt.Errorf("secret address: %w", store.ErrUnavailable)
}

func TestStoreThatFails(t *testing.T) {
	server := serve(t, newMiddleware(t, failing{newStore(t)}, httplimit.Everyone, nil))
	header, err := call(server, 1, nil)
	if connect.CodeOf(err) != connect.CodeUnavailable || strings.Contains(err.Error(), "secret") || header.Get("Grpc-Retry-Pushback-Ms") != "" {
		t.Errorf("%v, %v", err, header)
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
	limiter := weir.Must(weir.New(stuck{newStore(t)}, limit, &weir.Options{Timeout: time.Millisecond}))
	server := serve(t, weir.Must(httplimit.New(limiter, httplimit.Everyone, nil)))
	if _, err := call(server, 1, nil); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("%v", err)
	}
}
