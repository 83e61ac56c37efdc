package grpclimit

import (
	"context"
	"errors"
	"sync"

	"github.com/weirgo/weir/resilience/inflight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// UnaryClientInFlight returns an interceptor that bounds how many calls are in flight, with
// the target of the connection as the key: each waits for its unit by Limiter.Wait, as long
// as its context allows, and gives it back when it has ended. A call that gets no unit fails
// with the codes of UnaryClient.
//
// Where the limit is adaptive, calls that fail do not tell how long a call takes, and are
// ignored, but for DeadlineExceeded.
func UnaryClientInFlight(l *inflight.Limiter) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) (err error) {
		hold, err := waitFor(ctx, l, cc.Target())
		if err != nil {
			return err
		}
		err = errUnfinished
		defer func() { end(ctx, hold, err) }() // without recover: a panic goes on as it was
		err = invoke(ctx, method, request, reply, cc, opts...)
		return err
	}
}

// StreamClientInFlight is UnaryClientInFlight for streams: each holds its unit until it has
// ended, which it has when its context has ended or RecvMsg has returned an error; of a
// stream with one answer, RecvMsg without an error is the end, too. How long a stream lasts
// does not count for an adaptive limit.
func StreamClientInFlight(l *inflight.Limiter) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		hold, err := waitFor(ctx, l, cc.Target())
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithCancel(ctx)
		hold.Ignore()
		release := sync.OnceFunc(func() { cancel(); _ = hold.Release(ctx) })
		opened := false
		defer func() {
			if !opened {
				release()
			}
		}()
		stream, err := open(ctx, desc, cc, method, opts...)
		if err != nil {
			return nil, err
		}
		opened = true
		context.AfterFunc(ctx, release)
		return &heldStream{stream, desc.ServerStreams, release}, nil
	}
}

// heldStream is a stream that gives its unit back at its end.
type heldStream struct {
	grpc.ClientStream
	many    bool // answers
	release func()
}

// RecvMsg implements grpc.ClientStream.
func (s *heldStream) RecvMsg(message any) error {
	err := s.ClientStream.RecvMsg(message)
	if err != nil || !s.many {
		s.release()
	}
	return err
}

// errUnfinished is the error of a call that panicked.
var errUnfinished = errors.New("grpclimit: the call did not return")

// end gives a unit back. What fails comes back at the end of the life of the hold.
func end(ctx context.Context, hold *inflight.Hold, err error) {
	if err != nil && status.Code(err) != codes.DeadlineExceeded {
		hold.Ignore()
	}
	_ = hold.Release(ctx)
}

func waitFor(ctx context.Context, l *inflight.Limiter, key string) (*inflight.Hold, error) {
	hold, err := l.Wait(ctx, key)
	if err != nil {
		return nil, callErrorOf(err)
	}
	return hold, nil
}
