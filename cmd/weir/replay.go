package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/cmd/weir/internal/trace"
	"github.com/weirgo/weir/store"
)

// traceCommand is what the command lines of weir replay and weir compare share.
type traceCommand struct {
	traceFlags
	Limit  []string `placeholder:"SPEC" help:"The limit, such as gcra:100/1m,burst=20; to compare limits give the flag once for each."`
	Policy []string `placeholder:"FILE" help:"A policy in place of a limit; to compare two give the flag twice."`
	Attr   []string `placeholder:"NAME=FIELD" help:"With --policy: the field of a line that is an attribute of the request, such as user=user; method, path and ip are known for an access log, and host is the host of the request. Give the flag once for each."`
	JSON   string   `name:"json" placeholder:"FILE" help:"Write the report as JSON; - is standard output, instead of the text."`
	HTML   string   `name:"html" placeholder:"FILE" help:"Write the report with pictures as one HTML file; - is standard output, instead of the text."`
	verboseFlag
}

// replayCommand is the command line of weir replay.
type replayCommand struct {
	traceCommand
	settleFlags
	Decisions string `placeholder:"FILE" help:"Write one JSON line for each decision; - is standard output, and then the report goes to standard error."`
}

// Help is the long help, before the flags.
func (replayCommand) Help() string {
	return traceHelp + "\nExamples: weir replay --limit gcra:100/1m,burst=20 access.log\n          weir replay --policy policy.yaml --attr user=user access.log"
}

// Run decides the trace and writes what was asked for.
func (c *replayCommand) Run(ctx context.Context, s *streams) error {
	if err := c.limited(); err != nil {
		return err
	}
	if err := c.settleFlags.check(len(c.Policy)); err != nil {
		return err
	}
	c.settle = c.settleFlags
	if n := len(c.Policy); n > 1 {
		return usageError{fmt.Errorf("--policy was given %d times: must be once; weir compare takes two", n)}
	} else if n == 1 {
		return c.replayPolicies(ctx, s)
	}
	if len(c.Limit) != 1 {
		return usageError{fmt.Errorf("--limit was given %d times: must be once; weir compare takes several", len(c.Limit))}
	}
	return c.run(ctx, s, "replay", c.Decisions)
}

// compareCommand is the command line of weir compare.
type compareCommand struct{ traceCommand }

// maxLimits is the most limits that fit beside each other.
const maxLimits = 9

// Help is the long help, before the flags.
func (compareCommand) Help() string {
	return traceHelp + "\nExamples: weir compare --limit gcra:100/1m,burst=20 --limit sliding-log:100/1m access.log\n          weir compare --policy old.yaml --policy new.yaml --attr user=user access.log"
}

// Run decides the trace once for each limit, each as if it were alone.
func (c *compareCommand) Run(ctx context.Context, s *streams) error {
	if err := c.limited(); err != nil {
		return err
	}
	if n := len(c.Policy); n > 0 && n != 2 {
		return usageError{fmt.Errorf("--policy was given %d times: must be twice", n)}
	} else if n == 2 {
		return c.replayPolicies(ctx, s)
	}
	if n := len(c.Limit); n < 2 || n > maxLimits {
		return usageError{fmt.Errorf("--limit was given %d times: must be 2 to %d", n, maxLimits)}
	}
	return c.run(ctx, s, "compare", "")
}

// limited refuses a command line without a limit, and attributes that nothing asks for.
func (c *traceCommand) limited() error {
	switch {
	case len(c.Limit) == 0 && len(c.Policy) == 0:
		return usageError{errors.New("--limit=SPEC is missing, or --policy=FILE")}
	case len(c.Policy) == 0 && len(c.Attr) > 0:
		return usageError{errors.New("--attr is for --policy: must be left out")}
	}
	return nil
}

func (c *traceCommand) run(ctx context.Context, s *streams, command, decisions string) (err error) {
	limits := make([]store.Slot, len(c.Limit)) // named, so that the states of two of one kind do not meet
	for i, spec := range c.Limit {
		limits[i].Limit = strconv.Itoa(i)
		if limits[i].Algorithm, err = algorithm.ParseSpec(spec); err != nil {
			return usageError{fmt.Errorf("--limit: %w", err)}
		}
	}
	flags := []outputFlag{{"--decisions", decisions}, {"--json", c.JSON}, {"--html", c.HTML}}
	if err := checkApart(flags); err != nil {
		return err
	}
	in, err := c.open(ctx, s, flags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if c.settle.SettleColumn != "" {
		limits = append(limits, store.Slot{Limit: "known", Algorithm: limits[0].Algorithm})
	}
	clock := &traceClock{}
	states, err := in.endpoint.openReplay(ctx, clock, c.Prefix, limits)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, states.Close()) }()
	deciders, err := newDeciders(states, limits[:len(c.Limit)])
	if err != nil {
		return err
	}
	if c.settle.SettleColumn != "" {
		if deciders.reservations, err = newReservations(states, limits[0], limits[1], clock, c.settle); err != nil {
			return err
		}
	}
	files, err := openOutputs(s, flags)
	if err != nil {
		return err
	}
	defer files.abandon()
	if err := deciders.decide(ctx, s.err, in, clock, files["--decisions"]); err != nil {
		return err
	}
	if err := files.finish("--decisions", nil); err != nil {
		return err
	}
	again := in.again(s, command, flags)
	var r interface {
		Document(command string) *report.Document
	}
	if command == "replay" {
		one := deciders.collected.Replay(c.source(in))
		if deciders.reservations != nil {
			one.Settlement = &deciders.reservations.sum
		}
		r = one
	} else {
		r = deciders.collected.Comparison(c.source(in))
	}
	return cmp.Or(files.finishReport(r.Document(again), c.Verbose, r, textOutput(s, flags)), in.usable())
}

// deciders are the limits of a replay, and what they decided.
type deciders struct {
	limiters     []*weir.Limiter
	reservations *reservations // nil where all costs are known at the start
	collected    *report.Collector
}

func newDeciders(states store.Store, limits []store.Slot) (*deciders, error) {
	d := &deciders{}
	var specs []string
	for _, limit := range limits {
		l, err := newLimiter(states, limit)
		if err != nil {
			return nil, err
		}
		d.limiters, specs = append(d.limiters, l), append(specs, fmt.Sprint(limit.Algorithm))
	}
	d.collected = report.NewCollector(specs...)
	return d, nil
}

func newLimiter(states store.Store, limit store.Slot) (*weir.Limiter, error) {
	return weir.New(states, weir.Limit{Name: limit.Limit, Algorithm: limit.Algorithm}, &weir.Options{Timeout: callTimeout})
}

// take asks a limit about an event.
func (d *deciders) take(ctx context.Context, l *weir.Limiter, event trace.Event) (weir.Decision, error) {
	if d.reservations != nil {
		return d.reservations.start(ctx, event)
	}
	return l.AllowN(ctx, event.Key, event.Cost)
}

// decide asks each limit about every event of a trace. Decisions are those of the
// only limit.
func (d *deciders) decide(ctx context.Context, errs io.Writer, in *input, clock *traceClock, decisions *output) error {
	allowed := make([]bool, len(d.limiters))
	lines := newDecisions(decisions)
	err := in.each(ctx, errs, clock, func(event trace.Event) error {
		for i, l := range d.limiters {
			decision, err := d.take(ctx, l, event)
			if err != nil {
				return err
			}
			allowed[i] = decision.Allowed
			if decision.Allowed && decision.Delay > 0 {
				d.collected.Wait(i, decision.Delay)
			}
			if !decisions.wanted() {
				continue
			}
			if err := lines.Encode(lineOf(event, decision)); err != nil {
				return fmt.Errorf("--decisions: %w", err)
			}
		}
		d.collected.Add(event.KeyIndex, event.Key, event.At, event.Cost, allowed...)
		return nil
	})
	if err == nil && d.reservations != nil {
		err = d.reservations.finish(ctx)
	}
	return err
}
