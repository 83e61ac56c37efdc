package weir

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/keyhash"
	"github.com/weirgo/weir/internal/nilcheck"
)

// Observer sees decisions and errors, and cannot change them. It is called on the
// caller's goroutine after the answer is known, so it must be quick; it is called
// concurrently.
type Observer interface {
	// Observe gets the context of the call and what came of it: once for each call
	// of a Limiter, and once for each Ask of a call of a MultiLimiter, in their order.
	// A Wait is one call, however often it asks the store.
	Observe(ctx context.Context, o Observation)
}

// Observation is what an Observer sees of one limit in one call.
type Observation struct {
	// Kind is what was called.
	Kind Kind
	// Limit is the name of the limit, and Key whom it was about. Keys are often
	// personal data: think before writing them down.
	Limit, Key string
	// Algorithm is that of the limit. nil where an Ask had none, which is an error.
	Algorithm algorithm.Algorithm
	// Cost is what was asked for; 0 for a Reset.
	Cost int64
	// Verb is what was done with the Cost: a Refund gives it back.
	Verb algorithm.Verb
	// Shadow is that of the Ask: nobody obeys the answer.
	Shadow bool
	// OnFailure is the mode of the limiter, which made the Decision where that is Degraded.
	OnFailure FailureMode
	// Allowed reports whether the call was allowed: every limit that it asked has
	// admitted its cost, and each was charged unless it was a look.
	Allowed bool
	// Decision is the answer of this limit. In a Take that another limit refused it
	// may say Allowed. A Reset has none, nor has a call that did not get as far.
	Decision Decision
	// Err is the error that was returned instead, or nil.
	Err error
	// Took is how long the call took, on the wall clock of this process; for a Wait
	// that is the wait. It is 0 where it was not measured: of the takes and peeks on a
	// store that never waits, such as one in memory, one call in 16 is, chosen at random,
	// since to read the clock twice costs as much as such a decision.
	Took time.Duration
}

// Kind is what a Limiter or MultiLimiter was asked to do.
type Kind int

const (
	// KindTake is Allow, AllowN, Charge, Refund and Take.
	KindTake Kind = iota
	// KindPeek is Peek and PeekN.
	KindPeek
	// KindWait is Wait and WaitN.
	KindWait
	// KindReset is Reset.
	KindReset
)

// String returns "take", "peek", "wait" or "reset".
func (k Kind) String() string {
	if names := [...]string{"take", "peek", "wait", "reset"}; k >= 0 && int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// Observers returns an Observer that calls each of all in turn. nil and nil pointers are
// left out; it returns nil where none is left, and the one where one is.
func Observers(all ...Observer) Observer {
	all = slices.DeleteFunc(slices.Clone(all), func(o Observer) bool { return nilcheck.IsNil(o) })
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return observers(all)
}

// measuredOf is how many calls on a store that never waits there are to one that is
// measured.
const measuredOf = 16

// start is when a call began, and the zero Time where it is not measured.
func (g *guard) start() time.Time {
	if g.neverWaits && rand.Uint32()%measuredOf != 0 {
		return time.Time{}
	}
	return time.Now()
}

// since is how long a call took that began at start; 0 where it is not measured.
func since(start time.Time) time.Duration {
	if start.IsZero() {
		return 0
	}
	return time.Since(start)
}

type observers []Observer

func (all observers) Observe(ctx context.Context, o Observation) {
	for _, each := range all {
		each.Observe(ctx, o)
	}
}

// LogOptions are the optional settings of a log. nil means all defaults.
type LogOptions struct {
	// HashKey is the secret key of an HMAC-SHA256 of the limit's key. Each line then has
	// key_hash, the first 16 hex digits of it, which are the same for all lines about one key.
	// The page of package ui shows the same digits where ui.Options.HashKey is the same.
	// NewLogObserver copies HashKey. nil or empty: lines have neither keys nor hashes.
	HashKey []byte
}

// NewLogObserver returns an Observer that logs errors (level Error), degraded
// decisions (level Warn) and every other decision (level Debug), a charge that was
// refused among them. Keys are not logged. Where the Logger does not want Debug, a decision costs one question to
// it. log must not be nil; opts may be.
//
// A store that is down fails every request; so each of errors and degraded
// decisions is logged at most once a second, after a burst of five, by a limit of
// this package, and a line says how many were left out before it. The first five
// are all logged. Debug lines are not limited.
func NewLogObserver(log *slog.Logger, opts *LogOptions) Observer {
	o := &logObserver{log: log, clock: time.Now}
	if opts != nil {
		o.hashKey = slices.Clone(opts.HashKey)
	}
	return o
}

type logObserver struct {
	log     *slog.Logger
	hashKey []byte // empty: no hashes
	clock   func() time.Time

	mu     sync.Mutex
	errors lineLimit
	warned lineLimit
}

// lineLimit limits the lines of one level. It is the pure function, without a
// store.
type lineLimit struct {
	state   algorithm.State
	dropped int64
}

var lineRate = algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(1), 5))

// next reports whether a line may be written now, and how many were left out
// since the last one.
func (l *lineLimit) next(now time.Time) (dropped int64, write bool) {
	at, err := algorithm.InstantOf(now)
	if err != nil {
		return 0, true // better too many lines than none
	}
	state, o := lineRate.Step(l.state, at, algorithm.Request{Cost: 1})
	if !o.Allowed {
		l.dropped++
		return 0, false
	}
	dropped, l.state, l.dropped = l.dropped, state, 0
	return dropped, true
}

// contextErrors are the errors of a context that has ended.
var contextErrors = []error{context.Canceled, context.DeadlineExceeded}

// waitRefusals are the errors of a Wait that was denied.
var waitRefusals = []error{ErrNeverAdmitted, ErrQueueFull, ErrMaxDelay}

// Observe implements Observer.
func (o *logObserver) Observe(ctx context.Context, seen Observation) {
	switch {
	case seen.Err == nil && !seen.Decision.Degraded:
		o.debug(ctx, seen, nil)
	case seen.Err == nil:
		o.write(ctx, &o.warned, slog.LevelWarn, "rate limit: decided without the store", seen, seen.Decision.Cause)
	case isDecision(seen.Err):
		o.debug(ctx, seen, seen.Err)
	default:
		o.write(ctx, &o.errors, slog.LevelError, "rate limit: no decision", seen, seen.Err)
	}
}

// isDecision reports whether an error is a denial, of a charge or of a wait, or the end of the
// caller's context. Neither is a failure of the store.
func isDecision(err error) bool {
	var refused *DebtError
	return errors.As(err, &refused) || isAny(err, waitRefusals) || isAny(err, contextErrors) && !IsFailure(err)
}

func (o *logObserver) write(ctx context.Context, limit *lineLimit, level slog.Level, text string, seen Observation, err error) {
	o.mu.Lock()
	dropped, write := limit.next(o.clock())
	o.mu.Unlock()
	if !write {
		return
	}
	o.log.LogAttrs(ctx, level, text,
		slog.String("kind", seen.Kind.String()), slog.String("limit", seen.Limit), o.key(seen.Key),
		slog.Bool("allowed", seen.Allowed), slog.Any("error", err),
		slog.Duration("took", seen.Took), slog.Int64("left_out", dropped))
}

// debug logs a decision. The level is checked first, and the line is written by another
// function, so that without a line neither fields nor an Observation on the heap are allocated.
func (o *logObserver) debug(ctx context.Context, seen Observation, err error) {
	if o.log.Enabled(ctx, slog.LevelDebug) {
		o.writeDebug(ctx, seen, err)
	}
}

func (o *logObserver) writeDebug(ctx context.Context, seen Observation, err error) {
	d := &seen.Decision
	attrs := []slog.Attr{
		slog.String("kind", seen.Kind.String()), slog.String("limit", seen.Limit), o.key(seen.Key), slog.Int64("cost", seen.Cost),
		slog.Bool("allowed", seen.Allowed), slog.Int64("remaining", d.Remaining), retryAfter(d),
		slog.Duration("took", seen.Took),
	}
	if err != nil {
		attrs = append(attrs, slog.Any("error", err))
	}
	o.log.LogAttrs(ctx, slog.LevelDebug, "rate limit: decided", attrs...)
}

// key is the hash of a key as an Attr; an empty Attr, which handlers ignore, where no hash is
// to be logged.
func (o *logObserver) key(key string) slog.Attr {
	if len(o.hashKey) == 0 || key == "" {
		return slog.Attr{}
	}
	return slog.String("key_hash", keyhash.Of(o.hashKey, key))
}

// retryAfter is "never" where the Duration would be 292 years.
func retryAfter(d *Decision) slog.Attr {
	if d.RetryAfter == Never {
		return slog.String("retry_after", "never")
	}
	return slog.Duration("retry_after", d.RetryAfter)
}
