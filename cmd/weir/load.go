package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir/cmd/weir/internal/load"
	"github.com/weirgo/weir/cmd/weir/internal/load/target"
	"github.com/weirgo/weir/cmd/weir/internal/report"
)

// loadCommand is the command line of weir load.
type loadCommand struct {
	URL         string         `name:"url" arg:"" help:"The store or the service, see above."`
	Limit       string         `placeholder:"SPEC" help:"On a store: the limit that is asked, such as gcra:100/1s."`
	Rate        *int           `placeholder:"N" help:"Send N requests a second, whatever the target does (default: each caller asks again when it has its answer)."`
	Arrivals    string         `default:"constant" enum:"constant, poisson" placeholder:"LAW" help:"With --rate: requests at equal distances (constant, the default) or at random ones (poisson)."`
	Callers     int            `default:"50" placeholder:"N" help:"How many requests may be under way at the same time (default 50)."`
	Keys        string         `default:"zipf:1.1:100000" placeholder:"LAW" help:"Whom requests are for: zipf:EXPONENT:N or uniform:N, of N keys, or one:KEY (default zipf:1.1:100000)."`
	Duration    *time.Duration `default:"10s" placeholder:"TIME" help:"How long requests are measured (default 10s)."`
	Ramp        *time.Duration `default:"0s" placeholder:"TIME" help:"How long the load grows before that; what is sent then is not measured (default 0s)."`
	Timeout     *time.Duration `default:"5s" placeholder:"TIME" help:"How long an answer may take (default 5s)."`
	MaxP50      *time.Duration `name:"max-p50" placeholder:"TIME" help:"The longest latency of 50 % of the requests that is not a failure."`
	MaxP95      *time.Duration `name:"max-p95" placeholder:"TIME" help:"The same of 95 %."`
	MaxP99      *time.Duration `name:"max-p99" placeholder:"TIME" help:"The same of 99 %."`
	MaxP999     *time.Duration `name:"max-p99.9" placeholder:"TIME" help:"The same of 99.9 %."`
	MaxErrors   *int           `placeholder:"N" help:"The most errors that are not a failure."`
	Endpoint    string         `default:"/" placeholder:"PATH" help:"On a service: the endpoint of all requests (default /)."`
	Dimension   string         `default:"USER" enum:"USER, IP, API_KEY, ORG" placeholder:"NAME" help:"On a service: what a key is: USER (default), IP, API_KEY or ORG."`
	TokenFile   string         `placeholder:"FILE" help:"On a service: the file with the token."`
	Connections int            `default:"1" placeholder:"N" help:"On a service over gRPC: how many connections take turns, 1 to 1,000 (default 1)."`
	Seed        *uint64        `placeholder:"N" help:"Send requests for the same keys again (default: others each time)."`
	JSON        string         `name:"json" placeholder:"FILE" help:"Write the report as JSON; - is standard output, instead of the text."`
	HTML        string         `name:"html" placeholder:"FILE" help:"Write the report with pictures as one HTML file; - is standard output, instead of the text."`
	Plot        string         `placeholder:"FILE" help:"Draw the latencies into a file that ends in .png or .svg."`
	verboseFlag
}

// mostConnections bounds --connections.
const mostConnections = 1000

// Help is the long help, before the flags.
func (loadCommand) Help() string {
	return `Sends requests to a store or a service, and measures how long answers take. It sends to the URL
alone: it uses no proxy, and follows no redirect.

With --rate a latency counts from when a request was due, also where it could not be sent then.
A target that stands still so shows as it would to users. Without --rate the callers ask no more
while they wait, and the latencies of a slow target are too good.

URL is that of a service: ` + target.ServiceForms + `;
or of a store, and --limit is required then.
` + specHelp() + `
` + urlHelp + `
What is written on a server begins with weir-load: and something random, and is removed. On a
service the keys count as those of users do: use one that is there for tests.

Exit status: 0 done, 1 a bound was missed, 2 wrong usage or a service that refuses such requests,
3 the target cannot be reached, 130 interrupted.

Examples: weir load redis://127.0.0.1:6379 --limit gcra:100/1s --rate 5000 --max-p95 1ms --max-errors 0
          weir load http://127.0.0.1:8080 --rate 1000 --ramp 5s --html load.html
          weir load memory:// --limit gcra:100/1s --callers 2
`
}

// Run puts the load on the target and writes what was asked for.
func (c *loadCommand) Run(ctx context.Context, s *streams) (err error) {
	options, err := c.options()
	if err != nil {
		return usageError{err}
	}
	flags := []outputFlag{{"--json", c.JSON}, {"--html", c.HTML}, {"--plot", c.Plot}}
	if err := cmp.Or(checkPlot(c.Plot), checkApart(flags)); err != nil {
		return err
	}
	to, shown, err := c.open(ctx, s, options)
	if err != nil {
		return err
	}
	defer func() {
		left := to.Close()
		if errors.Is(left, errUnanswered) { // a load is there to find such calls: they are in the report
			fmt.Fprintf(s.err, "weir: %s\n", report.Visible(left.Error()))
			left = nil
		}
		err = errors.Join(err, left)
	}()
	if err := to.Probe(ctx); err != nil {
		if refused := (*target.Refused)(nil); errors.As(err, &refused) {
			return inputError{err}
		}
		return fmt.Errorf("%s: %w", shown, err)
	}
	files, err := openOutputs(s, flags)
	if err != nil {
		return err
	}
	defer files.abandon()
	result, err := c.send(ctx, s, to, options)
	if err != nil {
		return err
	}
	r := &report.Load{
		Target: shown, Limit: c.Limit, Keys: options.Keys.String(), Rate: options.Rate, Callers: options.Callers,
		Duration: int64(options.Duration), Ramp: int64(options.Ramp), Seed: options.Seed, Result: result,
	}
	if options.Rate > 0 {
		r.Arrivals = options.Arrivals
	}
	r.Bounds = c.bounds(result)
	if result.Requests > 0 {
		if err := files.finishPlot(c.Plot, r.Plot); err != nil {
			return err
		}
	}
	if err := files.finishReport(r.Document(c.again(s, shown, options.Seed)), c.Verbose, r, textOutput(s, flags)); err != nil {
		return err
	}
	if missed := r.Missed(); missed != nil {
		return answerError{errors.New("a bound was missed: " + strings.Join(missed, "; "))}
	}
	if result.Errors == result.Requests { // also where none was due
		return fmt.Errorf("%s: no request was answered", shown)
	}
	return nil
}

// options reads the load.
func (c *loadCommand) options() (*load.Options, error) {
	o := &load.Options{Arrivals: load.Arrivals(c.Arrivals), Callers: c.Callers, Duration: *c.Duration, Ramp: *c.Ramp, Grace: *c.Timeout}
	var err error
	if o.Keys, err = load.ParseKeys(c.Keys); err != nil {
		return nil, fmt.Errorf("--keys: %w", err)
	}
	switch {
	case c.Rate != nil && *c.Rate < 1:
		return nil, fmt.Errorf("--rate: %d is not allowed: must be 1 to %d", *c.Rate, load.MaxRate)
	case c.Rate != nil:
		o.Rate = *c.Rate
	case c.Arrivals != string(load.Constant):
		return nil, errors.New("--arrivals is for --rate: must be left out without it")
	}
	if *c.Timeout < time.Millisecond || *c.Timeout > time.Minute {
		return nil, fmt.Errorf("--timeout: %s is not allowed: must be 1ms to 1m", *c.Timeout)
	}
	for flag, bound := range map[string]*time.Duration{"--max-p50": c.MaxP50, "--max-p95": c.MaxP95, "--max-p99": c.MaxP99, "--max-p99.9": c.MaxP999} {
		if bound != nil && *bound <= 0 {
			return nil, fmt.Errorf("%s: %s is not allowed: must be above 0s", flag, *bound)
		}
	}
	if c.Connections < 1 || c.Connections > mostConnections {
		return nil, fmt.Errorf("--connections: %d is not allowed: must be 1 to %d", c.Connections, mostConnections)
	}
	if c.MaxErrors != nil && *c.MaxErrors < 0 {
		return nil, fmt.Errorf("--max-errors: %d is not allowed: must be 0 or more", *c.MaxErrors)
	}
	if o.Seed = 1 + rand.Uint64N(1_000_000_000); c.Seed != nil {
		o.Seed = *c.Seed
	}
	return o, o.Check()
}

// bounds are the bounds that were given, with what was seen.
func (c *loadCommand) bounds(r *load.Result) []report.LoadBound {
	all := []report.LoadBound{}
	for _, b := range []struct {
		of    string
		bound *time.Duration
		seen  int64
	}{{"p50", c.MaxP50, r.Latency.P50}, {"p95", c.MaxP95, r.Latency.P95}, {"p99", c.MaxP99, r.Latency.P99}, {"p99.9", c.MaxP999, r.Latency.P999}} {
		if b.bound != nil {
			all = append(all, report.LoadBound{Of: b.of, Allowed: int64(*b.bound), Seen: b.seen})
		}
	}
	if c.MaxErrors != nil {
		all = append(all, report.LoadBound{Of: "errors", Allowed: int64(*c.MaxErrors), Seen: r.Errors})
	}
	return all
}

// send sends the requests, and shows on a terminal how many.
func (c *loadCommand) send(ctx context.Context, s *streams, to load.Target, options *load.Options) (*load.Result, error) {
	sleep, release, err := load.NewSleep()
	if err != nil {
		return nil, err
	}
	defer release()
	options.Sleep = sleep
	var answered atomic.Int64
	if shown := startProgress(s.err, func() string { return report.Digits(answered.Load()) + " requests" }); shown != nil {
		options.Progress = func() { answered.Add(1) }
		defer shown.end()
	}
	return load.Run(ctx, to, *options)
}

// open opens the target, and returns its URL as people may see it.
func (c *loadCommand) open(ctx context.Context, s *streams, options *load.Options) (target.Target, string, error) {
	if target.IsService(c.URL) {
		return c.openService(options)
	}
	for _, o := range s.given {
		switch o.name {
		case "endpoint", "dimension", "token-file", "connections":
			return nil, "", usageError{fmt.Errorf("--%s is for a service: must be left out with a store", o.name)}
		}
	}
	return c.openStore(ctx, options)
}

// openService opens a service. Its keys are those of this load, except for the one that the
// user names.
func (c *loadCommand) openService(options *load.Options) (target.Target, string, error) {
	if c.Limit != "" {
		return nil, "", usageError{errors.New("--limit is for a store: must be left out with a service")}
	}
	u, err := target.ParseService(c.URL)
	if err != nil {
		return nil, "", usageError{err}
	}
	if c.Connections != 1 && !strings.HasPrefix(u.Scheme, "grpc") {
		return nil, "", usageError{errors.New("--connections is for gRPC: must be left out over HTTP, where each caller has a connection")}
	}
	at := target.Service{Endpoint: c.Endpoint, Dimension: c.Dimension, Timeout: *c.Timeout, Callers: c.Callers, Connections: c.Connections}
	if c.TokenFile != "" {
		text, err := os.ReadFile(c.TokenFile)
		if err != nil {
			return nil, "", inputError{fmt.Errorf("--token-file: %w", err)}
		}
		if at.Token = string(bytes.TrimSpace(text)); at.Token == "" || strings.ContainsAny(at.Token, " \t\r\n") {
			return nil, "", inputError{fmt.Errorf("--token-file: %s has no token, or more than one: must have one line", c.TokenFile)}
		}
	}
	options.Keys.Prefix = randomPrefix("weir-load:")
	to, err := at.Open(u)
	return to, c.URL, err
}

// again is a command line for the same load.
func (c *loadCommand) again(s *streams, shown string, seed uint64) string {
	words := []string{"weir", "load", shown}
	for _, o := range s.given {
		switch o.name {
		case "url", "seed", "json", "html", "plot", "verbose":
		case "keys":
			words = append(words, "--keys", o.texts[0])
			if strings.HasPrefix(o.texts[0], "one:") {
				words[len(words)-1] = "one:KEY"
			}
		default:
			for _, text := range o.texts {
				words = append(words, "--"+o.name, text)
			}
		}
	}
	return shellLine(append(words, "--seed", fmt.Sprint(seed))...)
}
