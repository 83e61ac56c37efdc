package watch

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/weirgo/weir/internal/document/size"
)

// settle is how long a file must not have changed before it is read: a file that is
// written in place is half a policy in between, and half a policy can be a valid one.
const settle = 100 * time.Millisecond

// File returns the source of a file. Its name may be a symbolic link, and the folder that
// it leads through may be swapped, as Kubernetes does with a ConfigMap. Changes are
// noticed through the operating system where it can, and at Options.Interval where it
// cannot, as on many network file systems.
//
// To replace a policy, write another file and rename it. A file that is written in place
// is read when it has not changed for 100 ms.
func File(name string) Source { return file(name) }

type file string

// Read implements Source.
func (name file) Read(ctx context.Context) (text []byte, revision int64, err error) {
	for {
		text, about, err := readOnce(string(name))
		if err != nil {
			return nil, 0, err
		}
		rest := unsettled(about.ModTime(), time.Now())
		if rest == 0 {
			return text, 0, nil
		}
		select {
		case <-ctx.Done():
			return nil, 0, fmt.Errorf("%s is being written: %w", string(name), ctx.Err())
		case <-time.After(rest):
		}
	}
}

// unsettled returns how long a file that was modified at an instant must be left alone
// yet. An instant in the future says nothing: the clock of the file system is another.
func unsettled(modified, now time.Time) time.Duration {
	if age := now.Sub(modified); age >= 0 {
		return max(0, settle-age)
	}
	return 0
}

// readOnce reads a file, and says what it was after that.
func readOnce(name string) ([]byte, os.FileInfo, error) {
	about, err := os.Stat(name) // before it is opened: a pipe would wait for somebody who writes
	if err != nil {
		return nil, nil, err
	}
	if !about.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("watch: %s is no regular file: must be one", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()                                                // nothing was written
	text, err := io.ReadAll(io.LimitReader(f, size.MaxDocument+1)) // more than policy.Parse takes: it says so
	if err != nil {
		return nil, nil, err
	}
	about, err = f.Stat()
	return text, about, err
}

// Notify implements Source.
func (name file) Notify(ctx context.Context, changed func()) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer w.Close() // nothing was written
	if err := name.watchFolders(w); err != nil {
		return err
	}
	changed() // what happened before
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err, open := <-w.Errors:
			if !open {
				return nil
			}
			return err
		case _, open := <-w.Events:
			if !open {
				return nil
			}
			if err := name.watchFolders(w); err != nil {
				return err
			}
			changed()
			if !pause(ctx, w.Events) {
				return ctx.Err()
			}
			changed()
		}
	}
}

// pause passes over the events of 50 ms: other files of the folder may change all the
// time. It returns false where ctx has ended.
func pause(ctx context.Context, events <-chan fsnotify.Event) bool {
	end := time.After(50 * time.Millisecond)
	for {
		select {
		case <-ctx.Done():
			return false
		case <-end:
			return true
		case _, open := <-events:
			if !open {
				return true
			}
		}
	}
}

// watchFolders watches the folder of the name, and of what it leads to. A file itself is
// not watched: it may be replaced by another one of the same name.
func (name file) watchFolders(w *fsnotify.Watcher) error {
	if err := w.Add(filepath.Dir(string(name))); err != nil {
		return err
	}
	if target, err := filepath.EvalSymlinks(string(name)); err == nil {
		return w.Add(filepath.Dir(target))
	}
	return nil // the file is not there: the folder says when it comes
}
