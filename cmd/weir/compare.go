package main

import (
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

// compareCommand is the command line of weir compare.
type compareCommand struct {
	traceFlags
	Limit []string `required:"" sep:"none" placeholder:"SPEC" help:"A limit; give the flag once for each limit to compare."`
	JSON  string   `name:"json" placeholder:"FILE" help:"Write the comparison as JSON; - is standard output, instead of the text."`
	HTML  string   `name:"html" placeholder:"FILE" help:"Write the comparison with pictures as one HTML file; - is standard output, instead of the text."`
}

// maxLimits is the most limits that fit beside each other.
const maxLimits = 9

// Help is the long help, before the flags.
func (compareCommand) Help() string {
	return specHelp + "\nExample: weir compare --limit gcra:100/1m,burst=20 --limit sliding-log:100/1m access.log"
}

// Run decides the trace once for each limit, each as if it were alone.
func (c *compareCommand) Run(ctx context.Context, s *streams) (err error) {
	if n := len(c.Limit); n < 2 || n > maxLimits {
		return usageError{fmt.Errorf("--limit was given %d times: must be 2 to %d", n, maxLimits)}
	}
	limits := make([]store.Slot, len(c.Limit)) // named, so that the states of two of one kind do not meet
	for i, spec := range c.Limit {
		limits[i].Limit = strconv.Itoa(i)
		if limits[i].Algorithm, err = algorithm.ParseSpec(spec); err != nil {
			return usageError{fmt.Errorf("--limit: %w", err)}
		}
	}
	if err := apart([2]string{"--json", c.JSON}, [2]string{"--html", c.HTML}); err != nil {
		return err
	}
	in, err := c.open(ctx, s, map[string]string{"--json": c.JSON, "--html": c.HTML})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	clock := &traceClock{}
	states, err := in.place.open(ctx, clock, c.Prefix, limits)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, states.Close()) }()
	limiters, names, err := newLimiters(states, limits)
	if err != nil {
		return err
	}
	summary, err := create(c.JSON, s)
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
	collected := report.NewComparer(names)
	allowed := make([]bool, len(limiters))
	err = in.each(ctx, clock, func(event trace.Event) error {
		for i, l := range limiters {
			d, err := l.AllowN(ctx, event.Key, event.Cost)
			if err != nil {
				return err
			}
			allowed[i] = d.Allowed
		}
		collected.Add(event.KeyIndex, event.Key, event.At, event.Cost, allowed)
		return nil
	})
	if err != nil {
		return err
	}
	shown.end()
	r := collected.Comparison()
	c.describe(&r.Source, in)
	if err := writeHTML(html, func(w io.Writer) error { return report.CompareHTML(w, r, c.again("compare", c.Limit, in)) }); err != nil {
		return err
	}
	text := s.out
	if c.HTML == "-" {
		text = io.Discard
	}
	return writeReport(r, summary, c.JSON, text)
}

// newLimiters makes one limiter for each limit.
func newLimiters(states store.Store, limits []store.Slot) (limiters []*weir.Limiter, names []string, err error) {
	for _, limit := range limits {
		l, err := weir.New(states, weir.Limit{Name: limit.Limit, Algorithm: limit.Algorithm}, &weir.Options{Timeout: callTimeout})
		if err != nil {
			return nil, nil, err
		}
		limiters, names = append(limiters, l), append(names, fmt.Sprint(limit.Algorithm))
	}
	return limiters, names, nil
}
