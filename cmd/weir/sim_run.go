package main

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"

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
	var memory eventLog
	want, err := w.runIn(ctx, source, nil, memory.add)
	if err != nil {
		return nil, err
	}
	met := comparer{want: &memory}
	write := traceTo(trace)
	if r.Results, err = w.runIn(ctx, source, w.server, func(e *simresult.Event) error {
		met.add(e)
		return write(e)
	}); err != nil {
		return nil, err
	}
	for i, one := range r.Results {
		if one.Digest == want[i].Digest {
			continue
		}
		d := report.Difference{Limit: one.Limit, Memory: want[i].Digest, Server: one.Digest}
		if err := w.explain(ctx, source, i, &met, &d); err != nil {
			return nil, err
		}
		r.Differs = append(r.Differs, d)
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

// eventLog remembers the events of runs, eight bytes for each.
type eventLog struct {
	runs [][]uint64
}

// eventSeed is for hashes of events: two events are one where they are equal.
var eventSeed = maphash.MakeSeed()

func (l *eventLog) add(e *simresult.Event) error {
	if e.Number == 1 {
		l.runs = append(l.runs, nil)
	}
	last := len(l.runs) - 1
	l.runs[last] = append(l.runs[last], maphash.Comparable(eventSeed, *e))
	return nil
}

// comparer finds the first event of each run that is not the one remembered.
type comparer struct {
	want   *eventLog
	counts []int64
	first  []string // "" where there is none
}

func (c *comparer) add(e *simresult.Event) {
	if e.Number == 1 {
		c.counts, c.first = append(c.counts, 0), append(c.first, "")
	}
	run := len(c.counts) - 1
	if c.first[run] != "" {
		return
	}
	c.counts[run]++
	if run < len(c.want.runs) {
		if events := c.want.runs[run]; e.Number <= int64(len(events)) && events[e.Number-1] == maphash.Comparable(eventSeed, *e) {
			return
		}
	}
	c.first[run] = e.String()
}

// noEvent stands for an event that there is none of, since the run has ended.
const noEvent = "(no event)"

// errEnough ends a run at the event that was looked for.
var errEnough = errors.New("enough")

// explain finds the first event of a run that differs, by running it in memory again.
func (w *simWorld) explain(ctx context.Context, source *simSource, run int, met *comparer, d *report.Difference) error {
	d.Event, d.Columns, d.ServerEvent, d.MemoryEvent = 1, simresult.EventColumns, noEvent, noEvent
	if run < len(met.counts) {
		d.Event = met.counts[run]
		if d.ServerEvent = met.first[run]; d.ServerEvent == "" {
			d.ServerEvent = noEvent
			d.Event++
		}
	}
	now := -1
	_, err := w.runIn(ctx, source, nil, func(e *simresult.Event) error {
		if e.Number == 1 {
			now++
		}
		if now < run || e.Number < d.Event {
			return nil
		}
		if now == run && e.Number == d.Event {
			d.MemoryEvent = e.String()
		}
		return errEnough
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}
