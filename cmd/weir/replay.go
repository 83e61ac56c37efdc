package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/cmd/weir/internal/trace"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// replayCommand is the command line of weir replay.
type replayCommand struct {
	Trace     string `arg:"" help:"The trace: a file, or - for standard input."`
	Limit     string `required:"" placeholder:"SPEC" help:"The limit, such as gcra:100/1m,burst=20."`
	Store     string `default:"memory://" placeholder:"URL" help:"Where the states live: memory:// (the default)."`
	Format    string `default:"auto" enum:"${formats}" placeholder:"FORMAT" help:"One of ${formats} (default auto, from the first lines)."`
	Key       string `default:"" placeholder:"FIELD" help:"What of an access log line is the key: ${keys} (default host)."`
	Sort      bool   `help:"Sort a JSON Lines trace by time. Access logs are always sorted."`
	Decisions string `placeholder:"FILE" help:"Write one JSON line for each decision; - is standard output, and then the report goes to standard error."`
	JSON      string `name:"json" placeholder:"FILE" help:"Write the report as JSON; - is standard output, instead of the text."`
}

var replayVars = map[string]string{
	"formats": strings.Join(trace.Formats(), ","),
	"keys":    strings.Join(trace.KeyNames(), ", "),
}

// Help is the long help, after the flags.
func (replayCommand) Help() string {
	return `SPEC is one of
  gcra:L/P[,burst=N]           token-bucket:L/P[,burst=N]   leaky-bucket:L/P[,capacity=N]
  fixed-window:L/P             sliding-log:L/P              sliding-counter:L/P
L units per period P, a duration with a unit such as 500ms, 1m or 24h. Burst and capacity are L where left out.

Time comes from the trace, not from the clock. A JSON Lines event is
  {"at_us":1700000000000000,"key":"user:1","cost":1}
Lines that cannot be used are counted and shown; they do not change the exit status.

Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.

Example: weir replay --limit gcra:100/1m,burst=20 access.log`
}

// Run decides the trace and writes what was asked for.
func (c *replayCommand) Run(ctx context.Context, s *streams) (err error) {
	limit, err := algorithm.ParseSpec(c.Limit)
	if err != nil {
		return usageError{fmt.Errorf("--limit: %w", err)}
	}
	key, err := trace.ParseKey(c.Key)
	if err != nil {
		return usageError{fmt.Errorf("--key: %w", err)}
	}
	if c.Decisions != "" && c.Decisions == c.JSON {
		return usageError{fmt.Errorf("--decisions and --json are both %q: must be two places", c.JSON)}
	}
	clock := &traceClock{}
	states, err := openStore(c.Store, clock)
	if err != nil {
		return err
	}
	defer states.Close() // frees memory; there is no error to report
	limiter, err := weir.New(states, limit, nil)
	if err != nil {
		return err
	}

	input, err := openSource(ctx, c.Trace, s.in)
	if err != nil {
		return err
	}
	defer input.Close()
	if err := errors.Join(input.spare("--decisions", c.Decisions), input.spare("--json", c.JSON)); err != nil {
		return err
	}
	reader, err := trace.Open(input, &trace.Options{Format: c.Format, Key: key, Sort: c.Sort})
	if err != nil {
		if option := trace.OptionError(""); errors.As(err, &option) {
			return usageError{fmt.Errorf("--key: %w", err)} // the parser has checked the others
		}
		return fmt.Errorf("%s: %w", input.name, err)
	}
	events := trace.NewAhead(reader)
	defer func() { err = errors.Join(err, input.Close(), events.Close()) }()

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

	collected, err := decide(ctx, events, limiter, clock, decisions)
	if err != nil {
		return err
	}
	if err := decisions.Close(); err != nil {
		return fmt.Errorf("--decisions: %w", err)
	}
	r := collected.Report()
	c.describe(r, limit, key, reader)
	return c.write(r, summary, s)
}

// decide asks the limiter for every event of a trace, at the time of the event.
func decide(ctx context.Context, events *trace.Ahead, limiter *weir.Limiter, clock *traceClock, decisions *output) (*report.Collector, error) {
	collected := report.NewCollector()
	var line []byte
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		event, err := events.Next()
		if err == io.EOF {
			return collected, nil
		}
		if err != nil {
			return nil, err
		}
		clock.now = algorithm.Instant(event.At)
		d, err := limiter.AllowN(ctx, event.Key, event.Cost)
		if err != nil {
			return nil, err
		}
		collected.Add(event.KeyIndex, event.Key, event.At, event.Cost, d.Allowed)
		if decisions.wanted() {
			line = appendDecision(line[:0], event, d)
			if _, err := decisions.Write(line); err != nil {
				return nil, fmt.Errorf("--decisions: %w", err)
			}
		}
	}
}

// describe says in the report where it came from.
func (c *replayCommand) describe(r *report.Report, limit algorithm.Algorithm, key trace.Key, reader *trace.Reader) {
	counts := reader.Counts()
	r.Trace, r.Format, r.Store = c.Trace, reader.Format(), c.Store
	r.Limit = fmt.Sprint(limit)
	r.Lines, r.Empty, r.OutOfOrder, r.Sorted = counts.Lines, counts.Skipped, counts.OutOfOrder, reader.Sorted()
	switch {
	case key != trace.KeyDefault:
		r.Key = key.String()
	case r.Format == "jsonl":
		r.Key = "key"
	default:
		r.Key = trace.KeyHost.String()
	}
	var first []trace.BadLine
	r.Bad, first = reader.Bad()
	for _, b := range first {
		r.BadLines = append(r.BadLines, report.BadLine{Line: b.Number, Reason: b.Reason, Text: b.Text})
	}
}

// write writes the report as JSON where that was asked for, and as text unless
// the JSON goes where the text would.
func (c *replayCommand) write(r *report.Report, summary *output, s *streams) error {
	if summary.wanted() {
		err := r.WriteJSON(summary)
		if err == nil {
			err = summary.Close()
		}
		if err != nil {
			return fmt.Errorf("--json: %w", err)
		}
	}
	if c.JSON == "-" {
		return nil
	}
	text := s.out
	if c.Decisions == "-" {
		text = s.err
	}
	if err := r.WriteText(text); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// openStore opens the store of a URL.
func openStore(url string, clock store.Clock) (store.Store, error) {
	if url != "memory://" {
		return nil, usageError{fmt.Errorf("--store: %q is not a store of this command: must be memory://", url)}
	}
	return memorystore.New(&memorystore.Options{Clock: clock})
}

// traceClock shows the time of the current event.
type traceClock struct{ now algorithm.Instant }

func (c *traceClock) Now() time.Time { return c.now.Time() }
