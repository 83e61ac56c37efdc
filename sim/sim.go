package sim

import (
	"context"
	"io/fs"

	"github.com/weirgo/weir/sim/traffic"
	"github.com/weirgo/weir/store"
)

// Options are the optional settings of Run. nil means all defaults.
type Options struct {
	// NewStore makes the store that the server keeps states in: an empty one each
	// time. It decides at the time of clock, which stands still but for the instants
	// of calls. A run makes one, one more for each fail-over and each restart that
	// loses its data, and closes them all. nil is store/memory.
	NewStore func(clock store.Clock) (store.Store, error)

	// Progress, where it is not nil, is called now and then.
	Progress func(Progress)

	// Trace, where it is not nil, gets every event, in order. The event is its own
	// only during the call.
	Trace func(*Event)

	// Files holds the files of counts that a traffic's process may name. nil means
	// that none may.
	Files fs.FS

	// Traces opens the trace that a process of the kind trace names. Each run opens
	// it anew, reads it as its requests come, then to its end, and closes it, also after
	// an error. Runs that go on at once call it at once. nil means that none may be
	// named.
	Traces func(traffic.Process) (Recording, error)
}

// Recording is an opened trace: requests that were recorded.
type Recording interface {
	// Next returns the next request, and io.EOF after the last. Its At is in µs since
	// the Unix epoch: from 0 to 2^53 − 1, and never before that of the request before.
	// Its Cost is from 0 to algorithm.MaxUnits, and its Key is not empty, unless the
	// traffic has Keys. Any other error ends the run. Next is not called after an error.
	Next() (traffic.Arrival, error)
	// Bad returns how much of what was read so far is no request, and what is wrong
	// with the first of it.
	Bad() (lines int64, first string)
	// Close ends the reading. It is called once, and nothing after it.
	Close() error
}

// Progress says how far a run is.
type Progress struct {
	Limit          string
	Micros         int64 // simulated so far
	DurationMicros int64
	Requests       int64 // attempts so far
}

// Run runs a scenario and returns one result for each limit, or a single one where they
// are taken together. A violated rule is a Failure in the result and no error. An error
// means that there is no result: the scenario is invalid, ctx has ended, a file or a
// trace cannot be read, or a store could not be made or failed where no caller takes its error.
//
// The same scenario gives the same results. Run reads no clock and starts no goroutine
// of its own but coroutines, which run one at a time. Several Runs may go on at once,
// also of one scenario, if what is in opts allows it.
func Run(ctx context.Context, s *Scenario, opts *Options) ([]*Result, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if opts == nil {
		opts = &Options{}
	}
	runs := [][]Limit{s.Limits}
	if !s.Together {
		runs = runs[:0]
		for i := range s.Limits {
			runs = append(runs, s.Limits[i:i+1])
		}
	}
	var results []*Result
	for _, limits := range runs {
		r, err := run(ctx, s, limits, opts)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

func run(ctx context.Context, s *Scenario, limits []Limit, opts *Options) (r *Result, err error) {
	w, err := newWorld(s, limits, opts)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := w.close(); err == nil && closed != nil {
			r, err = nil, closed
		}
	}()
	if err := w.run(ctx); err != nil {
		return nil, err
	}
	return w.result(), nil
}
