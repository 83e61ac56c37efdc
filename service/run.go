package service

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// Run serves until ctx ends, or a listener fails, and then stops: it says that it is not
// ready, goes on to serve for Shutdown.Drain, accepts no more, and waits for the calls in
// flight for Shutdown.Timeout at most. A call that was accepted is answered. It returns
// nil where ctx ended. A second Run is an error.
func (s *Service) Run(ctx context.Context) error {
	if s.ran.Swap(true) {
		return errors.New("service: Run was called twice: must be once")
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	for _, t := range s.tenants {
		s.background.Go(func() { t.watcher.Run(background, t.engine.Enforcer()) })
	}
	for _, f := range s.fronts {
		if f.run != nil {
			s.background.Go(func() { f.run(background) })
		}
	}
	s.ready.started.Store(true)
	s.look(background)
	s.background.Go(func() { s.probe(background) })
	if s.stores.conn != nil {
		s.background.Go(func() { s.metrics.followMemory(background, s.stores.conn.Memory) })
	}

	failed := make(chan error, 3)
	var serving sync.WaitGroup
	serve := func(run func() error) {
		serving.Go(func() {
			if err := run(); err != nil && !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		})
	}
	serve(func() error { return s.grpc.Serve(s.listeners.grpc) })
	serve(func() error { return serveHTTP(s.http, s.listeners.http) })
	serve(func() error { return serveHTTP(s.admin, s.listeners.admin) })
	grpcAt, httpAt, adminAt := s.Addresses()
	s.log.Info("serving", "grpc", grpcAt.String(), "http", httpAt.String(), "admin", adminAt.String())

	var err error
	select {
	case <-ctx.Done():
		s.drain()
	case err = <-failed:
		s.log.Error("a listener has failed", "error", err)
	}
	err = errors.Join(err, s.stop())
	serving.Wait()
	stop()
	s.background.Wait()
	return errors.Join(err, s.Close())
}

// drain says that the service is not ready, and goes on to serve: whoever sends calls
// here needs a while to notice.
func (s *Service) drain() {
	s.ready.draining.Store(true)
	s.grpcHealth.Shutdown()
	for _, server := range []*http.Server{s.http, s.admin} {
		server.SetKeepAlivesEnabled(false)
	}
	d := s.config.Load().Shutdown.Drain
	s.log.Info("draining", "for", d)
	if s.opts.drain != nil {
		s.opts.drain(d)
		return
	}
	time.Sleep(d)
}

// stop accepts no more calls, and waits for those in flight.
func (s *Service) stop() error {
	s.ready.draining.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), s.config.Load().Shutdown.Timeout)
	defer cancel()
	var wg sync.WaitGroup
	for _, server := range []*http.Server{s.http, s.admin} {
		wg.Go(func() {
			if server.Shutdown(ctx) != nil {
				s.log.Warn("calls over HTTP were cut off at the time-out")
				server.Close() // they get an error
			}
		})
	}
	s.watches.end()
	wg.Go(func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.grpc.GracefulStop()
		}()
		select {
		case <-done:
		case <-ctx.Done():
			s.log.Warn("calls over gRPC were cut off at the time-out")
			s.grpc.Stop() // done follows when the handlers have returned
		}
	})
	wg.Wait()
	s.log.Info("stopped")
	return nil
}

// serveHTTP serves, over TLS where the server has it.
func serveHTTP(s *http.Server, on net.Listener) error {
	if s.TLSConfig != nil {
		return s.ServeTLS(on, "", "")
	}
	return s.Serve(on)
}
