package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/sim/scenario"
)

// simCommand is the command line of weir sim.
type simCommand struct {
	Scenario string         `arg:"" optional:"" help:"The scenario: the name of a built-in one, a file, or - for standard input."`
	List     bool           `help:"List the built-in scenarios with what each shows, and run none."`
	Print    bool           `help:"Print the scenario as it would be run, and run none: to start one of your own from."`
	Limit    []string       `sep:"none" placeholder:"SPEC" help:"A limit in place of those of the scenario; give the flag once for each limit to compare."`
	Seed     *uint64        `placeholder:"N" help:"The seed, in place of that of the scenario."`
	Duration *time.Duration `placeholder:"D" help:"How long requests come, in place of what the scenario says."`
	Seeds    *int           `placeholder:"N" help:"Explore: run with so many seeds until one fails. Without a scenario each seed makes one up."`
	Replay   string         `placeholder:"FILE" help:"Run a saved scenario: the same as naming it, but never a built-in one."`
	Shrink   bool           `help:"Look for the smallest part of a scenario that still fails, and save it."`
	Out      string         `placeholder:"FILE" help:"Where --seeds and --shrink save a scenario (default beside the scenario)."`
	Store    string         `default:"memory://" placeholder:"URL" help:"Run it in memory and on this server, see above, and compare all events."`
	Trace    string         `placeholder:"FILE" help:"Write every event in fixed columns; - is standard output, and then the report goes to standard error."`
	JSON     string         `name:"json" placeholder:"FILE" help:"Write the results as JSON; - is standard output, instead of the text."`
	HTML     string         `name:"html" placeholder:"FILE" help:"Write a report with pictures as one HTML file."`
	Plot     string         `placeholder:"FILE" help:"Draw the results into a file that ends in .png or .svg."`
}

const (
	// maxSimLimits is the most limits that a scenario may have.
	maxSimLimits = 16
	maxSeeds     = 1_000_000_000
)

// Help is the long help, before the flags.
func (simCommand) Help() string {
	return `A scenario says who asks, how often, through which network, and what goes wrong. It is
run in a world of its own with its own time. The same scenario gives the same bytes each time.

SPEC is one of
  gcra:L/P[,burst=N]           token-bucket:L/P[,burst=N]   leaky-bucket:L/P[,capacity=N]
  fixed-window:L/P             sliding-log:L/P              sliding-counter:L/P

` + urlHelp + `
What is written on a server begins with weir-sim: and something random, and is removed.

Exit status: 0 done and all is well, 1 a rule was violated, an expectation was missed, a
server differs from memory, or something failed, 2 wrong usage, 130 interrupted.

Examples: weir sim --list
          weir sim flash-crowd --limit gcra:100/1s --limit sliding-log:100/1s
          weir sim --seeds 1000
`
}

// simUses are the flags that each use of the command takes. The use is the first of
// them that was asked for.
var simUses = []struct {
	flag  string // "" is to run one scenario
	takes string
}{
	{"--list", "--list"},
	{"--print", "--print SCENARIO --replay --limit --seed --duration"},
	{"--shrink", "--shrink SCENARIO --replay --limit --seed --duration --out"},
	{"--seeds", "--seeds SCENARIO --replay --limit --seed --duration --out --store --json"},
	{"", "SCENARIO --replay --limit --seed --duration --store --trace --json --html --plot"},
}

// given returns the flags that the command line holds.
func (c *simCommand) given() (all []string) {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"SCENARIO", c.Scenario != ""},
		{"--list", c.List},
		{"--print", c.Print},
		{"--limit", len(c.Limit) > 0},
		{"--seed", c.Seed != nil},
		{"--duration", c.Duration != nil},
		{"--seeds", c.Seeds != nil},
		{"--replay", c.Replay != ""},
		{"--shrink", c.Shrink},
		{"--out", c.Out != ""},
		{"--store", c.Store != memoryURL},
		{"--trace", c.Trace != ""},
		{"--json", c.JSON != ""},
		{"--html", c.HTML != ""},
		{"--plot", c.Plot != ""},
	} {
		if f.given {
			all = append(all, f.name)
		}
	}
	return all
}

// use returns the flag that says what to do, and refuses those that do not go with it.
func (c *simCommand) use() (string, error) {
	given := c.given()
	for _, u := range simUses {
		if u.flag != "" && !slices.Contains(given, u.flag) {
			continue
		}
		takes := strings.Fields(u.takes)
		for _, flag := range given {
			switch {
			case slices.Contains(takes, flag):
			case u.flag != "":
				return "", usageError{fmt.Errorf("%s does not go with %s: must be left out", flag, u.flag)}
			default:
				return "", usageError{fmt.Errorf("%s is for --seeds and --shrink: must be left out", flag)}
			}
		}
		return u.flag, c.check(u.flag)
	}
	panic("the last use is always asked for")
}

// check refuses values, and scenarios that are missing or too many.
func (c *simCommand) check(use string) error {
	switch n := len(c.Limit); {
	case c.Scenario != "" && c.Replay != "":
		return usageError{fmt.Errorf("--replay: %q is a second scenario beside %q: must be one of them", c.Replay, c.Scenario)}
	case c.Scenario == "" && c.Replay == "" && use != "--list" && use != "--seeds":
		return usageError{errors.New("the scenario is missing: must be a name that --list shows, a file, or - for standard input")}
	case n > maxSimLimits:
		return usageError{fmt.Errorf("--limit was given %d times: must be up to %d", n, maxSimLimits)}
	case c.Seeds != nil && (*c.Seeds < 1 || *c.Seeds > maxSeeds):
		return usageError{fmt.Errorf("--seeds: %d is not allowed: must be 1 to %d", *c.Seeds, maxSeeds)}
	case c.Out == "-":
		return usageError{fmt.Errorf("--out: %q is not allowed: must be a file", c.Out)}
	case c.Plot != "" && !strings.HasSuffix(c.Plot, ".png") && !strings.HasSuffix(c.Plot, ".svg"):
		return usageError{fmt.Errorf("--plot: %q is not allowed: must end in .png or .svg", c.Plot)}
	}
	return apart(c.simOutputs()...)
}

// simOutputs are the files that the command writes: pairs of a flag and a name.
func (c *simCommand) simOutputs() [][2]string {
	return [][2]string{{"--trace", c.Trace}, {"--json", c.JSON}, {"--html", c.HTML}, {"--plot", c.Plot}, {"--out", c.Out}}
}

// Run does what was asked for.
func (c *simCommand) Run(ctx context.Context, s *streams) error {
	use, err := c.use()
	if err != nil {
		return err
	}
	if use == "--list" {
		return writeScenarios(s.out)
	}
	where, err := parseStoreURL(c.Store)
	if err != nil {
		return err
	}
	source, err := c.source(ctx, s)
	if err != nil {
		return err
	}
	switch use {
	case "--print":
		return c.print(s.out, source)
	case "--shrink":
		return c.shrink(ctx, s, source)
	case "--seeds":
		return c.explore(ctx, s, source, where)
	}
	return c.once(ctx, s, source, where)
}

// writeScenarios lists the built-in scenarios.
func writeScenarios(w io.Writer) error {
	rows := [][]string{{"scenario", "what it shows"}}
	for _, b := range scenario.List() {
		rows = append(rows, []string{b.Name, b.About})
	}
	var text strings.Builder
	writeTable(&text, rows, 2)
	if err := writeSimText(w, text.String()); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// once runs a scenario and writes what was asked for.
func (c *simCommand) once(ctx context.Context, s *streams, source *simSource, where *place) (err error) {
	world, err := openSimWorld(ctx, where)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, world.Close()) }()
	// Now, so that no long run is for nothing.
	files := map[string]*output{}
	for _, o := range c.simOutputs() {
		file, err := create(o[1], s)
		if err != nil {
			return fmt.Errorf("%s: %w", o[0], err)
		}
		defer file.Close()
		files[o[0]] = file
	}
	shown := world.meter.show(s.err)
	defer shown.end()
	r, err := world.run(ctx, source, files["--trace"])
	if err != nil {
		return err
	}
	shown.end()
	if err := files["--trace"].Close(); err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	r.rerun = source.rerun()
	if where.server {
		r.onServer = " --store " + shellWord(where.shown)
	}
	if err := c.draw(r, files["--html"]); err != nil {
		return err
	}
	text, json := s.out, c.JSON
	if c.Trace == "-" {
		text = s.err
	}
	if c.HTML == "-" {
		text = io.Discard
	}
	if err := writeReport(r, files["--json"], json, text); err != nil {
		return err
	}
	return r.verdict()
}

// draw writes the pictures.
func (c *simCommand) draw(r *simReport, html *output) error {
	ran := report.SimRun{Store: r.Store, Differs: len(r.Differs), Command: r.rerun + r.onServer}
	if err := writeHTML(html, func(w io.Writer) error { return report.SimHTML(w, r.Results, ran) }); err != nil {
		return err
	}
	if c.Plot != "" {
		if err := report.SimPlot(c.Plot, r.Results); err != nil {
			return fmt.Errorf("--plot: %w", err)
		}
	}
	return nil
}
