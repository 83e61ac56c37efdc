// Package connectlimit limits Connect, gRPC and gRPC-Web calls of connect-go handlers: an
// interceptor that asks a httplimit.Middleware.
//
//	greetconnect.NewGreetServiceHandler(service, connect.WithInterceptors(connectlimit.New(limited)))
package connectlimit

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"connectrpc.com/connect"
	"github.com/weirgo/weir/httplimit"
	"github.com/weirgo/weir/internal/adapter"
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
//
// Options.Settle of m gets the error of the handler, the HTTP status that its code stands
// for, and the reply of a unary call.
func New(m *httplimit.Middleware) connect.Interceptor { return &interceptor{m} }

type interceptor struct{ m *httplimit.Middleware }

// WrapUnary implements connect.Interceptor.
func (i *interceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		if request.Spec().IsClient {
			return next(ctx, request)
		}
		ctx2 := context.WithValue(ctx, contextKey{}, request.Any())
		v, end := i.m.Decide(requestOf(ctx2, request.HTTPMethod(), request.Spec(), request.Peer(), request.Header()))
		if !v.Allowed {
			return nil, errorOf(i.m, v)
		}
		// Not into an error of the handler, which several calls may share.
		if info, ok := connect.CallInfoForHandlerContext(ctx); ok {
			i.m.Headers().Write(info.ResponseHeader(), v)
		}
		var response connect.AnyResponse
		err := adapter.Call(end, func() (err error) {
			response, err = next(ctx, request)
			return err
		}, func(err error) httplimit.Outcome {
			o := httplimit.Outcome{Status: httpStatus(err)}
			if err == nil {
				o.Reply, o.Header = response.Any(), response.Header()
			}
			return o
		})
		return response, err
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (i *interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler implements connect.Interceptor.
func (i *interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		v, end := i.m.Decide(requestOf(ctx, http.MethodPost, conn.Spec(), conn.Peer(), conn.RequestHeader()))
		if !v.Allowed {
			return errorOf(i.m, v)
		}
		i.m.Headers().Write(conn.ResponseHeader(), v)
		return adapter.Call(end, func() error { return next(ctx, conn) }, func(err error) httplimit.Outcome {
			return httplimit.Outcome{Status: httpStatus(err), Header: conn.ResponseHeader()}
		})
	}
}

// httpStatus is the HTTP status of the error of a handler, as connect reads it.
func httpStatus(err error) int {
	switch code := connect.CodeOf(err); {
	case err == nil:
		return http.StatusOK
	case code != connect.CodeUnknown:
		return adapter.HTTPStatus(uint32(code))
	case errors.Is(err, context.Canceled):
		return adapter.HTTPStatus(uint32(connect.CodeCanceled))
	case errors.Is(err, context.DeadlineExceeded):
		return adapter.HTTPStatus(uint32(connect.CodeDeadlineExceeded))
	}
	return adapter.HTTPStatus(uint32(connect.CodeOf(err)))
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
	if pushback := adapter.StatusOf(v).Pushback; pushback != "" {
		err.Meta().Set("Grpc-Retry-Pushback-Ms", pushback)
	}
	return err
}

// Error returns the error of a Verdict that is not Allowed: ResourceExhausted where a
// limit has refused it, with a QuotaFailure that names the limits and a RetryInfo with
// the exact wait, where a wait helps; PermissionDenied where it was Blocked; Canceled or
// DeadlineExceeded where the context of the call has ended; InvalidArgument where a Cost
// function returned a number below 0; Unavailable where there is no decision for another
// reason. The text holds no key, and no message of a store.
func Error(v *httplimit.Verdict) *connect.Error {
	of := adapter.StatusOf(v)
	err := connect.NewError(connect.Code(of.Code), of.Err)
	if err.Code() != connect.CodeResourceExhausted {
		return err
	}
	failure := &errdetails.QuotaFailure{}
	for _, violation := range of.Violations {
		failure.Violations = append(failure.Violations, &errdetails.QuotaFailure_Violation{Subject: violation.Subject, Description: violation.Description})
	}
	details := []proto.Message{failure}
	if of.HasRetryDelay {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(of.RetryDelay)})
	}
	for _, message := range details {
		if detail, problem := connect.NewErrorDetail(message); problem == nil {
			err.AddDetail(detail)
		}
	}
	return err
}
