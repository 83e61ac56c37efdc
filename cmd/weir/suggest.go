package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/cmd/weir/internal/suggest"
	"github.com/weirgo/weir/cmd/weir/internal/trace"
)

// suggestCommand is the command line of weir suggest.
type suggestCommand struct {
	readFlags
	Limit             []string `placeholder:"FORM" help:"A limit with ? in place of the number to find, such as gcra:?/1m or gcra:?/1m,burst=20. Give the flag once for each (default: four algorithms, each in 1m)."`
	MaxClientsHit     string   `placeholder:"PERCENT" help:"How many of the clients may be denied at least once, such as 1% (default 1% where no target is given)."`
	MaxRequestsDenied string   `placeholder:"PERCENT" help:"How many of the requests may be denied, such as 0.5%."`
	Protect           string   `placeholder:"RATE" help:"What all clients together may get, such as 500/s: says what they get under each limit, and adds a limit for all of them."`
	Policy            string   `placeholder:"FILE" help:"Write the first limit as a policy in shadow mode; - is standard output, instead of the text."`
	JSON              string   `name:"json" placeholder:"FILE" help:"Write the answer as JSON; - is standard output, instead of the text."`
	Plot              string   `placeholder:"FILE" help:"Draw the clients that each limit would have hit, by its number, into a file that ends in .png or .svg."`
}

// defaultForms are what is looked for where no limit is given.
var defaultForms = []string{"gcra:?/1m", "sliding-log:?/1m", "sliding-counter:?/1m", "fixed-window:?/1m"}

const (
	// heldBack is the part of the time, in percent, behind which the traffic is held back.
	heldBack = 80
	// fewPeriods is how many periods of a limit a trace has to cover to tell much.
	fewPeriods = 10
)

// Help is the long help, before the flags.
func (suggestCommand) Help() string {
	return `Finds the smallest limits that a trace would have met: with one unit less, more clients or more
requests than allowed would have been denied. Every answer was tried on the whole trace, by the
algorithms themselves. The last fifth of the time is then held back, to show how well a limit
that was found on the first part holds for what came after.

The trace is kept in memory, 16 bytes a request.

Exit status: 0 done, 1 no number makes one of the limits meet the target, 2 wrong usage or a
trace that cannot be used, 3 something outside failed, 130 interrupted.

Examples: weir suggest access.log
          weir suggest --limit 'gcra:?/1m,burst=20' --max-requests-denied 0.1% access.log*
          weir suggest --key user --policy policy.yaml access.log
          weir suggest --protect 500/s --plot limits.svg access.log
`
}

// Run finds the limits and shows them.
func (c *suggestCommand) Run(ctx context.Context, s *streams) (err error) {
	forms, target, err := c.asked()
	if err != nil {
		return usageError{err}
	}
	protect, err := c.protection()
	if err != nil {
		return usageError{err}
	}
	flags := []outputFlag{{"--policy", c.Policy}, {"--json", c.JSON}, {"--plot", c.Plot}}
	if err := cmp.Or(checkPlot(c.Plot), checkApart(flags)); err != nil {
		return err
	}
	in, err := c.read(ctx, s, flags, settleFlags{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	files, err := openOutputs(s, flags)
	if err != nil {
		return err
	}
	defer files.abandon()
	traffic := &suggest.Traffic{}
	if err := in.each(ctx, s.err, &traceClock{}, func(e trace.Event) error {
		traffic.Add(e.KeyIndex, algorithm.Instant(e.At), e.Cost)
		return nil
	}); err != nil {
		return err
	}
	if err := in.usable(); err != nil {
		return err
	}
	answer, err := suggestionsFor(ctx, traffic, forms, target)
	if err != nil {
		return err
	}
	answer.protect(traffic, protect)
	answer.describe(c, in)
	if err := files.finish("--policy", answer.writePolicy); err != nil {
		return err
	}
	if err := files.finishJSON(answer); err != nil {
		return err
	}
	if err := files.finish("--plot", func(w io.Writer) error { return answer.plot(ctx, c.Plot, traffic, w) }); err != nil {
		return err
	}
	if text := textOutput(s, flags); text != nil {
		if err := answer.writeText(text); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	return answer.err()
}

// asked reads what is looked for.
func (c *suggestCommand) asked() (forms []suggest.Form, target suggest.Target, err error) {
	limits := c.Limit
	if len(limits) == 0 {
		limits = defaultForms
	}
	if len(limits) > maxLimits {
		return nil, target, fmt.Errorf("--limit was given %d times: must be at most %d", len(limits), maxLimits)
	}
	for _, text := range limits {
		form := suggest.Form(text)
		if err := form.Check(); err != nil {
			return nil, target, fmt.Errorf("--limit: %w", err)
		}
		forms = append(forms, form)
	}
	if c.MaxClientsHit == "" && c.MaxRequestsDenied == "" {
		c.MaxClientsHit = "1%"
	}
	if target.Clients, err = parsePercent("--max-clients-hit", c.MaxClientsHit); err == nil {
		target.Requests, err = parsePercent("--max-requests-denied", c.MaxRequestsDenied)
	}
	return forms, target, err
}

// parsePercent reads a percentage exactly; "" is none.
func parsePercent(flag, text string) (suggest.Share, error) {
	if text == "" {
		return suggest.Share{}, nil
	}
	refused := fmt.Errorf("%s: %q is not allowed: must be 0%% to 100%%, with at most six decimals, such as 0.5%%", flag, text)
	number, isPercent := strings.CutSuffix(text, "%")
	whole, decimals, hasPoint := strings.Cut(number, ".")
	if !isPercent || len(whole) > 3 || len(decimals) > 6 || hasPoint && decimals == "" {
		return suggest.Share{}, refused
	}
	part, err := strconv.ParseUint(whole+decimals, 10, 63)
	of := uint64(100)
	for range decimals {
		of *= 10
	}
	if err != nil || part > of {
		return suggest.Share{}, refused
	}
	return suggest.Share{Part: int64(part), Of: int64(of)}, nil
}

// suggestion is the answer for one form.
type suggestion struct {
	Form  string `json:"form"`
	Found bool   `json:"found"`
	// The rest is that of the limit that was found.
	Limit          string `json:"limit,omitempty"`
	ClientsHit     int    `json:"clients_hit"`
	RequestsDenied int64  `json:"requests_denied"`
	// OneLess is what a limit smaller by one would have done.
	OneLess *effect `json:"one_less,omitempty"`
	// Most is what one key can get in one period, whatever it does.
	Most   int64  `json:"most_in_a_period"`
	Period micros `json:"period_us"`
	// Early is the limit that the first part of the time alone asks for, and Later what it would
	// have done to the rest.
	Early string  `json:"early_limit,omitempty"`
	Later *effect `json:"early_limit_later,omitempty"`
	// Together is the most that all clients get together under it, in any window of --protect, and
	// Protected what it does beside the limit for all of them.
	Together  int64   `json:"together,omitempty"`
	Protected *effect `json:"protected,omitempty"`

	found suggest.Found
}

type effect struct {
	ClientsHit     int   `json:"clients_hit"`
	Clients        int   `json:"clients"`
	RequestsDenied int64 `json:"requests_denied"`
	Requests       int64 `json:"requests"`
}

func effectOf(t *suggest.Traffic, e suggest.Effect) *effect {
	return &effect{ClientsHit: e.Clients, Clients: t.Clients(), RequestsDenied: e.Requests, Requests: t.Requests()}
}

// suggestionsFor finds all limits.
func suggestionsFor(ctx context.Context, traffic *suggest.Traffic, forms []suggest.Form, target suggest.Target) (*suggestions, error) {
	answer := &suggestions{
		Requests: traffic.Requests(), Clients: traffic.Clients(), Span: microsOf(traffic.Span()), Warnings: []string{},
	}
	answer.addPeaks(traffic)
	early, later := traffic.Split(heldBack)
	for _, form := range forms {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		one, err := suggestionFor(traffic, early, later, form, target)
		if err != nil {
			return nil, err
		}
		answer.Limits = append(answer.Limits, one)
	}
	return answer, nil
}

func suggestionFor(traffic, early, later *suggest.Traffic, form suggest.Form, target suggest.Target) (suggestion, error) {
	one := suggestion{Form: string(form)}
	found, is, err := traffic.Smallest(form, target)
	if err != nil || !is {
		return one, err
	}
	one.found = found
	one.Found, one.Limit = true, fmt.Sprint(found.Algorithm)
	one.ClientsHit, one.RequestsDenied = found.Effect.Clients, found.Effect.Requests
	if found.Less != nil {
		one.OneLess = effectOf(traffic, *found.Less)
	}
	spec := found.Algorithm.Spec()
	if f, known := algorithm.FamilyOf(spec.Kind); known {
		rate, _ := f.Parameters(spec)
		one.Period, one.Most = microsOf(rate.Per), f.Bound(spec, rate.Per-time.Microsecond)
	}
	if early.Requests() == 0 || later.Requests() == 0 {
		return one, nil
	}
	before, is, err := early.Smallest(form, target)
	if err != nil || !is {
		return one, err
	}
	one.Early, one.Later = fmt.Sprint(before.Algorithm), effectOf(later, later.Effect(before.Algorithm))
	return one, nil
}
