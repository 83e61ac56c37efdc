package main

import (
	"context"
	"fmt"
	"iter"

	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/sim"
	simresult "github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/store"
)

// simWorld runs scenarios in memory, and also on a server where one was named.
type simWorld struct {
	server   simStores // nil without one
	shown    string    // the store URL
	progress simProgress
}

// simStores makes stores on a server, and removes in the end what they have written.
type simStores interface {
	// openSim is sim.Options.NewStore. An error of a store that it made ends the run
	// through fail.
	openSim(clock store.Clock, fail context.CancelCauseFunc) (store.Store, error)
	Close() error
}

// openSimWorld connects with the server, if there is one.
func openSimWorld(ctx context.Context, on *endpoint) (*simWorld, error) {
	w := &simWorld{shown: on.shown}
	if !on.server {
		return w, nil
	}
	made, err := openScratch(ctx, on, randomPrefix("weir-sim:"), 1, true)
	if err != nil {
		return nil, err
	}
	server, err := newServerSubject(made, &about{})
	if err != nil {
		return nil, err
	}
	w.server = server
	return w, nil
}

// Close removes what was written to the server. Its error says what was left there.
func (w *simWorld) Close() error {
	if w.server == nil {
		return nil
	}
	return w.server.Close()
}

// run runs a scenario. Events go to trace where that is wanted: those of the server
// where there is one.
func (w *simWorld) run(ctx context.Context, source *simSource, trace *output) (*report.Simulation, error) {
	r := &report.Simulation{Scenario: source.scenario.Name, Seed: source.scenario.Seed, Store: w.shown, Ran: source.scenario, Dropped: source.dropped}
	if w.server == nil {
		var err error
		r.Results, err = w.runIn(ctx, source, nil, traceTo(trace))
		return r, err
	}
	var want []*simresult.Result
	var failed error
	next, stop := iter.Pull(func(yield func(simresult.Event) bool) {
		want, failed = w.runIn(ctx, source, nil, func(e *simresult.Event) error {
			if !yield(*e) {
				return context.Canceled
			}
			return nil
		})
	})
	defer stop()
	both := newLockstep(next)
	write := traceTo(trace)
	var err error
	if r.Results, err = w.runIn(ctx, source, w.server, func(e *simresult.Event) error {
		both.add(e)
		return write(e)
	}); err != nil {
		return nil, err
	}
	if both.finish(); failed != nil {
		return nil, failed
	}
	for i, one := range r.Results {
		if one.Digest != want[i].Digest {
			d := both.runs[i]
			d.Limit, d.Memory, d.Server, d.Columns = one.Limit, want[i].Digest, one.Digest, simresult.EventColumns
			r.Differs = append(r.Differs, d)
		}
	}
	return r, nil
}

// runIn runs a scenario in memory, or on a server. An error of each ends the run.
func (w *simWorld) runIn(ctx context.Context, source *simSource, on simStores, each func(*simresult.Event) error) ([]*simresult.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	opts := &sim.Options{Progress: w.progress.set, Files: source.files, Traces: source.traces(ctx)}
	if on != nil {
		opts.NewStore = func(clock store.Clock) (store.Store, error) { return on.openSim(clock, cancel) }
	}
	if each != nil {
		opts.Trace = func(e *simresult.Event) {
			if err := each(e); err != nil {
				cancel(err)
			}
		}
	}
	results, err := sim.Run(ctx, source.scenario, opts)
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause // also where it came with the last event
	}
	return results, source.located(err)
}

// traceTo returns what writes events in fixed columns, with a heading over each run.
func traceTo(out *output) func(*simresult.Event) error {
	if out == nil || !out.wanted() {
		return func(*simresult.Event) error { return nil }
	}
	return func(e *simresult.Event) error {
		if e.Number == 1 {
			if _, err := fmt.Fprintln(out, simresult.EventColumns); err != nil {
				return fmt.Errorf("--trace: %w", err)
			}
		}
		if _, err := fmt.Fprintln(out, report.Visible(e.String())); err != nil {
			return fmt.Errorf("--trace: %w", err)
		}
		return nil
	}
}

// lockstep finds the first event of each run on a server that differs from the event of the same
// run in memory, which goes on beside it, event by event.
type lockstep struct {
	next   func() (simresult.Event, bool)
	memory simresult.Event // that is to be compared; its Number is 0 behind the last
	runs   []report.Difference
}

// noEvent is shown in place of an event where a run has ended.
const noEvent = "(no event)"

func newLockstep(next func() (simresult.Event, bool)) *lockstep {
	l := &lockstep{next: next}
	l.advance()
	return l
}

func (l *lockstep) advance() { l.memory, _ = l.next() }

// add compares the next event of the server.
func (l *lockstep) add(e *simresult.Event) {
	if e.Number == 1 {
		l.endRun()
		l.runs = append(l.runs, report.Difference{})
	}
	d := &l.runs[len(l.runs)-1]
	switch ended := l.memory.Number != e.Number; {
	case d.Event > 0: // known
	case ended:
		*d = report.Difference{Event: e.Number, MemoryEvent: noEvent, ServerEvent: e.String()}
	default:
		if l.memory != *e {
			*d = report.Difference{Event: e.Number, MemoryEvent: l.memory.String(), ServerEvent: e.String()}
		}
		l.advance()
	}
}

// endRun passes over what is left of a run in memory.
func (l *lockstep) endRun() {
	for ; l.memory.Number > 1; l.advance() {
		if d := &l.runs[len(l.runs)-1]; d.Event == 0 {
			*d = report.Difference{Event: l.memory.Number, MemoryEvent: l.memory.String(), ServerEvent: noEvent}
		}
	}
}

// finish ends the last run in memory, and with it all of them.
func (l *lockstep) finish() {
	l.endRun()
	for l.memory.Number > 0 {
		l.advance()
	}
}
