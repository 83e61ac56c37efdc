package service

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxWatches bounds the calls of Health.Watch of all clients: they need no caller, and do not
// end by themselves.
const maxWatches = 1000

// watches are the calls of Health.Watch, the only streams of the service. They end when it
// stops: a graceful stop waits for every call.
type watches struct {
	ctx context.Context // of all
	end context.CancelFunc
	n   atomic.Int64
}

func newWatches() *watches {
	w := &watches{}
	w.ctx, w.end = context.WithCancel(context.Background())
	return w
}

// stream is an interceptor.
func (w *watches) stream(server any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	defer w.n.Add(-1)
	if w.n.Add(1) > maxWatches {
		return status.Errorf(codes.ResourceExhausted, "there are %d calls of Health.Watch: ask Health.Check", maxWatches)
	}
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	defer context.AfterFunc(w.ctx, cancel)()
	err := next(server, &watched{s, ctx})
	if w.ctx.Err() != nil {
		return status.Error(codes.Unavailable, "the service stops")
	}
	return err
}

// watched is a stream with a context that ends with the service.
type watched struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (s *watched) Context() context.Context { return s.ctx }
