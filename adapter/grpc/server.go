// Package grpclimit limits gRPC calls: interceptors for servers, which ask a
// httplimit.Middleware, and for clients, which wait for their turn.
//
//	grpc.NewServer(grpc.ChainUnaryInterceptor(grpclimit.UnaryServer(limited)))
//
// A call is shown to the Middleware as the HTTP request that it is: POST, the full
// method ("/package.Service/Method") as path and pattern, the metadata as headers, and
// the peer as RemoteAddr. So all of httplimit applies: keys, client addresses behind
// proxies, costs and policies.
package grpclimit

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/weirgo/weir/httplimit"
	"github.com/weirgo/weir/internal/adapter"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// Middleware is what calls are asked of: a *httplimit.Middleware, or a *httplimit.InFlight,
// of which a call holds its units until its handler has returned.
type Middleware interface {
	Decide(r *http.Request) (v *httplimit.Verdict, end func(*httplimit.Outcome))
	Headers() httplimit.Headers
}

var (
	_ Middleware = (*httplimit.Middleware)(nil)
	_ Middleware = (*httplimit.InFlight)(nil)
)

// UnaryServer returns an interceptor that asks m about each call. A call that is not
// allowed gets the error of Status, and does not reach the handler; the errors of the
// handler are returned as they are. A call that is allowed has RateLimit and
// RateLimit-Policy in its header. One that is denied has them in its only header block,
// which gRPC calls Trailers-Only and grpc-go reads as the trailer, with retry-after and,
// for the retry policies of gRPC clients, grpc-retry-pushback-ms.
//
// Options.Settle of m gets the error of the handler, the HTTP status that its code stands
// for, and the reply.
func UnaryServer(m Middleware) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (reply any, err error) {
		v, end := m.Decide(requestOf(ctx, info.FullMethod, request))
		header, trailer := metadataOf(m, v)
		if !v.Allowed {
			_ = grpc.SetTrailer(ctx, trailer) // fails only outside of a server
			return nil, Status(v).Err()
		}
		_ = grpc.SetHeader(ctx, header)
		err = adapter.Call(end, func() error {
			reply, err = handler(ctx, request)
			return err
		}, func(err error) httplimit.Outcome {
			return httplimit.Outcome{Status: httpStatus(err), Reply: reply}
		})
		return reply, err
	}
}

// StreamServer returns an interceptor that asks m about each stream when it begins, as
// UnaryServer does. Its messages are not counted; see StreamMessages. The units of a
// *httplimit.InFlight are held until the stream has ended.
func StreamServer(m Middleware) grpc.StreamServerInterceptor {
	return func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		v, end := m.Decide(requestOf(stream.Context(), info.FullMethod, nil))
		header, trailer := metadataOf(m, v)
		if !v.Allowed {
			stream.SetTrailer(trailer)
			return Status(v).Err()
		}
		_ = stream.SetHeader(header)
		return adapter.Call(end, func() error { return handler(server, stream) }, outcomeOf)
	}
}

// StreamMessages returns an interceptor that asks m about each message that a stream
// receives. Where one is not allowed, RecvMsg returns the error of Status; a handler
// that returns it ends the stream with it. The trailer then has retry-after and
// grpc-retry-pushback-ms, but not RateLimit, which is no trailer field.
//
// A message is settled, by Options.Settle of m, when the next one is received, as OK, or
// when the stream ends, with its status.
func StreamMessages(m *httplimit.Middleware) grpc.StreamServerInterceptor {
	return func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		s := &messages{ServerStream: stream, m: m, method: info.FullMethod}
		return adapter.Call(s.endMessage, func() error { return handler(server, s) }, outcomeOf)
	}
}

type messages struct {
	grpc.ServerStream
	m      *httplimit.Middleware
	method string
	end    atomic.Pointer[func(*httplimit.Outcome)] // of the message received last
}

// endMessage ends the message received last.
func (s *messages) endMessage(o *httplimit.Outcome) {
	if end := s.end.Swap(nil); end != nil {
		(*end)(o)
	}
}

// RecvMsg implements grpc.ServerStream.
func (s *messages) RecvMsg(message any) error {
	if err := s.ServerStream.RecvMsg(message); err != nil {
		return err
	}
	s.endMessage(&httplimit.Outcome{Status: http.StatusOK})
	v, end := s.m.Decide(requestOf(s.Context(), s.method, message))
	if v.Allowed {
		if end != nil {
			s.end.Store(&end)
		}
		return nil
	}
	_, trailer := metadataOf(s.m, v)
	delete(trailer, "ratelimit")
	delete(trailer, "ratelimit-policy")
	s.SetTrailer(trailer)
	return Status(v).Err()
}

func outcomeOf(err error) httplimit.Outcome { return httplimit.Outcome{Status: httpStatus(err)} }

// httpStatus is the HTTP status of the error of a handler, as grpc reads it.
func httpStatus(err error) int {
	s, ok := status.FromError(err)
	if !ok {
		s = status.FromContextError(err)
	}
	return adapter.HTTPStatus(uint32(s.Code()))
}

type contextKey struct{}

// Message returns the message that a request of a Middleware is about, for a Cost that
// depends on it: grpclimit.Message(r.Context()). It is nil when a stream begins.
func Message(ctx context.Context) any { return ctx.Value(contextKey{}) }

// requestOf returns a call as an HTTP request.
func requestOf(ctx context.Context, method string, message any) *http.Request {
	r := &http.Request{
		Method: http.MethodPost, Proto: "HTTP/2.0", ProtoMajor: 2,
		URL: &url.URL{Path: method}, Pattern: http.MethodPost + " " + method, Header: http.Header{},
	}
	md, _ := metadata.FromIncomingContext(ctx)
	for name, values := range md {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	if authority := md[":authority"]; len(authority) > 0 {
		r.Host = authority[0]
	}
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		r.RemoteAddr = p.Addr.String()
	}
	if message != nil {
		ctx = context.WithValue(ctx, contextKey{}, message)
	}
	return r.WithContext(ctx)
}

// metadataOf returns the headers of an answer; the trailer has what is for retries.
func metadataOf(m Middleware, v *httplimit.Verdict) (header, trailer metadata.MD) {
	h := http.Header{}
	m.Headers().Write(h, v)
	all := metadata.MD{}
	for name, values := range h {
		all[strings.ToLower(name)] = values
	}
	if v.Allowed {
		return all, nil
	}
	if pushback := adapter.StatusOf(v).Pushback; pushback != "" {
		all["grpc-retry-pushback-ms"] = []string{pushback}
	}
	return nil, all
}
