package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/weirgo/weir/cmd/weir/internal/trace"
	"github.com/weirgo/weir/sim"
	"github.com/weirgo/weir/sim/scenario"
)

// traces is sim.Options.Traces: it opens traces in the formats of a replay, in the folder
// of the scenario. A read ends when the context does.
func (src *simSource) traces(ctx context.Context) func(scenario.Process) (sim.Recording, error) {
	if src.files == nil {
		return nil
	}
	return func(p scenario.Process) (sim.Recording, error) { return openRecording(ctx, src.files, p) }
}

// recording is a trace of a scenario. It is sorted by time whatever its format, since in
// a simulation no time goes back.
type recording struct {
	file   fs.File
	reader *trace.Reader
}

var _ sim.Recording = (*recording)(nil)

func openRecording(ctx context.Context, files fs.FS, p scenario.Process) (sim.Recording, error) {
	file, err := files.Open(p.File)
	if err != nil {
		return nil, &scenario.Error{Path: "file", Cause: err}
	}
	reader, err := trace.Open(untilDone{ctx, file}, &trace.Options{
		Format: p.Format, LogFormat: p.LogFormat, Envelope: p.Envelope, Key: p.Key, Sort: true,
		TimeColumn: p.TimeColumn, TimeUnit: p.TimeUnit, CostColumn: p.CostColumn,
	})
	if option := (*trace.OptionError)(nil); errors.As(err, &option) {
		err = &scenario.Error{Path: strings.ReplaceAll(option.Option, " ", "_"), Cause: errors.New(option.Problem)}
	} else if err != nil {
		err = &scenario.Error{Path: "file", Cause: fmt.Errorf("%s: %w", p.File, err)}
	}
	if err != nil {
		_ = file.Close() // nothing is lost: it was only read
		return nil, err
	}
	return &recording{file, reader}, nil
}

// Next implements sim.Recording. The first reads all of the file.
func (r *recording) Next() (at int64, key string, cost int64, err error) {
	e, err := r.reader.Next()
	return e.At, e.Key, e.Cost, err
}

// Bad implements sim.Recording.
func (r *recording) Bad() (lines int64, first string) {
	lines, bad := r.reader.Bad()
	if misfit, found := r.reader.Misfit(); found {
		return lines, misfit.String()
	}
	if lines > 0 {
		first = fmt.Sprintf("line %d: %s", bad[0].Number, bad[0].Reason)
	}
	return lines, first
}

// Close implements sim.Recording. Nothing is lost where a file that was read cannot be
// closed.
func (r *recording) Close() error {
	_ = r.file.Close()
	return r.reader.Close()
}

// untilDone is a reader that ends with a context.
type untilDone struct {
	ctx context.Context
	in  io.Reader
}

func (r untilDone) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.in.Read(p)
}

// plainFiles refuses what is no regular file. Each run reads a file anew, which a pipe does
// not allow; and to open one may wait for ever.
type plainFiles struct{ fs.FS }

func (f plainFiles) Open(name string) (fs.File, error) {
	if about, err := fs.Stat(f.FS, name); err == nil && !about.Mode().IsRegular() {
		what := "a pipe or a device is not allowed"
		if about.IsDir() {
			what = "is a directory"
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New(what + ": must be a regular file")}
	}
	return f.FS.Open(name)
}

// named returns the files that the traffic of a scenario names, in the folder of it.
func (src *simSource) named() (all []string) {
	if src.scenario == nil || src.files == nil {
		return nil
	}
	for _, t := range src.scenario.Traffic {
		if t.Process.File != "" {
			all = append(all, t.Process.File)
		}
	}
	if file := src.scenario.PolicyFile; file != "" {
		all = append(all, file)
	}
	return all
}

// checkOutput makes sure that no output is a file that the scenario names, and that a scenario
// which is saved finds them where it is.
func (src *simSource) checkOutput() error {
	for _, file := range src.named() {
		for _, o := range src.flags.outputFlags() {
			if sameFile(o.name, filepath.Join(filepath.Dir(src.file), file)) {
				return usageError{fmt.Errorf("%s: %q is a file that the scenario names: must be another file", o.flag, o.name)}
			}
		}
		if out := src.flags.Out; out != "" && !sameFile(filepath.Dir(out), filepath.Dir(src.file)) {
			return usageError{fmt.Errorf("--out: %q is in another folder than the scenario, which names the file %q: must be beside the scenario", out, file)}
		}
	}
	return nil
}
