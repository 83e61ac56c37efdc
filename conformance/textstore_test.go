package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/store"
)

// textStore keeps states as text with a TTL, as a server does, and can be
// looked into. It does less where it is told to, and what it does wrongly is in
// its faults.
type textStore struct {
	clock  store.Clock
	given  store.Clock // by the suite
	limits textLimits
	faults textFaults

	mu      sync.Mutex
	entries map[place]textEntry // nil when closed
	latest  algorithm.Instant   // that its clock has shown
}

type textEntry struct {
	text  string
	until algorithm.Instant // when it may be dropped; 0 is never
}

// textLimits are what a textStore cannot do.
type textLimits struct{ ownClock, oneKey, oneOp, builtInOnly, neverForgets, hidesTTLs bool }

// textFaults are what it does wrongly; those that are not set are right.
type textFaults struct {
	ttl          func(time.Duration) time.Duration // of a state that was written
	write        func(algorithm.State) string
	alwaysWrites bool // looks and denials too, and with that sets the TTL
	peeksExtend  bool
	rewrites     func(op *store.Op, before algorithm.State, ops int, committed bool) bool // what has not changed
	showsZero    bool                                                                     // as each TTL
	resetLeaves  bool                                                                     // an empty text
	sweep        func(now, until algorithm.Instant) bool
	corrupt      func(s *textStore, p place) (algorithm.State, error)
	chargesFirst bool                       // op by op, until one fails
	refuse       func(ops []store.Op) error // instead of what limits say
	dropsAtOnce  bool                       // what it has promised never to drop
	stopped      bool                       // it gives an error to everybody
}

func newTextStore(clk store.Clock, limits textLimits) *textStore {
	s := &textStore{clock: clk, given: clk, limits: limits, entries: map[place]textEntry{}}
	if limits.ownClock {
		s.clock = wallClock{}
	}
	return s
}

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

// config describes a textStore to the suite.
func (l textLimits) config() *conformance.Config {
	return &conformance.Config{
		Histories: quick, Seed: 1,
		OwnClock: l.ownClock, OneKey: l.oneKey, OneOp: l.oneOp, BuiltInOnly: l.builtInOnly, NeverForgets: l.neverForgets,
		Corrupt: func(_ conformance.TB, s store.Store, slot store.Slot, text string) {
			t := s.(*textStore)
			t.mu.Lock()
			defer t.mu.Unlock()
			e := t.entries[placeOf(slot)]
			e.text = text
			t.entries[placeOf(slot)] = e
		},
		Inspect: func(_ conformance.TB, s store.Store, slot store.Slot) (conformance.Stored, bool) {
			t := s.(*textStore)
			t.mu.Lock()
			defer t.mu.Unlock()
			e, found := t.entries[placeOf(slot)]
			now, err := algorithm.InstantOf(t.clock.Now())
			if err != nil {
				panic(err)
			}
			stored := conformance.Stored{Text: e.text, TTL: algorithm.Never}
			switch {
			case t.faults.showsZero:
				stored.TTL = 0
			case t.limits.hidesTTLs:
				stored.TTL = conformance.UnknownTTL
			case e.until != 0:
				stored.TTL = time.Duration(e.until-now) * time.Microsecond
			}
			return stored, found
		},
		Sweep: func(_ conformance.TB, s store.Store) {
			t := s.(*textStore)
			t.mu.Lock()
			defer t.mu.Unlock()
			now, err := algorithm.InstantOf(t.clock.Now())
			if err != nil {
				panic(err)
			}
			t.sweep(now)
		},
	}
}

func (s *textStore) sweep(now algorithm.Instant) {
	s.latest = max(s.latest, now)
	for p, e := range s.entries {
		over := e.until != 0 && e.until <= s.latest
		if s.faults.sweep != nil {
			over = s.faults.sweep(s.latest, e.until)
		}
		if over {
			delete(s.entries, p)
		}
	}
}

func (s *textStore) Apply(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
	return s.decide(ctx, ops, true)
}

func (s *textStore) Peek(ctx context.Context, ops []store.Op) (algorithm.Instant, error) {
	at, _, err := s.decide(ctx, ops, false)
	return at, err
}

func (s *textStore) decide(ctx context.Context, ops []store.Op, write bool) (algorithm.Instant, bool, error) {
	if err := s.refuse(ops); err != nil {
		return 0, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return 0, false, err
	}
	at, err := algorithm.InstantOf(s.clock.Now())
	if err != nil {
		return 0, false, err
	}
	s.sweep(at)
	before, after := make([]algorithm.State, len(ops)), make([]algorithm.State, len(ops))
	for i := range ops {
		if before[i], err = s.read(&ops[i]); err != nil {
			return 0, false, err
		}
		if s.faults.chargesFirst && write {
			if single := ops[i : i+1]; store.Decide(at, single, before[i:i+1], after[i:i+1]) {
				s.put(&single[0], at, after[i])
			}
		}
	}
	committed := store.Decide(at, ops, before, after)
	for i := range ops {
		switch op := &ops[i]; {
		case write && committed && store.Changes(op) && after[i].Fresh():
			delete(s.entries, placeOf(op.Slot)) // all was given back
		case write && (committed && store.Changes(op) || s.faults.alwaysWrites):
			s.put(op, at, after[i])
		case !write && s.faults.peeksExtend && !before[i].Fresh():
			s.put(op, at, before[i])
		case write && s.faults.rewrites != nil && s.faults.rewrites(op, before[i], len(ops), committed):
			s.put(op, at, before[i])
		}
	}
	return at, committed, nil
}

// refuse is what it takes no part in.
func (s *textStore) refuse(ops []store.Op) error {
	if s.faults.refuse != nil {
		return s.faults.refuse(ops)
	}
	return s.limits.refuse(ops)
}

func (l textLimits) refuse(ops []store.Op) error {
	if err := store.Validate(ops); err != nil {
		return err
	}
	if l.oneOp && len(ops) > 1 {
		return &store.InputError{Op: -1, Field: "number of ops", Value: fmt.Sprint(len(ops)), Allowed: "1"}
	}
	for i := range ops {
		if l.oneKey && ops[i].Key != ops[0].Key {
			return fmt.Errorf("text: ops 0 and %d: %w", i, store.ErrCrossNode)
		}
		if l.builtInOnly {
			if _, checked := ops[i].Algorithm.(algorithm.StateChecker); !checked {
				return &store.InputError{Op: i, Field: "Slot.Algorithm kind", Value: fmt.Sprintf("%q", ops[i].Algorithm.Spec().Kind), Allowed: "one of package algorithm"}
			}
		}
	}
	return nil
}

// read returns the state of an op.
func (s *textStore) read(op *store.Op) (algorithm.State, error) {
	e := s.entries[placeOf(op.Slot)]
	state, err := algorithm.ParseState(e.text)
	if checker, offered := op.Algorithm.(algorithm.StateChecker); offered && err == nil {
		err = checker.CheckState(state)
	}
	if err != nil && s.faults.corrupt != nil {
		return s.faults.corrupt(s, placeOf(op.Slot))
	}
	if err != nil {
		return state, fmt.Errorf("text: %w", store.ErrCorrupt)
	}
	return state, nil
}

func (s *textStore) put(op *store.Op, at algorithm.Instant, state algorithm.State) {
	e := textEntry{text: state.String()}
	if s.faults.write != nil {
		e.text = s.faults.write(state)
	}
	ttl := store.TTL(op.Outcome.ResetAfter)
	if s.faults.ttl != nil {
		ttl = s.faults.ttl(ttl)
	}
	if e.until = at + algorithm.Instant(ttl/time.Microsecond); ttl == algorithm.Never || s.limits.neverForgets && !s.faults.dropsAtOnce {
		e.until = 0
	}
	s.entries[placeOf(op.Slot)] = e
}

func (s *textStore) usable(ctx context.Context) error {
	if s.entries == nil {
		return store.ErrClosed
	}
	if s.faults.stopped {
		return store.ErrCorrupt
	}
	return ctx.Err()
}

func (s *textStore) Reset(ctx context.Context, slots []store.Slot) error {
	if err := store.ValidateSlots(slots); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	for _, slot := range slots {
		if delete(s.entries, placeOf(slot)); s.faults.resetLeaves {
			s.entries[placeOf(slot)] = textEntry{}
		}
	}
	return nil
}

func (s *textStore) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = nil
	return nil
}

// A store passes with all that it can do, and with each thing that it cannot,
// declared.
func TestDeclaredCapabilitiesAreChecked(t *testing.T) {
	for name, limits := range map[string]textLimits{
		"everything":    {},
		"own clock":     {ownClock: true},
		"one key":       {oneKey: true},
		"one op":        {oneOp: true},
		"built in only": {builtInOnly: true},
		"never forgets": {neverForgets: true},
		"hides TTLs":    {hidesTTLs: true},
		"next to none":  {ownClock: true, oneOp: true, builtInOnly: true, neverForgets: true},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "everything" && name != "next to none" {
				t.Skip("-short: several runs of the suite")
			}
			t.Parallel()
			conformance.TestStore(t, func(_ testing.TB, clk clock.Clock) store.Store { return newTextStore(clk, limits) }, limits.config())
		})
	}
}

// A sound decorator passes.
func TestDecoratorConforms(t *testing.T) {
	conformance.TestStore(t, func(_ testing.TB, clk clock.Clock) store.Store {
		d, _ := newDecorator(clk)
		return d
	}, decoratorConfig())
}

// What is skipped says why, and what is declared is not skipped.
func TestSkippedChecksSayWhy(t *testing.T) {
	limits := textLimits{oneOp: true}
	for _, c := range limits.config().Checks() {
		err := c.Verify(func(clk clock.Clock) store.Store { return newTextStore(clk, limits) })
		skipped := errors.Is(err, conformance.ErrSkipped)
		wants := slices.Contains([]string{"take/same-slot-twice", "capability/one-key", "capability/own-clock"}, c.Name)
		runs := slices.Contains([]string{"capability/one-op", "key/any-bytes", "corrupt/is-an-error", "linear/one-slot/gcra"}, c.Name)
		if wants && !skipped || runs && err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		if skipped && len(err.Error()) < 30 {
			t.Errorf("%s is skipped with %q", c.Name, err)
		}
	}
}

// TTLs that are not shown are not looked at; 0 is one that is too short.
func TestTTLsThatAreNotShownAreSkipped(t *testing.T) {
	limits := textLimits{hidesTTLs: true}
	c := checkOf(t, limits.config(), "stored/for-a-while")
	err := c.Verify(func(clk clock.Clock) store.Store { return newTextStore(clk, limits) })
	if !errors.Is(err, conformance.ErrSkipped) || !strings.Contains(err.Error(), "UnknownTTL") {
		t.Errorf("not shown: %v", err)
	}
	n := 0
	err = c.Verify(func(clk clock.Clock) store.Store {
		n++
		return newTextStore(clk, textLimits{hidesTTLs: n > 3})
	})
	if err == nil || errors.Is(err, conformance.ErrSkipped) || !strings.Contains(err.Error(), "as for the slots before") {
		t.Errorf("shown for some: %v", err)
	}
}
