package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// source is the trace as it is read. A read ends when the context does, also
// where it waits for a pipe or a terminal.
type source struct {
	*io.PipeReader
	name string
	file *os.File // nil where the input is no file
	own  bool     // whether file is ours to close
}

// openSource opens a trace: a file, or - for standard input.
func openSource(ctx context.Context, name string, in io.Reader) (*source, error) {
	src := &source{name: name}
	if name == "-" {
		src.name = "standard input"
		src.file, _ = in.(*os.File)
	} else {
		file, err := openPatiently(ctx, name)
		if err != nil {
			return nil, err
		}
		in, src.file, src.own = file, file, true
	}
	// A read of a pipe or a terminal cannot be called off; it can be left alone.
	reader, writer := io.Pipe()
	src.PipeReader = reader
	context.AfterFunc(ctx, func() { writer.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.Copy(writer, in)
		writer.CloseWithError(err) // nil is the end
	}()
	return src, nil
}

// openPatiently opens a file. A pipe is opened when somebody writes to it, which may never
// be: then it ends with the context.
func openPatiently(ctx context.Context, name string) (*os.File, error) {
	type opened struct {
		file *os.File
		err  error
	}
	done := make(chan opened, 1)
	go func() {
		file, err := os.Open(name)
		done <- opened{file, err}
	}()
	select {
	case o := <-done:
		return o.file, o.err
	case <-ctx.Done():
		go func() { // should it be opened after all
			if o := <-done; o.err == nil {
				_ = o.file.Close() // nothing was read or written
			}
		}()
		return nil, ctx.Err()
	}
}

// Close ends all reads. Nothing is lost where a file that was read cannot be
// closed.
func (src *source) Close() error {
	src.PipeReader.Close() // always nil
	if src.own {
		src.file.Close()
	}
	return nil
}

// spare makes sure that an output is not the very file that is being read.
func (src *source) spare(flag, output string, out io.Writer) error {
	if src.file == nil || output == "" {
		return nil
	}
	from, err := src.file.Stat()
	if err != nil || !from.Mode().IsRegular() {
		return nil
	}
	to, err := os.Stat(output)
	if file, is := out.(*os.File); output == "-" && is {
		to, err = file.Stat()
	}
	if err == nil && os.SameFile(from, to) {
		return usageError{fmt.Errorf("%s: %q is the trace itself: must be another file", flag, output)}
	}
	return nil
}

// samePlace reports whether two outputs are one: the same name, differently
// written or not, or two links to one file.
func samePlace(a, b string) bool {
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

func (o *output) wanted() bool { return o.Writer != nil }

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

// written is a report that can be written in both forms.
type written interface {
	WriteJSON(w io.Writer) error
	WriteText(w io.Writer) error
}

// writeReport writes a report as JSON where that was asked for, and as text
// unless the JSON goes where the text would.
func writeReport(r written, summary *output, name string, text io.Writer) error {
	if summary.wanted() {
		err := r.WriteJSON(summary)
		if err == nil {
			err = summary.Close()
		}
		if err != nil {
			return fmt.Errorf("--json: %w", err)
		}
	}
	if name == "-" {
		return nil
	}
	if err := r.WriteText(text); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
