package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/weirgo/weir/cmd/weir/internal/trace"
)

// expand returns the files that names and patterns such as access.log* name. A shell has
// mostly done it before.
func expand(names []string) (files []string, err error) {
	for _, name := range names {
		found := []string{name}
		if _, err := os.Lstat(name); name != "-" && err != nil && strings.ContainsAny(name, "*?[") {
			if found, err = filepath.Glob(name); err != nil {
				return nil, usageError{fmt.Errorf("%q is not a pattern: %w", name, err)}
			}
			if len(found) == 0 {
				return nil, usageError{fmt.Errorf("no file is like %q", name)}
			}
		}
		files = append(files, found...)
	}
	for i, file := range files {
		for _, other := range files[:i] {
			if sameFile(file, other) {
				return nil, usageError{fmt.Errorf("%q is the same file as %q: its requests would count twice", file, other)}
			}
		}
	}
	return files, nil
}

// inputs are the files of a trace. Each is opened when it is read.
type inputs struct {
	names []string
	in    io.Reader // what - is
	stop  func()    // ends the read that is under way
	size  int64     // of all; -1 where one has none
}

// newInputs looks at the files, and makes sure that no output is one of them.
func newInputs(names []string, s *streams, outputs []outputFlag) (*inputs, error) {
	names, err := expand(names)
	if err != nil {
		return nil, err
	}
	all := &inputs{names: names, in: s.in}
	for _, name := range names {
		about, err := all.stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, inputError{err}
		case err != nil:
			return nil, err
		case about != nil && about.IsDir():
			return nil, usageError{fmt.Errorf("%q is a directory: must be files, such as %q", name, filepath.Join(name, "*.log"))}
		case about == nil || !about.Mode().IsRegular():
			all.size = -1
			continue
		case all.size >= 0:
			all.size += about.Size()
		}
		if err := checkOutputs(about, outputs, s.out, "the trace itself"); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// stat describes a file; nil where standard input is none.
func (all *inputs) stat(name string) (fs.FileInfo, error) {
	if name != "-" {
		return os.Stat(name)
	}
	if file, is := all.in.(*os.File); is {
		return file.Stat()
	}
	return nil, nil
}

// checkOutputs makes sure that no output is a file that is read, which an error calls what.
func checkOutputs(from fs.FileInfo, outputs []outputFlag, out io.Writer, what string) error {
	for _, o := range outputs {
		to, err := os.Stat(o.name)
		if file, is := out.(*os.File); o.name == "-" && is {
			to, err = file.Stat()
		}
		if o.name != "" && err == nil && os.SameFile(from, to) {
			return usageError{fmt.Errorf("%s: %q is %s: must be another file", o.flag, o.name, what)}
		}
	}
	return nil
}

// open returns what the trace is read from.
func (all *inputs) open(ctx context.Context) (opened []trace.Input) {
	ctx, all.stop = context.WithCancel(ctx)
	for _, name := range all.names {
		opened = append(opened, trace.Input{Name: shownName(name), Open: func() (io.ReadCloser, error) { return openSource(ctx, name, all.in) }})
	}
	return opened
}

// shown names the files for a report.
func (all *inputs) shown() string {
	if n := len(all.names); n > 3 {
		return fmt.Sprintf("%s and %d more", all.names[0], n-1)
	}
	return strings.Join(all.names, " ")
}
