package envoy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weirgo/weir/policy/watch"
)

// WatchOptions are the optional settings of Watch. nil means all defaults.
type WatchOptions struct {
	// Interval is how often the files are read without a notification. 0 is 2 s; at least
	// 10 ms.
	Interval time.Duration
	// Report is called after each new configuration, with nil, and after each mistake that
	// is another one than before. It is called by one goroutine. nil reports nothing.
	Report func(error)
}

// ReadFiles reads configuration files. A path is a file, or a folder of which the files
// that end with .yaml or .yml are read, in the order of their names, but for those whose
// names start with a dot. A file that was written within the last 100 ms is waited for. A
// folder may have no files; a file must be there.
func ReadFiles(ctx context.Context, paths ...string) ([]File, error) {
	var files []File
	for _, path := range paths {
		names, err := namesOf(path)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			text, _, err := watch.File(name).Read(ctx)
			if err != nil {
				return nil, err
			}
			if len(text) > maxFile {
				return nil, fmt.Errorf("envoy: %s has more than %d bytes", name, maxFile)
			}
			files = append(files, File{name, string(text)})
		}
	}
	return files, nil
}

// maxFile is the most bytes of a file.
const maxFile = 4 << 20

// namesOf returns the files of a path.
func namesOf(path string) ([]string, error) {
	about, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !about.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path) // in the order of their names
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, ".") && (strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")) {
			names = append(names, filepath.Join(path, name))
		}
	}
	return names, nil
}

// Watch reads the files of paths (see ReadFiles) again whenever they change, until ctx
// ends, and returns its error. A link may be swapped, as Kubernetes does with a ConfigMap.
// Changes are noticed through the operating system where it can, and otherwise at
// intervals. Files that cannot be read, or with a mistake, leave what decided before, and
// are counted. Watch is called once; opts may be nil.
func (s *Service) Watch(ctx context.Context, paths []string, opts *WatchOptions) error {
	interval, report := 2*time.Second, func(error) {}
	if opts != nil {
		if opts.Interval != 0 {
			interval = opts.Interval
		}
		if opts.Report != nil {
			report = opts.Report
		}
	}
	if interval < 10*time.Millisecond {
		return fmt.Errorf("envoy: WatchOptions.Interval %s is not allowed: must be 0, or 10ms or more", interval)
	}
	if len(paths) == 0 {
		return errors.New("envoy: Watch needs a path")
	}
	ctx, cancel := context.WithCancel(ctx)
	var notifiers sync.WaitGroup
	defer notifiers.Wait()
	defer cancel()
	wake := make(chan struct{}, 1)
	for _, source := range sourcesOf(paths) {
		notifiers.Go(func() { notify(ctx, source, interval, wake) })
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	last := reader{}
	for {
		last.look(ctx, s, paths, report)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wake:
		case <-tick.C:
		}
	}
}

// sourcesOf returns what to notice changes of: each path, and of a folder what is in it.
func sourcesOf(paths []string) []watch.Source {
	var sources []watch.Source
	for _, path := range paths {
		sources = append(sources, watch.File(path))
		if about, err := os.Stat(path); err == nil && about.IsDir() {
			sources = append(sources, watch.File(filepath.Join(path, "any"))) // its folder is watched
		}
	}
	return sources
}

// notify wakes the watcher whenever a source has changed. A source that notices nothing is
// asked again after an interval, in which the files are read.
func notify(ctx context.Context, source watch.Source, interval time.Duration, wake chan<- struct{}) {
	for ctx.Err() == nil {
		_ = source.Notify(ctx, func() { // why it notices nothing changes nothing: see Watch
			select {
			case wake <- struct{}{}:
			default: // it is known already
			}
		})
		select {
		case <-ctx.Done():
		case <-time.After(interval):
		}
	}
}

// reader is what was read last.
type reader struct {
	files []File
	read  bool
	err   string // "" for none
}

// look reads the files, and loads them if they are others than before.
func (r *reader) look(ctx context.Context, s *Service, paths []string, report func(error)) {
	files, err := ReadFiles(ctx, paths...)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		r.read = false
		if r.err == err.Error() {
			return
		}
		s.loadErrors.Add(1)
	case r.read && slices.Equal(files, r.files):
		return
	default:
		r.read, r.files = true, files
		err = s.Load(files)
	}
	before := r.err
	r.err = ""
	if err != nil {
		r.err = err.Error()
	}
	if err == nil || r.err != before {
		report(err)
	}
}
