package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/cmd/weir/internal/report/chart"
)

// verboseFlag is a flag of all commands that write a report.
type verboseFlag struct {
	Verbose bool `short:"v" help:"Show all of the report: also digests, corner cases, and rows that are 0 everywhere."`
}

// outputFlag is a flag that names a file to write: "" is none, - is standard output.
type outputFlag struct{ flag, name string }

// checkApart refuses two outputs in one place.
func checkApart(flags []outputFlag) error {
	for i, a := range flags {
		for _, b := range flags[:i] {
			if a.name != "" && sameFile(a.name, b.name) {
				return usageError{fmt.Errorf("%s and %s are both %q: must be two places", b.flag, a.flag, a.name)}
			}
		}
	}
	return nil
}

// sameFile reports whether two outputs are one: the same name, differently written or
// not, or two links to one file.
func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	if a == "-" || b == "-" || a == "" || b == "" {
		return false
	}
	first, errA := filepath.Abs(a)
	second, errB := filepath.Abs(b)
	if errA == nil && errB == nil && first == second {
		return true
	}
	one, errA := os.Stat(a)
	other, errB := os.Stat(b)
	return errA == nil && errB == nil && one.Mode().IsRegular() && os.SameFile(one, other)
}

// textOutput returns where the text of a report goes: to standard error where a stream
// of lines takes standard output, and nowhere, which is nil, where another form of the
// report takes it.
func textOutput(s *streams, flags []outputFlag) io.Writer {
	for _, f := range flags {
		switch {
		case f.name != "-":
		case f.flag == "--decisions" || f.flag == "--trace":
			return s.err
		default:
			return nil
		}
	}
	return s.out
}

// outputs are the files that a command writes, by their flags.
type outputs map[string]*output

// openOutputs opens the files, which it truncates. Commands do that before a long run,
// so that no run is for nothing.
func openOutputs(s *streams, flags []outputFlag) (outputs, error) {
	all := outputs{}
	for _, f := range flags {
		o, err := create(f.name, s)
		if err != nil {
			all.abandon()
			return nil, fmt.Errorf("%s: %w", f.flag, err)
		}
		all[f.flag] = o
	}
	return all, nil
}

// checkPlot refuses the name of a picture of no format; "" is none.
func checkPlot(name string) error {
	isFormat := func(ending string) bool { return strings.HasSuffix(name, ending) }
	if name != "" && !slices.ContainsFunc(chart.Formats, isFormat) {
		return usageError{fmt.Errorf("--plot: %q is not allowed: must end in %s", name, strings.Join(chart.Formats, " or "))}
	}
	return nil
}

// finishPlot draws a picture.
func (o outputs) finishPlot(name string, draw func(w io.Writer, name string) error) error {
	return o.finish("--plot", func(w io.Writer) error { return draw(w, name) })
}

// abandon closes what is still open: the command has failed already, or was done with it.
func (o outputs) abandon() {
	for _, one := range o {
		_ = one.Close()
	}
}

// finish writes to the file of a flag, unless there is none, and closes it. A nil write is
// of a file that has all lines already.
func (o outputs) finish(flag string, write func(io.Writer) error) (err error) {
	file := o[flag]
	if !file.wanted() {
		return nil
	}
	if write != nil {
		err = write(file)
	}
	if err = cmp.Or(err, file.Close()); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}

// finishJSON writes a report for programs.
func (o outputs) finishJSON(of any) error {
	return o.finish("--json", func(w io.Writer) error { return report.WriteJSON(w, of) })
}

// finishReport writes a report in the forms that were asked for: a document for people, and
// what it is of for programs. text may be nil.
func (o outputs) finishReport(document *report.Document, verbose bool, of any, text io.Writer) error {
	if err := o.finish("--html", document.WriteHTML); err != nil {
		return err
	}
	if err := o.finishJSON(of); err != nil {
		return err
	}
	if text == nil {
		return nil
	}
	document.Verbose = verbose
	if err := document.WriteText(text); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// output is a buffered file, standard output, or nothing.
type output struct {
	*bufio.Writer          // nil for nothing, and once closed
	file          *os.File // nil for standard output
}

// create opens an output: a file, which it truncates, - for standard output,
// or "" for none.
func create(name string, s *streams) (*output, error) {
	switch name {
	case "":
		return &output{}, nil
	case "-":
		return &output{Writer: bufio.NewWriterSize(s.out, 1<<16)}, nil
	}
	// Not os.Create, which opens for reading as well: a pipe would then have a
	// reader in this process, and never break.
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return nil, err
	}
	return &output{bufio.NewWriterSize(f, 1<<16), f}, nil
}

// wanted reports whether there is a file that is open.
func (o *output) wanted() bool { return o != nil && o.Writer != nil }

// Close writes out what is buffered. Its error means that something is missing.
// It may be called again.
func (o *output) Close() error {
	if o.Writer == nil {
		return nil
	}
	err := o.Flush()
	o.Writer = nil
	if o.file != nil {
		err = errors.Join(err, o.file.Close())
	}
	return err
}
