package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/cmd/weir/internal/trace"
)

// traceFlags say what is replayed, how it is read and where its states live; the commands
// share them.
type traceFlags struct {
	readFlags
	Store  string  `default:"memory://" placeholder:"URL" help:"Where the states live: memory:// (the default), or a server, see above."`
	Prefix *string `placeholder:"TEXT" help:"On a server: what the names of all keys begin with (default: something random)."`
	settle settleFlags
}

// readFlags say which traces are read and how.
type readFlags struct {
	Trace      []string `arg:"" help:"The trace: files or patterns such as 'access.log*', or - for standard input; gzip is unpacked. Several files are merged by time."`
	Format     string   `default:"auto" enum:"${formats}" placeholder:"FORMAT" help:"One of ${formats} (default auto, from the first lines)."`
	LogFormat  string   `placeholder:"TEXT" help:"The log_format of nginx, the LogFormat of Apache or the format string of Envoy that the log is written in, as it stands in their configuration."`
	Envelope   string   `default:"auto" enum:"${envelopes}" placeholder:"ENVELOPE" help:"What a log daemon or a container runtime wrote around each line: one of ${envelopes} (default auto, from the first lines)."`
	Key        string   `placeholder:"FIELD" help:"What is the key: ${keys} of an access log line (default host), or a field by its name: a JSON member such as user.id, a CSV column."`
	TimeColumn string   `placeholder:"NAME" help:"CSV: the column of the time, by its name in the header."`
	TimeUnit   string   `placeholder:"UNIT" enum:",s,ms,us,ns" default:"" help:"CSV: the unit of a time in numbers: s, ms, us or ns (default: s, or dates)."`
	CostColumn string   `placeholder:"NAME" help:"CSV: the column of the cost (default: 1)."`
	fields     []string // with --policy: what trace.Options.Fields is
	Sort       bool     `help:"Sort a JSON Lines trace by time. All other traces are always sorted."`
}

var flagVars = map[string]string{
	"formats":   strings.Join(trace.Formats(), ", "),
	"envelopes": strings.Join(trace.Envelopes(), ", "),
	"keys":      strings.Join(trace.Keys(), ", "),
}

// traceHelp is the long help that replay and compare share.
var traceHelp = specHelp() + `
` + urlHelp + ` What a
replay writes on a server is removed at its end.

Time comes from the trace, not from the clock. A JSON Lines event is
  {"at_us":1700000000000000,"key":"user:1","cost":1}
Lines that cannot be used are counted and shown; where no line can be used the exit status
is 2.

Exit status: 0 done, 2 wrong usage or a trace that cannot be used, 3 something outside
failed, such as a server, 130 interrupted.
`

// specHelp lists the specs of all algorithms.
func specHelp() string {
	text := "SPEC is one of\n"
	for _, f := range algorithm.Families() {
		spec := f.Name + ":" + formOf(f)
		text += fmt.Sprintf("  %-32s %s\n", spec, f.Summary)
	}
	return text + "L units per period P, a duration with a unit such as 500ms, 1m or 24h; N is L where left out.\n" +
		"UNIT is day, week, month, quarter or year, ZONE as in Europe/Berlin (UTC where left out), DAY where it starts,\n" +
		"such as 15 of a month or sunday of a week.\n"
}

// formOf is what follows the name in specs of a family.
func formOf(f algorithm.Family) string {
	form := cmp.Or(f.Form, "L/P")
	if f.Option != "" {
		form += "[," + f.Option + "=N]"
	}
	return form
}

// urlHelp is the part of the long help about stores.
const urlHelp = `URL is one of
  memory://
  redis://[[USER]:PASSWORD@]HOST[:PORT][/DB]      rediss://… with TLS
  unix://[[USER]:PASSWORD@]/PATH[?db=DB]
  redis-sentinel://[[USER]:PASSWORD@]HOST[:PORT],…/PRIMARY[/DB]
  redis-cluster://[[USER]:PASSWORD@]HOST[:PORT],…
  rediss-sentinel://…, rediss-cluster://… with TLS
or valkey://…, valkeys://…, valkey-unix://…, valkey-sentinel://…, valkeys-sentinel://…,
valkey-cluster://…, valkeys-cluster://…: the same with Valkey's own client.`

// input is an opened trace.
type input struct {
	files    *inputs
	reader   *trace.Reader
	key      string
	endpoint *endpoint
}

// open opens the trace, and reads where its states shall live. None of outputs may be
// the trace itself.
func (f *traceFlags) open(ctx context.Context, s *streams, outputs []outputFlag) (*input, error) {
	on, err := parseStoreURL(f.Store)
	if err == nil {
		err = on.checkPrefix(f.Prefix, maxPrefix)
	}
	if err != nil {
		return nil, err
	}
	in, err := f.read(ctx, s, outputs, f.settle)
	if err != nil {
		return nil, err
	}
	in.endpoint = on
	return in, nil
}

// read opens the trace. None of outputs may be the trace itself.
func (f *readFlags) read(ctx context.Context, s *streams, outputs []outputFlag, settle settleFlags) (*input, error) {
	files, err := newInputs(f.Trace, s, outputs)
	if err != nil {
		return nil, err
	}
	reader, err := trace.OpenAll(files.open(ctx), &trace.Options{
		Format: f.Format, LogFormat: f.LogFormat, Envelope: f.Envelope, Key: f.Key, Fields: f.fields, Sort: f.Sort,
		TimeColumn: f.TimeColumn, TimeUnit: f.TimeUnit, CostColumn: f.CostColumn,
		SettleColumn: settle.SettleColumn, ReserveColumn: settle.ReserveColumn, DurationColumn: settle.DurationColumn,
	})
	err = flagError(err)
	if usage := (usageError{}); len(f.fields) > 0 && errors.As(err, &usage) {
		err = usageError{errors.New(strings.Replace(err.Error(), "--key: ", "--attr: ", 1))}
	}
	if err != nil {
		files.stop()
		return nil, err
	}
	return &input{files: files, reader: reader, key: f.Key}, nil
}

// flagError returns a trace.OptionError as a usageError that names the flag in place of the option. It returns other
// errors themselves.
func flagError(err error) error {
	option := (*trace.OptionError)(nil)
	if !errors.As(err, &option) {
		return err
	}
	return usageError{fmt.Errorf("--%s: %s", strings.ReplaceAll(option.Option, " ", "-"), option.Problem)}
}

// Close ends the reading and removes what it left on the disk.
func (in *input) Close() error {
	in.files.stop()
	return in.reader.Close()
}

// batchEvents is how many events are read at a time.
const batchEvents = 512

// each calls do for every event of the trace, at the time of the event, and shows on a
// terminal how far it is. A goroutine reads a little ahead of it.
func (in *input) each(ctx context.Context, errs io.Writer, clock *traceClock, do func(trace.Event) error) error {
	defer showProgress(errs, in).end()
	batches, done := make(chan []trace.Event, 2), make(chan struct{})
	var end error
	go func() {
		defer close(batches)
		for end == nil {
			batch := make([]trace.Event, 0, batchEvents)
			for end == nil && len(batch) < batchEvents {
				var event trace.Event
				if event, end = in.reader.Next(); end == nil {
					batch = append(batch, event)
				}
			}
			select {
			case batches <- batch:
			case <-done:
				return
			}
		}
	}()
	defer func() { // whoever asks the reader next is alone with it
		close(done)
		in.files.stop()
		for range batches {
		}
	}()
	for batch := range batches {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for _, event := range batch {
			clock.now = algorithm.Instant(event.At)
			if err := do(event); err != nil {
				return err
			}
		}
	}
	if end == io.EOF {
		return nil
	}
	return flagError(end)
}

// source says in a report where it came from.
func (f *traceFlags) source(in *input) report.Source {
	counts := in.reader.Counts()
	r := report.Source{
		Trace: in.files.shown(), Format: in.reader.Format(), Store: in.endpoint.shown, Key: in.keyName(),
		Lines: counts.Lines, Empty: counts.Skipped, Headers: counts.Headers,
		OutOfOrder: counts.OutOfOrder, Sorted: in.reader.Sorted(),
		BadLines: []report.BadLine{},
	}
	if around := in.reader.Envelope(); around != "" {
		r.Format += " in " + around
	}
	var first []trace.BadLine
	r.Bad, first = in.reader.Bad()
	for _, b := range first {
		r.BadLines = append(r.BadLines, report.BadLine{File: b.Input, Line: b.Number, Reason: b.Reason, Text: b.Text})
	}
	warnings := in.reader.Warnings()
	if counts.Lines == counts.Skipped {
		warnings = append(warnings, "the trace is empty")
	}
	r.Misfit = strings.Join(warnings, "; ")
	return r
}

// keyName is what the key of an event is, for a report.
func (in *input) keyName() string {
	if format := in.reader.Format(); in.key == "" && format != "csv" && format != "jsonl" {
		return trace.KeyHost
	}
	return cmp.Or(in.key, "key")
}

// usable returns an error where no line of the trace can be used, which says what may read it.
func (in *input) usable() error {
	unusable := in.reader.Unusable()
	if len(unusable) == 0 {
		return nil
	}
	misfit, found := in.reader.Misfit()
	err := fmt.Errorf("%s: no line can be used as %s", strings.Join(unusable, ", "), in.reader.Format())
	if found && misfit.Events == 0 {
		err = fmt.Errorf("%s: %v", strings.Join(unusable, ", "), misfit)
	}
	flag := "--" + strings.ReplaceAll(misfit.Option, " ", "-")
	switch {
	case found && misfit.Value != "":
		err = fmt.Errorf("%w: try %s %s", err, flag, misfit.Value)
	case found && misfit.Option == "log format":
		err = fmt.Errorf("%w: try %s with the log_format of nginx, the LogFormat of Apache or the format string of Envoy that the log is written in", err, flag)
	}
	return inputError{err}
}

// again is the command line that decides the trace again, without its outputs and without
// the user and the password of a server.
func (in *input) again(s *streams, command string, outputs []outputFlag) string {
	words := []string{"weir", command}
	for _, o := range s.given {
		isOutput := func(f outputFlag) bool { return f.flag == o.flag() }
		if o.isArgument() || o.name == "verbose" || slices.ContainsFunc(outputs, isOutput) {
			continue
		}
		for _, text := range o.texts {
			if o.name == "store" {
				text = in.endpoint.shown
			}
			words = append(words, o.flag())
			if !o.isSwitch() {
				words = append(words, text)
			}
		}
	}
	if slices.ContainsFunc(in.files.names, func(name string) bool { return strings.HasPrefix(name, "-") && name != "-" }) {
		words = append(words, "--")
	}
	return shellLine(append(words, in.files.names...)...)
}

// traceClock shows the time of the current event.
type traceClock struct{ now algorithm.Instant }

func (c *traceClock) Now() time.Time { return c.now.Time() }
