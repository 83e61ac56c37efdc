package main

import (
	"context"
	"errors"
	"fmt"
	"github.com/schollz/progressbar/v3"
	"io"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/weirgo/weir/cmd/weir/internal/report"
	simresult "github.com/weirgo/weir/sim/result"
)

// exploration is what came of many seeds.
type exploration struct {
	Store     string           `json:"store"`
	FirstSeed uint64           `json:"first_seed"`
	Wanted    int              `json:"seeds"` // that were asked for
	Explored  int              `json:"explored"`
	Runs      int64            `json:"runs"`
	Attempts  int64            `json:"attempts"`
	Events    int64            `json:"events"`
	Goals     []simresult.Goal `json:"goals"` // sums
	// Failed is the first scenario that failed, and Saved the file that holds it.
	Failed *simReport `json:"failed,omitempty"`
	Saved  string     `json:"saved,omitempty"`

	dropped int // expectations that --limit left out
}

// explore runs the scenarios of many seeds until one fails, and saves that one.
func (c *simCommand) explore(ctx context.Context, s *streams, source *simSource, where *place) (err error) {
	world, err := openSimWorld(ctx, where)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, world.Close()) }()
	summary, err := create(c.JSON, s)
	if err != nil {
		return fmt.Errorf("--json: %w", err)
	}
	defer summary.Close()

	x := &exploration{Store: where.shown, FirstSeed: source.firstSeed(), Wanted: *c.Seeds, dropped: source.dropped}
	var done atomic.Int64
	shown := startProgress(s.err, int64(x.Wanted), func(bar *progressbar.ProgressBar) { _ = bar.Set64(done.Load()) },
		progressbar.OptionSetDescription("exploring"), progressbar.OptionShowCount())
	defer shown.end()
	for x.Explored < x.Wanted && x.Failed == nil {
		if err := x.one(ctx, source, world); err != nil {
			return err
		}
		done.Store(int64(x.Explored))
	}
	shown.end()
	if x.Failed == nil {
		return writeReport(x, summary, c.JSON, s.out)
	}
	x.Saved = c.Out
	if x.Saved == "" {
		x.Saved = source.beside("-" + strconv.FormatUint(x.Failed.Seed, 10))
	}
	if err := source.save(x.Failed.scenario, x.Saved); err != nil {
		return errors.Join(x.Failed.verdict(), fmt.Errorf("seed %d: --out: %w", x.Failed.Seed, err))
	}
	x.Failed.rerun = simCommandLine(wordsFor(x.Saved)...)
	if where.server {
		x.Failed.onServer = " --store " + shellWord(where.shown)
	}
	if err := writeReport(x, summary, c.JSON, s.out); err != nil {
		return err
	}
	return x.Failed.verdict()
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

// one explores the next seed.
func (x *exploration) one(ctx context.Context, source *simSource, world *simWorld) error {
	seed := x.FirstSeed + uint64(x.Explored)
	seeded := *source
	var err error
	if seeded.scenario, err = source.seeded(seed); err != nil {
		return err
	}
	r, err := world.run(ctx, &seeded, nil)
	if errors.Is(err, context.Canceled) {
		return err
	}
	if err != nil {
		return fmt.Errorf("seed %d: %w", seed, err)
	}
	x.Explored++
	for _, one := range r.Results {
		x.Runs++
		x.Attempts += one.Totals.Attempts
		x.Events += one.Events
		if x.Goals == nil {
			x.Goals = make([]simresult.Goal, len(one.Goals))
		}
		for i, g := range one.Goals {
			x.Goals[i] = simresult.Goal{Name: g.Name, Count: x.Goals[i].Count + g.Count}
		}
	}
	if r.verdict() != nil {
		x.Failed = r
	}
	return nil
}

// WriteJSON writes the report for programs.
func (x *exploration) WriteJSON(w io.Writer) error { return report.WriteJSON(w, x) }

// WriteText writes the report for a terminal.
func (x *exploration) WriteText(w io.Writer) error {
	var b strings.Builder
	last := x.FirstSeed + uint64(x.Explored-1)
	writeLine(&b, "explored", "%s of %s, %d to %d, on %s", report.Digits(int64(x.Explored)), report.Count(int64(x.Wanted), "seed"), x.FirstSeed, last, x.Store)
	writeLine(&b, "runs", "%s, %s attempts, %s events", report.Digits(x.Runs), report.Digits(x.Attempts), report.Digits(x.Events))
	if x.Failed != nil {
		writeLine(&b, "failed", "seed %d, saved in %s", x.Failed.Seed, x.Saved)
	}
	if x.dropped > 0 {
		writeLine(&b, "expected", "%s left out with --limit", report.Digits(int64(x.dropped)))
	}
	rows := [][]string{{"corner", "seen"}}
	for _, g := range x.Goals {
		rows = append(rows, []string{g.Name, report.Digits(g.Count)})
	}
	b.WriteByte('\n')
	writeTable(&b, rows, 1)
	if x.Failed == nil {
		b.WriteString("\nAll is well: no rule was violated, no expectation missed.\n")
		return writeSimText(w, b.String())
	}
	b.WriteByte('\n')
	if err := errors.Join(writeSimText(w, b.String()), x.Failed.WriteText(w)); err != nil {
		return err
	}
	var saved strings.Builder
	writeLine(&saved, "saved", "%s", x.Saved)
	return writeSimText(w, saved.String())
}
