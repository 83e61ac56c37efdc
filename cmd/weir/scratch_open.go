package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// maxPrefix is the longest prefix that a store on a server takes, in bytes.
const maxPrefix = 200

// checkPrefix refuses a prefix that is not valid, or longer than most bytes. nil is
// no prefix.
func (e *endpoint) checkPrefix(prefix *string, most int) error {
	switch {
	case prefix == nil:
		return nil
	case !e.server:
		return usageError{fmt.Errorf("--prefix: %q is for a server: must be left out with %s", *prefix, e.shown)}
	case *prefix == "" || len(*prefix) > most || strings.ContainsAny(*prefix, "{}\ufffd"): // the parser's mark for what is no UTF-8
		return usageError{fmt.Errorf("--prefix: %q is not allowed: must be 1 to %d bytes of UTF-8 without braces", *prefix, most)}
	}
	return nil
}

// openReplay opens the store for a replay of limits, which are slots without keys. On
// a server it works under a prefix, a random one where prefix is nil. Closing it
// removes all that it wrote there; the error says what was not removed.
func (e *endpoint) openReplay(ctx context.Context, clock store.Clock, prefix *string, limits []store.Slot) (store.Store, error) {
	if !e.server {
		return memorystore.New(&memorystore.Options{Clock: clock})
	}
	r := &replayStore{limits: limits, given: prefix != nil, claimed: map[string]struct{}{}}
	under := randomPrefix("weir-replay:")
	if r.given {
		under = *prefix
	}
	var err error
	if r.scratch, err = openScratch(ctx, e, under, 1, true); err != nil {
		return nil, err
	}
	on, err := r.scratch.open(under, clock)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", e.shown, err), r.scratch.Close())
	}
	r.inner = on
	// The first question, before any file is created: does it answer?
	if _, err := r.used(ctx, "weir"); err != nil {
		return nil, errors.Join(err, r.scratch.Close())
	}
	return store.Wrap(on, store.Hooks{Apply: r.apply, Close: r.scratch.Close}), nil
}

// replayStore is what a replay adds to a store on a server. It is for one goroutine.
type replayStore struct {
	scratch *scratch
	inner   store.Store
	limits  []store.Slot        // without keys
	given   bool                // the prefix, by the user: others may have it too
	claimed map[string]struct{} // keys without a foreign state; where the prefix was given
}

// apply is the hook of the store. A call that has been sent is waited for, even where
// the replay is interrupted: it could write behind the clean-up.
func (r *replayStore) apply(ctx context.Context, ops []store.Op, next store.ApplyFunc) (at algorithm.Instant, committed bool, err error) {
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	if err := r.claim(ctx, ops[0].Key); err != nil {
		return 0, false, err
	}
	at, committed, err = next(context.WithoutCancel(ctx), ops)
	if err != nil {
		err = fmt.Errorf("%s: %w", r.scratch.url, err)
	}
	return at, committed, err
}

// claim makes sure that there is no state of a key before the first one of this replay:
// a state of another replay under the same prefix, or of one that was killed, would
// change decisions, and be removed by the clean-up.
func (r *replayStore) claim(ctx context.Context, key string) error {
	if _, known := r.claimed[key]; known || !r.given {
		return nil // nobody else has the random prefix
	}
	used, err := r.used(ctx, key)
	if err == nil && used {
		err = fmt.Errorf("--prefix: %q is in use on %s: there is a state that this replay did not write", r.scratch.prefix, r.scratch.url)
	}
	r.claimed[key] = struct{}{}
	return err
}

// used reports whether a key has a state that differs from a fresh one.
func (r *replayStore) used(ctx context.Context, key string) (used bool, err error) {
	ops := make([]store.Op, len(r.limits))
	for i, limit := range r.limits {
		ops[i].Slot = limit
		ops[i].Key = key
	}
	within, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := r.inner.Peek(within, ops); err != nil {
		return false, fmt.Errorf("%s: %w", r.scratch.url, err)
	}
	for i := range ops {
		used = used || ops[i].Outcome.ResetAfter != 0
	}
	return used, nil
}

// openSim makes a store for a simulation, with the clock of the simulation. Its first
// error ends the run through fail: what a real server does not answer is no part of
// the simulated world, where the server is down when the scenario says so.
func (s *serverSubject) openSim(clock store.Clock, fail context.CancelCauseFunc) (store.Store, error) {
	made, err := s.open(clock)
	if err != nil {
		return nil, err
	}
	failed := func(err error) error {
		if err != nil {
			fail(fmt.Errorf("%s: %w", s.url, err))
		}
		return err
	}
	return store.Wrap(made, store.Hooks{
		Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
			at, committed, err := next(ctx, ops)
			return at, committed, failed(err)
		},
		Peek: func(ctx context.Context, ops []store.Op, next store.PeekFunc) (algorithm.Instant, error) {
			at, err := next(ctx, ops)
			return at, failed(err)
		},
		Reset: func(ctx context.Context, slots []store.Slot, next func(context.Context, []store.Slot) error) error {
			return failed(next(ctx, slots))
		},
	}), nil
}
