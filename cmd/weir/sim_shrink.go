package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/sim"
	simresult "github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
)

// shrink looks for the smallest part of a scenario that fails as the whole does, and
// saves it.
func (c *simCommand) shrink(ctx context.Context, s *streams, source *simSource) error {
	name := c.Out
	if name == "" {
		name = source.beside(".shrunk")
	}
	opts := &sim.Options{Files: source.files, Traces: source.traces(ctx)}
	results, err := sim.Run(ctx, source.scenario, opts)
	if err != nil {
		return source.located(err)
	}
	failed := report.Failed(results)
	if failed == nil {
		return answerError{fmt.Errorf("%s: nothing to shrink: no rule was violated and no expectation missed", source.scenario.Name)}
	}
	var tried, kept atomic.Int64
	shown := startProgress(s.err, func() string { return fmt.Sprintf("shrinking: %d tried, %d smaller", tried.Load(), kept.Load()) })
	defer shown.end()
	still := failsLike(ctx, failed, opts)
	small := scenario.Shrink(source.scenario, func(s *scenario.Scenario) bool {
		tried.Add(1)
		fails := still(s)
		if fails {
			kept.Add(1)
		}
		return fails
	})
	shown.end()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := source.save(small, name); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if results, err = sim.Run(ctx, small, opts); err != nil {
		return err
	}
	done := &report.Shrunk{Before: source.scenario, After: small, Failed: failed, Fails: report.Failed(results), Tries: tried.Load(),
		Saved: name, Command: simLine(wordsFor(name)...)}
	return outputs{}.finishReport(done.Document(), false, nil, s.out)
}

// failsLike returns whether a scenario violates the same rule, or misses the same
// expectation, as a result does.
func failsLike(ctx context.Context, failed *simresult.Result, opts *sim.Options) func(*scenario.Scenario) bool {
	if failed.Failure != nil {
		return sim.Violates(ctx, failed.Failure.Rule, opts)
	}
	want := report.Missed(failed)
	ofRun := len(failed.Limits) > 1 && want.Limit == failed.Limit // which may have fewer limits now
	return func(s *scenario.Scenario) bool {
		results, err := sim.Run(ctx, s, opts)
		if err != nil {
			return false // it is no scenario, or there is no more time
		}
		for _, one := range results {
			for i := range one.Expected {
				e := &one.Expected[i]
				if !e.Met && (ofRun || e.Limit == want.Limit) && e.Metric == want.Metric && report.Bounds(e) == report.Bounds(want) {
					return true
				}
			}
		}
		return false
	}
}
