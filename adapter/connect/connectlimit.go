// Package connectlimit limits Connect, gRPC and gRPC-Web calls of connect-go handlers: an
// interceptor that asks a httplimit.Middleware.
//
//	greetconnect.NewGreetServiceHandler(service, connect.WithInterceptors(connectlimit.New(limited)))
package connectlimit

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/httplimit"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// New returns an interceptor for handlers that asks m about each call, and about each
// stream when it begins. A call is shown to m as an HTTP request: the procedure
// ("/package.Service/Method") as path and pattern, its headers, and the peer as
// RemoteAddr. A call that is not allowed gets the error of Error. RateLimit and
// RateLimit-Policy are in the header of the answer, or in the metadata of the error.
// Clients that have the interceptor are not limited.
func New(m *httplimit.Middleware) connect.Interceptor { return &interceptor{m} }

type interceptor struct{ m *httplimit.Middleware }

// WrapUnary implements connect.Interceptor.
func (i *interceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		if request.Spec().IsClient {
			return next(ctx, request)
		}
		ctx2 := context.WithValue(ctx, contextKey{}, request.Any())
		v := i.m.Decide(requestOf(ctx2, request.HTTPMethod(), request.Spec(), request.Peer(), request.Header()))
		if !v.Allowed {
			return nil, errorOf(i.m, v)
		}
		// Not into an error of the handler, which several calls may share.
		if info, ok := connect.CallInfoForHandlerContext(ctx); ok {
			i.m.Headers().Write(info.ResponseHeader(), v)
		}
		return next(ctx, request)
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (i *interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler implements connect.Interceptor.
func (i *interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		v := i.m.Decide(requestOf(ctx, http.MethodPost, conn.Spec(), conn.Peer(), conn.RequestHeader()))
		if !v.Allowed {
			return errorOf(i.m, v)
		}
		i.m.Headers().Write(conn.ResponseHeader(), v)
		return next(ctx, conn)
	}
}

type contextKey struct{}

// Message returns the message that a request of a Middleware is about, for a Cost that
// depends on it: connectlimit.Message(r.Context()). It is nil when a stream begins.
func Message(ctx context.Context) any { return ctx.Value(contextKey{}) }

// requestOf returns a call as an HTTP request.
func requestOf(ctx context.Context, method string, spec connect.Spec, peer connect.Peer, h http.Header) *http.Request {
	if method == "" {
		method = http.MethodPost
	}
	r := &http.Request{
		Method: method, URL: &url.URL{Path: spec.Procedure}, Pattern: method + " " + spec.Procedure,
		Header: h, Host: h.Get("Host"), RemoteAddr: peer.Addr,
	}
	return r.WithContext(ctx)
}

// errorOf is Error with the headers of m.
func errorOf(m *httplimit.Middleware, v *httplimit.Verdict) *connect.Error {
	err := Error(v)
	m.Headers().Write(err.Meta(), v)
	if v.Err != nil {
		return err
	}
	pushback := "-1" // do not repeat it
	if v.Blocked == "" && v.RetryAfter != weir.Never {
		wait := (v.RetryAfter + time.Millisecond - 1) / time.Millisecond
		pushback = strconv.FormatInt(min(int64(wait), math.MaxInt32), 10) // gRFC A6: 32 bits
	}
	err.Meta().Set("Grpc-Retry-Pushback-Ms", pushback)
	return err
}

// Error returns the error of a Verdict that is not Allowed: ResourceExhausted where a
// limit has refused it, with a QuotaFailure that names the limits and a RetryInfo with
// the exact wait, where a wait helps; PermissionDenied where it was Blocked; Canceled or
// DeadlineExceeded where the context of the call has ended; InvalidArgument where a Cost
// function returned a number below 0; Unavailable where there is no decision for another
// reason. The text holds no key, and no message of a store.
func Error(v *httplimit.Verdict) *connect.Error {
	switch {
	case v.Err != nil && v.Status() == http.StatusInternalServerError:
		return connect.NewError(connect.CodeInvalidArgument, errors.New("the cost of the call is below 0"))
	case errors.Is(v.Err, context.Canceled) && !weir.IsFailure(v.Err):
		return connect.NewError(connect.CodeCanceled, context.Canceled)
	case errors.Is(v.Err, context.DeadlineExceeded) && !weir.IsFailure(v.Err): // not the time-out of the store
		return connect.NewError(connect.CodeDeadlineExceeded, context.DeadlineExceeded)
	case v.Err != nil:
		return connect.NewError(connect.CodeUnavailable, errors.New("the rate limiter does not answer"))
	case v.Blocked != "":
		return connect.NewError(connect.CodePermissionDenied, errors.New(v.Blocked))
	}
	failure := &errdetails.QuotaFailure{}
	for _, name := range v.Violated() {
		failure.Violations = append(failure.Violations, &errdetails.QuotaFailure_Violation{
			Subject:     "limit:" + strings.ToValidUTF8(name, "?"),
			Description: "the limit " + strconv.Quote(name) + " has no units left for this call",
		})
	}
	text, details := "rate limit exceeded", []proto.Message{failure}
	if v.RetryAfter == weir.Never {
		text = "the call costs more than the limit can ever admit"
	} else {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(v.RetryAfter)})
	}
	err := connect.NewError(connect.CodeResourceExhausted, errors.New(text))
	for _, message := range details {
		if detail, problem := connect.NewErrorDetail(message); problem == nil {
			err.AddDetail(detail)
		}
	}
	return err
}
