package attack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weirgo/weir/internal/servertest"
)

// scene is where one event happens: servers of a kind, and processes of callers with
// one client library. Its methods fail tb where they cannot do their work.
type scene struct {
	tb      testing.TB
	ctx     context.Context
	options *Options
	kind    servertest.Kind
	library string
	ledger  *ledger

	seconds   time.Duration // how long the callers run
	processes int
	callers   int // of each process
	keys      int
	pause     time.Duration // of a caller between two calls, on average
	fill      int           // connections that the application opens
	replicas  int           // that must have what was admitted before it is answered

	running []*process
	report  report
}

// start starts the processes of callers, who share the addresses out: process i has
// addrs[i mod len]. Each address may be a list.
func (s *scene) start(topology string, addrs ...[]string) {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, s.seconds+5*time.Minute)
	s.tb.Cleanup(cancel)
	for i := range s.processes {
		p, err := startProcess(ctx, &task{
			Library: s.library, Topology: topology, Addrs: addrs[i%len(addrs)], Keys: s.ledger.keys,
			Callers: s.callers, Pause: s.pause, Fill: s.fill, Double: s.options.Double, Replicas: s.replicas, Seed: uint64(i),
		})
		if err != nil {
			s.tb.Fatalf("attack: %v", err)
		}
		s.running = append(s.running, p)
		s.tb.Cleanup(func() { _ = p.end() }) // its error was seen at stop, or another was
	}
}

// tell sends a line to all processes side by side.
func (s *scene) tell(line string) []reply {
	s.tb.Helper()
	replies, failed := make([]reply, len(s.running)), make([]error, len(s.running))
	var all sync.WaitGroup
	for i, p := range s.running {
		all.Go(func() { replies[i], failed[i] = p.tell(line) })
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		s.tb.Fatalf("attack: %s: %v", line, err)
	}
	return replies
}

// stop ends the callers and has their reports.
func (s *scene) stop() {
	s.tb.Helper()
	for _, r := range s.tell(stop) {
		s.report.merge(*r.Report)
	}
	for _, p := range s.running {
		if err := p.end(); err != nil {
			s.tb.Fatalf("attack: %v", err)
		}
	}
}

// awaitAdmitted waits until each process has n admitted calls in this phase, and returns how
// long that took.
func (s *scene) awaitAdmitted(n int64) time.Duration {
	s.tb.Helper()
	begin := time.Now()
	servertest.Await(s.tb, fmt.Sprintf("each process of callers has %d admitted calls", n), func() bool {
		return !slices.ContainsFunc(s.tell(ask), func(r reply) bool { return r.Admitted < n })
	})
	return time.Since(begin)
}

// wait lets the callers run for a part of the time.
func (s *scene) wait(part float64) { s.waitFor(time.Duration(part * float64(s.seconds))) }

func (s *scene) waitFor(d time.Duration) {
	s.tb.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
		s.tb.Fatalf("attack: %v", context.Cause(s.ctx))
	}
}

// repeat does something every so often for a part of the time.
func (s *scene) repeat(part float64, every time.Duration, do func()) {
	s.tb.Helper()
	for end := time.Now().Add(time.Duration(part * float64(s.seconds))); time.Now().Before(end); {
		do()
		s.waitFor(every)
	}
}

// server starts a server with arguments.
func (s *scene) server(args ...string) *servertest.Server {
	s.tb.Helper()
	return servertest.Start(s.tb, s.kind, &servertest.Config{Args: args})
}

// one starts callers on one address, or on one each.
func (s *scene) one(addrs ...string) {
	s.tb.Helper()
	lists := make([][]string, len(addrs))
	for i, addr := range addrs {
		lists[i] = []string{addr}
	}
	s.start(server, lists...)
	s.tell(start)
}

// whole is the account of a server that has lost nothing.
func (s *scene) whole(one *servertest.Server) account {
	s.tb.Helper()
	s.stop()
	return account{held: s.ledger.read(one)}
}

// medium is a capacity that a key has left over in the middle of the time, and not in
// the end: what an event adds to it is seen.
func (s *scene) medium() int64 {
	each := float64(s.seconds) / float64(s.pause) * float64(s.processes*s.callers) / float64(s.keys)
	return min(large, 1+int64(0.5*each))
}
