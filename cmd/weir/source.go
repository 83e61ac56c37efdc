package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
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
	src := &source{name: shownName(name)}
	if name == "-" {
		src.file, _ = in.(*os.File)
	} else {
		file, err := openPatiently(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			err = inputError{err}
		}
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

// checkStandardInput refuses names of which several are standard input: it can be read once.
func checkStandardInput(names []string) error {
	first := slices.Index(names, "-")
	if first >= 0 && slices.Contains(names[first+1:], "-") {
		return usageError{errors.New("- was given more than once: standard input can be read once")}
	}
	return nil
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

// checkOutputs makes sure that no output is the very file that is being read; what is what an
// error calls it.
func (src *source) checkOutputs(outputs []outputFlag, out io.Writer, what string) error {
	if src.file == nil {
		return nil
	}
	about, err := src.file.Stat()
	if err != nil || !about.Mode().IsRegular() {
		return nil
	}
	return checkOutputs(about, outputs, out, what)
}
