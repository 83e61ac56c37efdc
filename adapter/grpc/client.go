package grpclimit

import (
	"context"
	"errors"

	"github.com/weirgo/weir"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// UnaryClient returns an interceptor that makes each call wait for its turn, by
// Limiter.Wait with the target of the connection as the key. A call whose turn cannot
// come before its deadline fails immediately with DeadlineExceeded, one whose context
// ends with Canceled, and one that the limiter cannot decide with Unavailable. The
// errors unwrap to those of the limiter.
func UnaryClient(l *weir.Limiter) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if err := wait(ctx, l, cc.Target()); err != nil {
			return err
		}
		return invoke(ctx, method, request, reply, cc, opts...)
	}
}

// StreamClient is UnaryClient for streams: each waits when it begins.
func StreamClient(l *weir.Limiter) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		if err := wait(ctx, l, cc.Target()); err != nil {
			return nil, err
		}
		return open(ctx, desc, cc, method, opts...)
	}
}

func wait(ctx context.Context, l *weir.Limiter, key string) error {
	_, err := l.Wait(ctx, key)
	if err == nil {
		return nil
	}
	return callErrorOf(err)
}

// callErrorOf is the error of a call that did not get its turn.
func callErrorOf(err error) error {
	code := codes.Unavailable
	switch {
	case weir.IsFailure(err): // also where the time-out of the store has ended
	case errors.Is(err, context.Canceled):
		code = codes.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		code = codes.DeadlineExceeded
	case errors.Is(err, weir.ErrNeverAdmitted) || errors.Is(err, weir.ErrQueueFull):
		code = codes.ResourceExhausted
	}
	return &callError{status.New(code, "the call was not sent: "+err.Error()), err}
}

// callError is an error with a status that keeps its cause.
type callError struct {
	status *status.Status
	cause  error
}

func (e *callError) Error() string              { return e.status.Err().Error() }
func (e *callError) Unwrap() error              { return e.cause }
func (e *callError) GRPCStatus() *status.Status { return e.status }
