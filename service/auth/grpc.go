package auth

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// retryUnavailable is the wait that a caller is told where the service cannot answer.
const retryUnavailable = time.Second

// tenantMetadata is TenantHeader as metadata has it.
var tenantMetadata = strings.ToLower(TenantHeader)

// Methods are what the methods of a gRPC server do, by full name, such as
// "/weir.v1.RateLimiter/CheckRateLimit".
type Methods map[string]Action

// Unary returns an interceptor that asks the Guard first. A method that is not in methods
// is refused with PERMISSION_DENIED, so that no method is open by mistake.
func (g *Guard) Unary(methods Methods) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, message any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		ctx, err := g.incoming(ctx, info.FullMethod, methods)
		if err != nil {
			return nil, err
		}
		return next(ctx, message)
	}
}

// Stream is Unary for streams.
func (g *Guard) Stream(methods Methods) grpc.StreamServerInterceptor {
	return func(server any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		ctx, err := g.incoming(s.Context(), info.FullMethod, methods)
		if err != nil {
			return err
		}
		return next(server, &stream{s, ctx})
	}
}

// stream is a stream with the context of its caller.
type stream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context returns the context with the caller.
func (s *stream) Context() context.Context { return s.ctx }

func (g *Guard) incoming(ctx context.Context, method string, methods Methods) (context.Context, error) {
	a, known := methods[method]
	if !known {
		return nil, status.Error(codes.PermissionDenied, "the method is not known")
	}
	r := Request{
		Authorization: metadata.ValueFromIncomingContext(ctx, "authorization"), Tenant: metadata.ValueFromIncomingContext(ctx, tenantMetadata), Target: method, Action: a,
	}
	if p, has := peer.FromContext(ctx); has {
		r.peer = p.Addr
		if tls, is := p.AuthInfo.(credentials.TLSInfo); is {
			r.Subject = verified(tls.State.VerifiedChains)
		}
	}
	c, err := g.Authorize(ctx, r)
	if err != nil {
		return nil, statusOf(err)
	}
	if a == Open {
		return ctx, nil
	}
	return WithCaller(ctx, c), nil
}

// statusOf returns the error as gRPC has it: RESOURCE_EXHAUSTED and UNAVAILABLE with
// RetryInfo.
func statusOf(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return status.Error(codes.Internal, "the caller cannot be found")
	}
	code, wait := codes.Unavailable, retryUnavailable
	switch e.Reason {
	case Unauthenticated:
		return status.Error(codes.Unauthenticated, e.Detail)
	case Forbidden:
		return status.Error(codes.PermissionDenied, e.Detail)
	case Limited:
		code, wait = codes.ResourceExhausted, e.RetryAfter
	}
	s, err := status.New(code, e.Detail).WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(wait)})
	if err != nil {
		return status.Error(code, e.Detail)
	}
	return s.Err()
}
