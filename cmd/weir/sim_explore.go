package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/weirgo/weir/cmd/weir/internal/report"
)

// explore runs the scenarios of many seeds until one fails, and saves that one.
func (c *simCommand) explore(ctx context.Context, s *streams, source *simSource, on *endpoint) (err error) {
	world, err := openSimWorld(ctx, on)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, world.Close()) }()
	flags := []outputFlag{{"--json", c.JSON}}
	files, err := openOutputs(s, flags)
	if err != nil {
		return err
	}
	defer files.abandon()

	x := &report.Exploration{Store: on.shown, FirstSeed: source.firstSeed(), Wanted: *c.Seeds, Dropped: source.dropped}
	var done atomic.Int64
	shown := startProgress(s.err, func() string { return fmt.Sprintf("exploring: %d of %d seeds", done.Load(), x.Wanted) })
	defer shown.end()
	for x.Explored < x.Wanted && x.Failed == nil {
		if err := exploreNext(ctx, x, source, world); err != nil {
			return err
		}
		done.Store(int64(x.Explored))
	}
	shown.end()
	if x.Failed == nil {
		return files.finishReport(x.Document(), c.Verbose, x, textOutput(s, flags))
	}
	x.Saved = c.Out
	if x.Saved == "" {
		x.Saved = source.beside("-" + strconv.FormatUint(x.Failed.Seed, 10))
	}
	if err := source.save(x.Failed.Ran, x.Saved); err != nil {
		return errors.Join(verdict(x.Failed), fmt.Errorf("seed %d: --out: %w", x.Failed.Seed, err))
	}
	x.Failed.Rerun, x.Failed.OnServer = simLine(wordsFor(x.Saved)...), on.flag()
	if err := files.finishReport(x.Document(), c.Verbose, x, textOutput(s, flags)); err != nil {
		return err
	}
	return verdict(x.Failed)
}

// firstSeed is the one that was given, or that of the scenario, or 1.
func (src *simSource) firstSeed() uint64 {
	switch {
	case src.flags.Seed != nil:
		return *src.flags.Seed
	case src.scenario != nil:
		return src.scenario.Seed
	}
	return 1
}

// exploreNext explores the next seed.
func exploreNext(ctx context.Context, x *report.Exploration, source *simSource, world *simWorld) error {
	seed := x.FirstSeed + uint64(x.Explored)
	scenario, err := source.seeded(seed)
	if err != nil {
		return err
	}
	one := *source
	one.scenario = scenario
	r, err := world.run(ctx, &one, nil)
	if errors.Is(err, context.Canceled) {
		return err
	}
	if err != nil {
		return fmt.Errorf("seed %d: %w", seed, err)
	}
	x.Add(r)
	return nil
}
