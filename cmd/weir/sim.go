package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirgo/weir/cmd/weir/internal/report"
)

// simCommand is the command line of weir sim.
type simCommand struct {
	Scenario string         `arg:"optional" help:"The scenario: the name of a built-in one, a file, or - for standard input."`
	List     bool           `help:"List the built-in scenarios with what each shows, and run none."`
	Print    bool           `help:"Print the scenario as it would be run, and run none: to start one of your own from."`
	Limit    []string       `placeholder:"SPEC" help:"A limit in place of those of the scenario; give the flag once for each limit to compare."`
	Policy   string         `placeholder:"FILE" help:"A policy in place of the limits of the scenario, or - for standard input."`
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
	verboseFlag
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

` + specHelp() + `
` + urlHelp + `
What is written on a server begins with weir-sim: and something random, and is removed.

Exit status: 0 done and all is well, 1 a rule was violated, an expectation was missed or a
server differs from memory, 2 wrong usage or a scenario that cannot be read, 3 something
outside failed, such as a server, 130 interrupted.

Examples: weir sim --list
          weir sim flash-crowd --limit gcra:100/1s --limit sliding-log:100/1s
          weir sim flash-crowd --policy policy.yaml
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
	{"--print", "--print SCENARIO --replay --limit --policy --seed --duration"},
	{"--shrink", "--shrink SCENARIO --replay --limit --policy --seed --duration --out"},
	{"--seeds", "--seeds SCENARIO --replay --limit --policy --seed --duration --out --store --json --verbose"},
	{"", "SCENARIO --replay --limit --policy --seed --duration --store --trace --json --html --plot --verbose"},
}

// use returns the flag that says what to do, and refuses those that do not go with it.
func (c *simCommand) use(s *streams) (string, error) {
	for _, u := range simUses {
		if u.flag != "" && !slices.ContainsFunc(s.given, func(o *option) bool { return o.flag() == u.flag }) {
			continue
		}
		return u.flag, cmp.Or(s.refuse(u.takes, func(flag string) error {
			if u.flag == "" {
				return fmt.Errorf("%s is for --seeds and --shrink: must be left out", flag)
			}
			return fmt.Errorf("%s does not go with %s: must be left out", flag, u.flag)
		}), c.check(u.flag))
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
	case n > 0 && c.Policy != "":
		return usageError{errors.New("--limit does not go with --policy: must be one of them")}
	case c.Policy == "-" && (c.Scenario == "-" || c.Replay == "-"):
		return usageError{errors.New("- was given more than once: standard input can be read once")}
	case n > maxSimLimits:
		return usageError{fmt.Errorf("--limit was given %d times: must be up to %d", n, maxSimLimits)}
	case c.Seeds != nil && (*c.Seeds < 1 || *c.Seeds > maxSeeds):
		return usageError{fmt.Errorf("--seeds: %d is not allowed: must be 1 to %d", *c.Seeds, maxSeeds)}
	case c.Out == "-":
		return usageError{fmt.Errorf("--out: %q is not allowed: must be a file", c.Out)}
	}
	return cmp.Or(checkPlot(c.Plot), checkApart(c.outputFlags()))
}

// outputFlags are the files that the command writes.
func (c *simCommand) outputFlags() []outputFlag {
	return []outputFlag{{"--trace", c.Trace}, {"--json", c.JSON}, {"--html", c.HTML}, {"--plot", c.Plot}, {"--out", c.Out}}
}

// Run does what was asked for.
func (c *simCommand) Run(ctx context.Context, s *streams) error {
	use, err := c.use(s)
	if err != nil {
		return err
	}
	if use == "--list" {
		return outputs{}.finishReport(report.Scenarios(), false, nil, s.out)
	}
	on, err := parseStoreURL(c.Store)
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
		return c.explore(ctx, s, source, on)
	}
	return c.once(ctx, s, source, on)
}

// once runs a scenario and writes what was asked for.
func (c *simCommand) once(ctx context.Context, s *streams, source *simSource, on *endpoint) (err error) {
	world, err := openSimWorld(ctx, on)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, world.Close()) }()
	files, err := openOutputs(s, c.outputFlags())
	if err != nil {
		return err
	}
	defer files.abandon()
	shown := world.progress.show(s.err)
	defer shown.end()
	r, err := world.run(ctx, source, files["--trace"])
	if err != nil {
		return err
	}
	shown.end()
	if err := files.finish("--trace", nil); err != nil {
		return err
	}
	r.Rerun, r.OnServer = source.rerun(), on.flag()
	if err := files.finishPlot(c.Plot, r.Plot); err != nil {
		return err
	}
	if err := files.finishReport(r.Document(), c.Verbose, r, textOutput(s, c.outputFlags())); err != nil {
		return err
	}
	return verdict(r)
}

// verdict is the error that the command ends with; nil where all is well.
func verdict(r *report.Simulation) error {
	if wrong := r.Wrong(); wrong != nil {
		return answerError{errors.New(r.Scenario + ": " + strings.Join(wrong, ", "))}
	}
	return nil
}
