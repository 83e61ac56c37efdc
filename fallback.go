package weir

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/deadline"
	"github.com/weirgo/weir/store"
)

// FailureMode says what a Limiter or a MultiLimiter answers when its store cannot.
//
// Only a store that is unavailable, does not answer in time, does not know the
// outcome, sees too much contention or is full fails in this sense. Everything
// else stays an error in every mode: the caller's own context, invalid input, keys
// on different nodes, a corrupt state, a store that was closed.
type FailureMode int

const (
	// FailClosed returns the error; nothing is admitted. The default.
	FailClosed FailureMode = iota
	// FailOpen admits without counting: the Decision is Allowed and Degraded, and
	// says why in Cause. Of its numbers only Limit is known, and a cost above
	// it is denied as ever.
	FailOpen
	// FailLocal asks the store in Options.Local instead, usually one in memory
	// with the same limit for this process alone. The Decision is Degraded,
	// with the error of the first store in Cause. A refund gives nothing back
	// there: its units were taken from the first store.
	FailLocal
)

// String returns the name of the mode.
func (m FailureMode) String() string {
	switch m {
	case FailClosed:
		return "FailClosed"
	case FailOpen:
		return "FailOpen"
	case FailLocal:
		return "FailLocal"
	}
	return fmt.Sprintf("FailureMode(%d)", int(m))
}

// guard asks a store within its time-out, and answers for it where it fails.
type guard struct {
	store        store.Store
	mode         FailureMode
	local        store.Store
	timeout      time.Duration // of one call to store; 0 if it never waits
	localTimeout time.Duration // the same of local
	neverWaits   bool          // of store: store.Features.NoIO

	idTTL         time.Duration // how long an ID is remembered
	resolveWithin time.Duration // how long an unknown outcome is asked for again; 0 for not
}

func newGuard(s store.Store, o *Options) guard {
	g := guard{mode: o.OnFailure, idTTL: o.IDTTL, resolveWithin: o.ResolveWithin}
	if g.idTTL == 0 {
		g.idTTL = defaultIDTTL
	}
	g.neverWaits = store.FeaturesOf(s).NoIO
	g.store, g.timeout = withTimeout(s, o.Timeout)
	if o.Local != nil {
		g.local, g.localTimeout = withTimeout(o.Local, o.Timeout)
	}
	return g
}

// withTimeout returns a store and how long its calls may take: 0 for one that never waits,
// and for one that watches the time itself.
func withTimeout(s store.Store, timeout time.Duration) (store.Store, time.Duration) {
	f := store.FeaturesOf(s)
	if f.NoIO {
		return s, 0
	}
	if timeout == 0 {
		timeout = defaultTimeout
	}
	if f.Within != nil {
		return f.Within(timeout), 0
	}
	return s, timeout
}

// ask applies ops, or peeks. cause is the failure that the mode answered for.
func (g *guard) ask(ctx context.Context, ops []store.Op, take bool) (at algorithm.Instant, cause, err error) {
	if take && g.resolveWithin > 0 {
		at, err = g.decideOnce(ctx, NewID(), ops)
	} else {
		at, err = call(ctx, g.store, g.timeout, ops, take)
	}
	if err == nil {
		return at, nil, nil
	}
	return g.fallback(ctx, "", ops, take, err)
}

// call is one call to a store, with the time-out.
func call(ctx context.Context, s store.Store, timeout time.Duration, ops []store.Op, take bool) (at algorithm.Instant, err error) {
	within, cancel := deadline.Within(ctx, timeout)
	defer cancel()
	if take {
		at, _, err = s.Apply(within, ops) // the outcomes say whether it was committed
	} else {
		at, err = s.Peek(within, ops)
	}
	return at, deadline.Explain(ctx, within, timeout, err)
}

// reset forgets slots, in the local store as well.
func (g *guard) reset(ctx context.Context, slots []store.Slot) error {
	err := reset(ctx, g.store, g.timeout, slots)
	if g.local != nil {
		err = errors.Join(err, reset(ctx, g.local, g.localTimeout, slots))
	}
	return err
}

func reset(ctx context.Context, s store.Store, timeout time.Duration, slots []store.Slot) error {
	return deadline.Call(ctx, timeout, func(ctx context.Context) error { return s.Reset(ctx, slots) })
}

// fallback answers in place of the store, which failed with err, or returns err
// where the mode does not cover it. id is that of the step, or "".
func (g *guard) fallback(ctx context.Context, id string, ops []store.Op, take bool, err error) (at algorithm.Instant, cause, left error) {
	// What no store takes must not be answered for one that failed.
	if invalid := store.Validate(ops); invalid != nil {
		return 0, nil, invalid
	}
	if g.mode == FailClosed || ctx.Err() != nil || !IsFailure(err) {
		return 0, nil, err
	}
	if g.mode == FailLocal {
		lookAtRefunds(ops)
		var localErr error
		if id == "" {
			at, localErr = call(ctx, g.local, g.localTimeout, ops, take)
		} else {
			at, localErr = once(ctx, g.local, g.localTimeout, store.Once{ID: id, TTL: g.idTTL}, ops)
		}
		if localErr != nil {
			return 0, nil, errors.Join(localErr, err)
		}
		return at, err, nil
	}
	admitUncounted(ops)
	return 0, err, nil
}

// lookAtRefunds makes a look of each refund: to give back to one store what was taken from
// another would admit more than the limit there.
func lookAtRefunds(ops []store.Op) {
	for i := range ops {
		if r := &ops[i].Request; r.Verb == algorithm.Refund {
			r.Cost = 0
		}
	}
}

// failures are the errors that a failure mode covers; never are those that it
// does not, whatever else they are joined with.
var (
	failures = []error{store.ErrUnavailable, store.ErrOutcomeUnknown, store.ErrContention, store.ErrFull}
	never    = []error{store.ErrInvalid, store.ErrDuplicateSlot, store.ErrCrossNode, store.ErrCorrupt, store.ErrClosed, store.ErrUnsupported, store.ErrIDReused}
)

// IsFailure reports whether an error says that a store failed, in the sense of FailureMode:
// something else may answer for the store. It is for code that has failure modes of its own
// over a Decider.
func IsFailure(err error) bool { return isAny(err, failures) && !isAny(err, never) }

func isAny(err error, targets []error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// admitUncounted answers ops without a state: a take that no state could admit is
// denied, everything else is not.
func admitUncounted(ops []store.Op) {
	for i := range ops {
		op := &ops[i]
		_, fresh := op.Algorithm.Step(algorithm.State{}, 0, algorithm.Request{})
		op.Outcome = algorithm.Outcome{Allowed: op.Request.Cost <= fresh.Limit || op.Request.Verb != algorithm.Take, Limit: fresh.Limit}
		if !op.Outcome.Allowed {
			op.Outcome.RetryAfter = Never
		}
	}
}

func allAllowed(ops []store.Op) bool {
	for i := range ops {
		if !ops[i].Outcome.Allowed {
			return false
		}
	}
	return true
}
