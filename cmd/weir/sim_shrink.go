package main

import (
	"context"
	"fmt"
	"github.com/schollz/progressbar/v3"
	"strconv"
	"strings"
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
	failed := firstFailed(results)
	if failed == nil {
		return fmt.Errorf("%s: nothing to shrink: no rule was violated and no expectation missed", source.scenario.Name)
	}
	var tried, kept atomic.Int64
	shown := startProgress(s.err, -1, func(bar *progressbar.ProgressBar) {
		bar.Describe(fmt.Sprintf("shrinking: %d tried, %d smaller", tried.Load(), kept.Load()))
		_ = bar.RenderBlank()
	})
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
	var b strings.Builder
	rows := [][]string{
		{"", "length", "limits", "nodes", "traffics", "faults", "events"},
		sizeRow("before", source.scenario, failed), sizeRow("after", small, firstFailed(results)),
	}
	writeLine(&b, "shrunk", "%s, in %d tries", source.scenario.Name, tried.Load())
	writeTable(&b, rows, 1)
	writeFailure(&b, firstFailed(results))
	fmt.Fprintf(&b, "\nsaved     %s\nreplay    %s\n", name, simCommandLine(wordsFor(name)...))
	if err := writeSimText(s.out, b.String()); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// failsLike returns whether a scenario violates the same rule, or misses the same
// expectation, as a result does.
func failsLike(ctx context.Context, failed *simresult.Result, opts *sim.Options) func(*scenario.Scenario) bool {
	if failed.Failure != nil {
		return sim.Violates(ctx, failed.Failure.Rule, opts)
	}
	want := missed(failed)
	ofRun := len(failed.Limits) > 1 && want.Limit == failed.Limit // which may have fewer limits now
	return func(s *scenario.Scenario) bool {
		results, err := sim.Run(ctx, s, opts)
		if err != nil {
			return false // it is no scenario, or there is no more time
		}
		for _, one := range results {
			for i := range one.Expected {
				e := &one.Expected[i]
				if !e.Met && (ofRun || e.Limit == want.Limit) && e.Metric == want.Metric && bounds(e) == bounds(want) {
					return true
				}
			}
		}
		return false
	}
}

func sizeRow(name string, s *scenario.Scenario, one *simresult.Result) []string {
	return []string{name, span(s.Duration.Microseconds()), strconv.Itoa(len(s.Limits)), report.Digits(max(1, s.Nodes.Count)),
		strconv.Itoa(len(s.Traffic)), strconv.Itoa(len(s.Faults)), report.Digits(one.Events)}
}
