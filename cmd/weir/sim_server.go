package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// simServer makes stores on a server for a simulation: each under a prefix of its own,
// with the clock of the simulation. Nothing is left of them.
type simServer struct{ *serverSubject }

var _ simStores = simServer{}

func openSimServer(ctx context.Context, where *place) (simServer, error) {
	// As in a replay: an output that nobody reads any more must not end the process.
	signal.Ignore(syscall.SIGPIPE)
	// It is asked one thing at a time.
	conn, err := where.connect(ctx, true)
	if err != nil {
		return simServer{}, fmt.Errorf("%s: %w", where.shown, err)
	}
	on := &serverSubject{connection: conn, ctx: ctx, where: where.shown, prefix: "weir-sim:" + randomName() + ":", share: 1}
	if err := on.check(ctx, &about{}); err != nil {
		return simServer{}, errors.Join(fmt.Errorf("%s: %w", where.shown, err), on.Close())
	}
	return simServer{on}, nil
}

func (s simServer) open(clock store.Clock, fail context.CancelCauseFunc) (store.Store, error) {
	made, err := s.serverSubject.open(clock)
	if err != nil {
		return nil, err
	}
	return &simStore{made, s.where, fail}, nil
}

// simStore is a store whose first error ends the run. What a real server does not answer
// is no part of the simulated world, where the server is down when the scenario says so.
type simStore struct {
	store.Store
	where string
	fail  context.CancelCauseFunc
}

func (s *simStore) failed(err error) error {
	if err != nil {
		s.fail(fmt.Errorf("%s: %w", s.where, err))
	}
	return err
}

// Apply implements store.Store.
func (s *simStore) Apply(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
	at, committed, err := s.Store.Apply(ctx, ops)
	return at, committed, s.failed(err)
}

// Peek implements store.Store.
func (s *simStore) Peek(ctx context.Context, ops []store.Op) (algorithm.Instant, error) {
	at, err := s.Store.Peek(ctx, ops)
	return at, s.failed(err)
}

// Reset implements store.Store.
func (s *simStore) Reset(ctx context.Context, slots []store.Slot) error {
	return s.failed(s.Store.Reset(ctx, slots))
}
