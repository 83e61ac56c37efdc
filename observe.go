package weir

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// Observation is what an observer sees of one op: a Limiter makes one for each
// call, a Taker one for each op of a call.
type Observation struct {
	// Verb is the method that was called, such as "AllowN" or "Take".
	Verb string
	// Limit is the name of the limit, and Key whom it was about. Keys are often
	// personal data: think before writing them down.
	Limit, Key string
	// Cost is what was asked for.
	Cost int64
	// Decision is the answer; in a Take that was refused, of this op alone.
	Decision Decision
	// Err is the error that was returned instead, or nil.
	Err error
	// Took is how long the call took, on the wall clock of this process.
	Took time.Duration
}

// NewLogObserver returns an Options.Observe that logs what an operator must
// hear of and would otherwise not: errors (level Error) and degraded decisions
// (level Warn). Keys are not logged.
//
// A store that is down fails every request; so each of the two is logged at most
// once a second, after a burst of five, by a limit of this package, and a line
// says how many were left out before it. Nothing is lost of the first ones.
func NewLogObserver(log *slog.Logger) func(Observation) {
	o := &logObserver{log: log, clock: time.Now}
	return o.observe
}

type logObserver struct {
	log   *slog.Logger
	clock func() time.Time

	mu     sync.Mutex
	errors lineLimit
	warned lineLimit
}

// lineLimit limits the lines of one kind. It is the pure function, without a
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

// callers are the errors of a context that has ended.
var callers = []error{context.Canceled, context.DeadlineExceeded}

func (o *logObserver) observe(seen Observation) {
	switch {
	case isAny(seen.Err, callers) && !isFailure(seen.Err): // a caller who went away is no incident
	case seen.Err != nil:
		o.write(&o.errors, slog.LevelError, "rate limit: no decision", seen, seen.Err)
	case seen.Decision.Degraded:
		o.write(&o.warned, slog.LevelWarn, "rate limit: decided without the store", seen, seen.Decision.Cause)
	}
}

func (o *logObserver) write(limit *lineLimit, level slog.Level, text string, seen Observation, err error) {
	o.mu.Lock()
	dropped, write := limit.next(o.clock())
	o.mu.Unlock()
	if !write {
		return
	}
	o.log.LogAttrs(context.Background(), level, text,
		slog.String("verb", seen.Verb), slog.String("limit", seen.Limit),
		slog.Bool("allowed", seen.Decision.Allowed), slog.Any("error", err),
		slog.Duration("took", seen.Took), slog.Int64("left_out", dropped))
}
