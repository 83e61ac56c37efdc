package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
	redisstore "github.com/weirgo/weir/store/redis"
	"github.com/weirgo/weir/store/script"
)

// Whose clock a store reads.
const (
	injectedClock = "injected"
	serverClock   = "server"
)

// open opens what is to be verified, and finds out whether it can be.
func (c *verifyCommand) open(ctx context.Context, on *endpoint) (subject, *about, error) {
	r := &about{Store: on.shown, Clock: injectedClock, Warnings: []string{}}
	if !on.server {
		return memorySubject{}, r, nil
	}
	prefix := "weir-verify:"
	if c.Prefix != nil {
		prefix = *c.Prefix
	}
	r.Prefix = randomPrefix(prefix)
	if c.ServerClock {
		r.Clock = serverClock
	}
	made, err := openScratch(ctx, on, r.Prefix, c.Share, false)
	if err != nil {
		return nil, nil, err
	}
	s, err := newServerSubject(made, r)
	if err != nil {
		return nil, nil, err
	}
	s.ownClock = c.ServerClock
	return s, r, nil
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
	*scratch
	ownClock bool
	blind    bool // it may not see life times
	count    int  // of stores that were opened
}

// newServerSubject asks the server what must be known before the first check: that goes
// into r. It takes over the scratch, and closes it where it fails.
func newServerSubject(on *scratch, r *about) (*serverSubject, error) {
	s := &serverSubject{scratch: on}
	if err := s.check(r); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", s.url, err), s.Close())
	}
	return s, nil
}

func (s *serverSubject) check(r *about) error {
	states, err := s.connection.Open(&redisstore.Options{Prefix: s.prefix, Timeout: callTimeout})
	if err != nil {
		return err
	}
	defer states.Close()
	found, err := states.Check(s.ctx)
	if err != nil {
		err = prefixHint(err, s.prefix)
		if s.lacks(err) {
			err = answerError{err}
		}
		return err
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
	return s.ctx.Err()
}

// lacks reports whether an error of Check says that the server, which is there and lets the user in, cannot do what is needed.
func (s *serverSubject) lacks(err error) bool {
	if reply := (*script.ServerError)(nil); errors.As(err, &reply) {
		return reply.Code() == "ERR" || reply.Code() == "NOPERM"
	}
	_, failed := s.ask("PING")
	return failed == nil && errors.Is(err, store.ErrUnavailable)
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
	seen := func(_ conformance.TB, states store.Store) int64 { return states.(*scratchStore).seen.Load() }
	return &conformance.Config{OwnClock: s.ownClock, OneKey: s.sharded, Inspect: s.inspect, Corrupt: s.corrupt, Seen: seen}
}

// open makes a store under a prefix that no other store has. A nil clock is that of
// the server.
func (s *serverSubject) open(clk store.Clock) (store.Store, error) {
	// A random check opens many, one after the other.
	if err := s.removeClosed(); err != nil {
		return nil, err
	}
	if s.ownClock {
		clk = nil
	}
	s.count++
	return s.scratch.open(fmt.Sprintf("%s%d:", s.prefix, s.count), clk)
}

// tidy implements subject.
func (s *serverSubject) tidy(failed bool) error {
	if err := s.removeAll(); err != nil || !failed || s.ctx.Err() != nil {
		return err
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
	return s.connection.Do(within, args...)
}
