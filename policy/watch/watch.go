// Package watch keeps the policy of an Enforcer up to date with a file, or with a
// document on a Redis or Valkey server.
//
//	w, err := watch.New(ctx, watch.File("policy.yaml"), nil)
//	if err != nil {
//		return err // no policy to begin with
//	}
//	enforcer, err := policy.NewEnforcer(decider, w.Policy(), nil)
//	if err != nil {
//		return err
//	}
//	go w.Run(ctx, enforcer)
//
// A text that is no policy changes nothing: it is reported, and the last good version
// stays. Status says which version decides, how old it is, and what went wrong last.
//
// A document on a server is a Source too; see NewDocument of packages redisstore and
// valkeystore.
package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weirgo/weir/policy"
)

// Source is where the text of a policy is kept.
type Source interface {
	// Read returns the text as it is now, and its revision where the source counts
	// revisions; otherwise 0. It is called by one goroutine at a time, and must return
	// when ctx has ended.
	Read(ctx context.Context) (text []byte, revision int64, err error)
	// Notify calls changed, which returns immediately, whenever the text may have
	// changed, until ctx ends or it can notice no more; then it returns why. It may call
	// changed too often, and must not call it after it has returned. A source that cannot
	// notice changes returns an error immediately: then the text is only read at intervals.
	Notify(ctx context.Context, changed func()) error
}

// Options are the optional settings of a Watcher. nil means all defaults.
type Options struct {
	// Interval is how often the text is read without a notification, and how long after a
	// failure the source is asked for notifications again. 0 is 2 s; at least 10 ms.
	Interval time.Duration
	// Timeout bounds one reading. 0 is 2 s.
	Timeout time.Duration
	// Compile are the options for each version.
	Compile *policy.CompileOptions
	// Report is called after each change of the Status but for Seen: a new version, an
	// error, the end of an error. It is called by one goroutine at a time, and the next
	// reading waits for it. nil reports nothing.
	Report func(Status)
}

// Target is what gets new versions: a policy.Enforcer.
type Target interface {
	Swap(next *policy.Compiled) (before *policy.Compiled, err error)
}

// Status is what a Watcher knows.
type Status struct {
	// Version is that of the policy that decides, Compiled.Version.
	Version string
	// Revision is that of its text; 0 where the source counts none.
	Revision int64
	// Since is when the version was read first.
	Since time.Time
	// Seen is when the source last said what its text is. Where that is long ago, the
	// policy may be out of date: time.Since(Seen) is its age.
	Seen time.Time
	// Err is why the text that the source has now does not decide: it could not be read,
	// or is no policy. nil where it decides.
	Err error
	// NotifyErr is why the source notices no changes, so that they are only seen after
	// Interval. nil where it does.
	NotifyErr error
}

// Watcher reads a policy from a source, again and again. It is safe for concurrent use.
type Watcher struct {
	source Source
	opts   Options

	text    []byte // that the source had last, good or not; nil where it could not be read
	good    []byte // of the policy that decides
	mu      sync.Mutex
	status  Status
	current *policy.File
	ran     bool
	// notifyErr is the next Status.NotifyErr: only look reports.
	notifyErr error
}

// New reads the first version from a source. A source without one is an error: see
// policy.Parse for what its text may be.
func New(ctx context.Context, s Source, opts *Options) (*Watcher, error) {
	w := &Watcher{source: s}
	if opts != nil {
		w.opts = *opts
	}
	if w.opts.Interval == 0 {
		w.opts.Interval = 2 * time.Second
	}
	if w.opts.Timeout == 0 {
		w.opts.Timeout = 2 * time.Second
	}
	switch {
	case s == nil:
		return nil, errors.New("watch: the source is nil")
	case w.opts.Interval < 10*time.Millisecond:
		return nil, fmt.Errorf("watch: Options.Interval %s is not allowed: must be 0, or 10ms or more", w.opts.Interval)
	case w.opts.Timeout < 0:
		return nil, fmt.Errorf("watch: Options.Timeout %s is not allowed: must be 0 or more", w.opts.Timeout)
	}
	text, revision, err := w.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	file, err := parse(text, w.opts.Compile)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	w.text, w.good, w.current = text, text, file
	w.status = Status{Version: file.Compiled.Version(), Revision: revision, Since: now, Seen: now}
	return w, nil
}

// Policy returns the last good version.
func (w *Watcher) Policy() *policy.Compiled { return w.File().Compiled }

// File returns the last good version as it was read.
func (w *Watcher) File() *policy.File {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.current
}

// Status returns what is known now.
func (w *Watcher) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

// Run gives each new version to a target, until ctx ends; it returns the error of ctx.
// All of its goroutines have ended then. A second Run is an error.
func (w *Watcher) Run(ctx context.Context, t Target) error {
	w.mu.Lock()
	second := w.ran
	w.ran = true
	w.mu.Unlock()
	if second {
		return errors.New("watch: Run was called twice: must be once")
	}
	wake := make(chan struct{}, 1)
	changed := func() {
		select {
		case wake <- struct{}{}:
		default: // it is known already
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	defer func() { cancel(); <-done }()
	go func() {
		defer close(done)
		w.notify(ctx, changed)
	}()
	changed() // since New
	tick := time.NewTicker(w.opts.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wake:
		case <-tick.C:
		}
		w.look(ctx, t)
	}
}

// notify asks the source for notifications, again after each failure.
func (w *Watcher) notify(ctx context.Context, changed func()) {
	for ctx.Err() == nil {
		err := w.source.Notify(ctx, func() {
			w.setNotifying(nil)
			changed()
		})
		if err == nil {
			err = errors.New("the source has stopped to notice changes")
		}
		w.setNotifying(fmt.Errorf("watch: %w", err))
		select {
		case <-ctx.Done():
		case <-time.After(w.opts.Interval):
		}
	}
}

// setNotifying keeps how the notifications are, for the next look.
func (w *Watcher) setNotifying(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notifyErr = err
}

func (w *Watcher) read(ctx context.Context) ([]byte, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, w.opts.Timeout)
	defer cancel()
	return w.source.Read(ctx)
}

func parse(text []byte, opts *policy.CompileOptions) (*policy.File, error) {
	if len(text) == 0 {
		return nil, errors.New("watch: the source has no text")
	}
	return policy.Parse(text, opts)
}

// look reads the text, and gives it to the target if it is a new policy.
func (w *Watcher) look(ctx context.Context, t Target) {
	text, revision, err := w.read(ctx)
	now := time.Now()
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		w.text = nil // whatever it is, it is looked at when it can be read
		w.update(func(s *Status) { s.Err = fmt.Errorf("watch: %w", err) })
		return
	case w.text != nil && bytes.Equal(text, w.text):
		w.update(func(s *Status) { s.Seen, s.Revision = now, revisionOf(s, revision) })
		return
	}
	w.text = text
	file, err := parse(text, w.opts.Compile)
	isNew := err == nil && !bytes.Equal(text, w.good) // a bad text may be taken back
	if isNew {
		_, err = t.Swap(file.Compiled)
	}
	w.update(func(s *Status) {
		s.Seen, s.Err = now, err
		if err != nil {
			return
		}
		s.Revision = revision
		if isNew {
			s.Since, s.Version, w.current, w.good = now, file.Compiled.Version(), file, text
		}
	})
}

// revisionOf is the revision of the policy that decides, where the source has the same
// text in a new revision.
func revisionOf(s *Status, revision int64) int64 {
	if s.Err != nil {
		return s.Revision
	}
	return revision
}

// update changes the status, and reports what changed.
func (w *Watcher) update(change func(*Status)) {
	w.mu.Lock()
	before := w.status
	change(&w.status)
	w.status.NotifyErr = w.notifyErr
	after := w.status
	w.mu.Unlock()
	text := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	same := before.Version == after.Version && before.Revision == after.Revision && before.Since.Equal(after.Since) &&
		text(before.Err) == text(after.Err) && text(before.NotifyErr) == text(after.NotifyErr)
	if !same && w.opts.Report != nil {
		w.opts.Report(after)
	}
}
