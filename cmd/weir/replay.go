package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/cmd/weir/internal/trace"
	"github.com/weirgo/weir/store"
)

// soleLimit is the name of the one limit of a replay.
const soleLimit = "limit"

// replayCommand is the command line of weir replay.
type replayCommand struct {
	traceFlags
	Limit     []string `required:"" sep:"none" placeholder:"SPEC" help:"The limit, such as gcra:100/1m,burst=20."`
	Decisions string   `placeholder:"FILE" help:"Write one JSON line for each decision; - is standard output, and then the report goes to standard error."`
	JSON      string   `name:"json" placeholder:"FILE" help:"Write the report as JSON; - is standard output, instead of the text."`
	HTML      string   `name:"html" placeholder:"FILE" help:"Write the report with pictures as one HTML file; - is standard output, instead of the text."`
}

// Help is the long help, before the flags.
func (replayCommand) Help() string {
	return specHelp + "\nExample: weir replay --limit gcra:100/1m,burst=20 access.log"
}

// Run decides the trace and writes what was asked for.
func (c *replayCommand) Run(ctx context.Context, s *streams) (err error) {
	if len(c.Limit) != 1 {
		return usageError{fmt.Errorf("--limit was given %d times: must be once; weir compare takes several", len(c.Limit))}
	}
	limit, err := algorithm.ParseSpec(c.Limit[0])
	if err != nil {
		return usageError{fmt.Errorf("--limit: %w", err)}
	}
	if err := apart([2]string{"--decisions", c.Decisions}, [2]string{"--json", c.JSON}, [2]string{"--html", c.HTML}); err != nil {
		return err
	}
	in, err := c.open(ctx, s, map[string]string{"--decisions": c.Decisions, "--json": c.JSON, "--html": c.HTML})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	clock := &traceClock{}
	states, err := in.place.open(ctx, clock, c.Prefix, []store.Slot{{Limit: soleLimit, Algorithm: limit}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, states.Close()) }()
	limiter, err := weir.New(states, weir.Limit{Name: soleLimit, Algorithm: limit}, &weir.Options{Timeout: callTimeout})
	if err != nil {
		return err
	}

	decisions, err := create(c.Decisions, s)
	if err != nil {
		return fmt.Errorf("--decisions: %w", err)
	}
	defer decisions.Close()
	summary, err := create(c.JSON, s) // now, so that no long replay is for nothing
	if err != nil {
		return fmt.Errorf("--json: %w", err)
	}
	defer summary.Close()
	html, err := create(c.HTML, s)
	if err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	defer html.Close()

	shown := showProgress(s.err, in)
	defer shown.end()
	collected, err := decide(ctx, in, limiter, clock, decisions)
	if err != nil {
		return err
	}
	shown.end()
	if err := decisions.Close(); err != nil {
		return fmt.Errorf("--decisions: %w", err)
	}
	r := collected.Report()
	r.Limit = fmt.Sprint(limit)
	c.describe(&r.Source, in)
	if err := writeHTML(html, func(w io.Writer) error { return report.ReplayHTML(w, r, c.again("replay", c.Limit, in)) }); err != nil {
		return err
	}
	text := s.out
	switch "-" {
	case c.Decisions:
		text = s.err
	case c.HTML:
		text = io.Discard
	}
	return writeReport(r, summary, c.JSON, text)
}

// decide asks the limiter for every event of a trace.
func decide(ctx context.Context, in *input, limiter *weir.Limiter, clock *traceClock, decisions *output) (*report.Collector, error) {
	collected := report.NewCollector()
	var line []byte
	err := in.each(ctx, clock, func(event trace.Event) error {
		d, err := limiter.AllowN(ctx, event.Key, event.Cost)
		if err != nil {
			return err
		}
		collected.Add(event.KeyIndex, event.Key, event.At, event.Cost, d.Allowed)
		if !decisions.wanted() {
			return nil
		}
		line = appendDecision(line[:0], event, d)
		if _, err := decisions.Write(line); err != nil {
			return fmt.Errorf("--decisions: %w", err)
		}
		return nil
	})
	return collected, err
}
