package sim

import (
	"context"
	"io/fs"
	"slices"

	"github.com/weirgo/weir/sim/internal/world"
	"github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
	"github.com/weirgo/weir/store"
)

// Options are the optional settings of Run. nil means all defaults.
type Options struct {
	// NewStore makes the store that the server keeps states in: an empty one each
	// time. It decides at the time of clock, which stands still between calls. A run
	// makes one for each server, and one more for each fail-over and each restart that
	// loses its data; it makes as many again where it compares for the rule isolation. It
	// closes them all. nil is store/memory.
	NewStore func(clock store.Clock) (store.Store, error)

	// Progress, where it is not nil, is called now and then.
	Progress func(Progress)

	// Trace, where it is not nil, gets every event, in order. The event may be read
	// only during the call.
	Trace func(*result.Event)

	// Files holds the file of counts that a process may name, and that of a policy. nil
	// means that none may be named.
	Files fs.FS

	// Traces opens the trace that a process of the kind trace names. Each run opens
	// it anew, reads it as its requests come, then to its end, and closes it, also after
	// an error. Concurrent runs call it concurrently. nil means that no process may
	// name a trace.
	Traces func(scenario.Process) (Recording, error)
}

// Recording is an opened trace: requests that were recorded.
type Recording interface {
	// Next returns the next request, and io.EOF after the last. at is in µs since the
	// Unix epoch: from 0 to 2^53 − 1, and never before the request before it. cost is
	// from 0 to algorithm.MaxUnits, and key is not empty, unless the traffic has Keys.
	// Any other error ends the run. Next is not called after an error.
	Next() (at int64, key string, cost int64, err error)
	// Bad returns how many lines of those read so far are no request, and what is wrong
	// with the first.
	Bad() (lines int64, first string)
	// Close ends the reading. It is called once, and no method after it.
	Close() error
}

// Progress is how far a run is.
type Progress struct {
	Limit          string // of the run: the names of its limits, joined with +
	Micros         int64  // simulated so far
	DurationMicros int64
	Requests       int64 // attempts so far
}

// Run runs a scenario and returns one result for each limit, or a single one where the
// limits are taken together or a policy decides. A violated rule is a Failure in the result and no error. An
// error means that there is no result: the scenario is invalid, which is a
// *scenario.Error, ctx has ended, a file or a trace cannot be read, or a store could not
// be made or failed where no caller gets its error.
//
// The same scenario gives the same results. Run reads no clock and starts no goroutine
// of its own but coroutines, which run one at a time. It may be called concurrently,
// also with one scenario, if what is in opts allows it.
func Run(ctx context.Context, s *scenario.Scenario, opts *Options) ([]*result.Result, error) {
	if err := s.Validate(); err != nil {
		return nil, s.Locate(err)
	}
	if opts == nil {
		opts = &Options{}
	}
	text := s // that has the places
	s, err := s.WithPolicy(opts.Files)
	if err != nil {
		return nil, text.Locate(err)
	}
	inner := world.Options{NewStore: opts.NewStore, Trace: opts.Trace, Files: opts.Files}
	if opts.Progress != nil {
		inner.Progress = func(limit string, micros, requests int64) {
			opts.Progress(Progress{limit, micros, s.Duration.Microseconds(), requests})
		}
	}
	if opts.Traces != nil {
		inner.Traces = func(p scenario.Process) (world.Recording, error) { return opts.Traces(p) }
	}
	size := 1
	if s.Together {
		size = len(s.Limits)
	}
	var results []*result.Result
	runs := slices.Collect(slices.Chunk(s.Limits, size))
	if s.Policy != "" {
		runs = [][]scenario.Limit{nil}
	}
	for _, limits := range runs {
		r, err := world.Run(ctx, s, limits, inner)
		if err != nil {
			return nil, text.Locate(err)
		}
		results = append(results, r)
	}
	return results, nil
}

// Violates returns a function that runs a scenario and reports whether it violates a
// rule, for scenario.Shrink. A scenario that cannot be run does not.
func Violates(ctx context.Context, rule string, opts *Options) func(*scenario.Scenario) bool {
	return func(s *scenario.Scenario) bool {
		one := *s
		one.Checks = []string{rule} // another rule must not end the run first
		results, err := Run(ctx, &one, opts)
		return err == nil && slices.ContainsFunc(results, func(r *result.Result) bool { return r.Failure != nil })
	}
}
