package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
	redisstore "github.com/weirgo/weir/store/redis"
)

// Whose clock a store reads.
const (
	injectedClock = "injected"
	serverClock   = "server"
)

// open opens what is to be verified, and finds out whether it can be.
func (c *verifyCommand) open(ctx context.Context, where *place) (subject, *about, error) {
	r := &about{Store: where.shown, Clock: injectedClock, Warnings: []string{}}
	if !where.server {
		return memorySubject{}, r, nil
	}
	prefix := "weir-verify:"
	if c.Prefix != nil {
		prefix = *c.Prefix
	}
	r.Prefix = prefix + randomName() + ":"
	if c.ServerClock {
		r.Clock = serverClock
	}
	// As in a replay: an output that nobody reads any more must not end the process.
	signal.Ignore(syscall.SIGPIPE)
	conn, err := where.connect(ctx, false)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", where.shown, err)
	}
	on := &serverSubject{connection: conn, ctx: ctx, where: where.shown, prefix: r.Prefix, share: c.Share, ownClock: c.ServerClock}
	if err := on.check(ctx, r); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", where.shown, err), on.Close())
	}
	return on, r, nil
}

// memorySubject is the store in memory. Nothing is to be removed.
type memorySubject struct{}

// sweptStore is a store in memory with what its sweeper has to know.
type sweptStore struct {
	*memorystore.Store
	clock store.Clock
}

// Features are those of the store in memory: sweptStore does nothing in its calls.
func (s sweptStore) Features() store.Features {
	f := store.FeaturesOf(s.Store)
	f.Owner = s
	return f
}

func (memorySubject) open(clk store.Clock) (store.Store, error) {
	s, err := memorystore.New(&memorystore.Options{Clock: clk})
	return sweptStore{s, clk}, err
}

func (memorySubject) config() *conformance.Config {
	return &conformance.Config{Sweep: func(t conformance.TB, s store.Store) {
		swept := s.(sweptStore)
		now, err := algorithm.InstantOf(swept.clock.Now())
		if err != nil {
			t.Fatalf("sweep: %v", err)
		}
		swept.Sweep(now)
	}}
}

func (memorySubject) tidy(bool) error { return nil }
func (memorySubject) Close() error    { return nil }

// serverSubject makes stores on a server, each under a prefix of its own, and
// leaves nothing of them.
type serverSubject struct {
	*connection
	ctx           context.Context // ends when the command is interrupted
	where, prefix string
	share         int
	ownClock      bool
	blind         bool // it may not see life times

	opened []*trackedStore // since the last check
	count  int             // of all that were opened
	left   error           // why something may be left behind, or nil
}

// check asks the server what must be known before the first check.
func (s *serverSubject) check(ctx context.Context, r *about) error {
	states, err := s.connection.open(&redisstore.Options{Prefix: s.prefix, Timeout: callTimeout})
	if err != nil {
		return err
	}
	defer states.Close()
	found, err := states.Check(ctx)
	if err != nil {
		return prefixHint(err, s.prefix)
	}
	r.Server = strings.TrimSpace(found.Server + " " + found.Version)
	r.Warnings = append(r.Warnings, found.Warnings...)
	if _, err := s.ask("PTTL", s.prefix); err != nil {
		s.blind = true
		r.Warnings = append(r.Warnings, fmt.Sprintf("life times are not looked at: %v", err))
	}
	if err := s.probe(); err != nil {
		return err
	}
	return ctx.Err()
}

// noKeys is how servers refuse a user the keys of a command, not the command.
var noKeys = regexp.MustCompile(`NOPERM.* access .*\bkeys?\b`)

// prefixHint says what to do about a user who may not use the keys.
func prefixHint(err error, prefix string) error {
	if !noKeys.MatchString(err.Error()) {
		return err
	}
	return fmt.Errorf("%w: the user may not use keys that begin with %q: --prefix must be one that its permissions name", err, prefix)
}

func (s *serverSubject) config() *conformance.Config {
	return &conformance.Config{OwnClock: s.ownClock, Inspect: s.inspect, Corrupt: s.corrupt}
}

// open makes a store under a prefix that no other store has. nil is the server's
// clock.
func (s *serverSubject) open(clk store.Clock) (store.Store, error) {
	// A random check opens many, one after the other.
	if err := s.removeClosed(); err != nil {
		return nil, err
	}
	s.count++
	opts := &redisstore.Options{Prefix: fmt.Sprintf("%s%d:", s.prefix, s.count), Share: s.share, Timeout: callTimeout}
	if !s.ownClock {
		opts.Clock = clk
	}
	states, err := s.connection.open(opts)
	if err != nil {
		return nil, err
	}
	t := &trackedStore{Store: states, ctx: s.ctx, prefix: opts.Prefix, slots: map[store.SlotID]store.Slot{}}
	s.opened = append(s.opened, t)
	return t, nil
}

// removeClosed removes what closed stores have written.
func (s *serverSubject) removeClosed() error {
	for len(s.opened) > 0 && s.opened[0].isClosed() {
		if err := s.remove(s.opened[0]); err != nil {
			return err
		}
		s.opened = s.opened[1:]
	}
	return nil
}

// remove removes what a store has written. Closing the store waits for its calls, so
// nothing can be written behind it.
func (s *serverSubject) remove(t *trackedStore) error {
	t.Close() // always nil
	slots, unanswered := t.written()
	if unanswered && s.left == nil {
		s.left = &leftError{s.where, s.prefix, errUnanswered}
	}
	if len(slots) == 0 {
		return nil
	}
	cleaner, err := s.connection.open(&redisstore.Options{Prefix: t.prefix, Timeout: callTimeout})
	if err != nil {
		return err
	}
	defer cleaner.Close()
	for some := range slices.Chunk(slots, resetSlots) {
		if err := removeSlots(cleaner, some); err != nil {
			return err
		}
	}
	return nil
}

// tidy implements subject.
func (s *serverSubject) tidy(failed bool) error {
	for _, t := range s.opened {
		if err := s.remove(t); err != nil { // two tries have failed
			return err
		}
	}
	s.opened = nil
	if !failed || s.ctx.Err() != nil {
		return nil
	}
	// Did it fail by itself, or would any other as well?
	return s.probe()
}

// probe returns why the server takes nothing, or nil: it is gone, or full, or the
// user may not do what is needed.
func (s *serverSubject) probe() (err error) {
	slot := store.Slot{Key: "weir", Algorithm: algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(1), 1))}
	for range 2 { // the first try may find that the connection is broken
		var states store.Store
		if states, err = s.open(nil); err != nil {
			return err
		}
		within, cancel := context.WithTimeout(s.ctx, callTimeout)
		_, _, err = states.Apply(within, []store.Op{{Slot: slot, Request: algorithm.Request{Cost: 1}}})
		cancel()
		states.Close() // always nil
		if err == nil {
			return s.removeClosed()
		}
	}
	return err
}

// ask sends a command past the stores.
func (s *serverSubject) ask(args ...string) (any, error) {
	within, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	return s.do(within, args...)
}

// Close implements subject.
func (s *serverSubject) Close() error {
	if err := s.tidy(false); err != nil {
		s.left = &leftError{s.where, s.prefix, err}
	}
	s.close()
	return s.left
}
