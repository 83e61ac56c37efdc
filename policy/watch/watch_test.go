package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/weirgo/weir/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// text is a policy with a limit.
func text(limit int) string {
	return fmt.Sprintf("version: 1\nrules:\n  - {id: a, limit: \"gcra:%d/1m\"}\n", limit)
}

// source is one in memory.
type source struct {
	mu       sync.Mutex
	text     string
	revision int64
	err      error
	mute     bool // whether it notices no changes
	changed  func()
	reads    int
}

func (s *source) set(change func(*source)) {
	s.mu.Lock()
	change(s)
	changed := s.changed
	s.mu.Unlock()
	if changed != nil {
		changed()
	}
}

func (s *source) Read(context.Context) ([]byte, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	return []byte(s.text), s.revision, s.err
}

func (s *source) Notify(ctx context.Context, changed func()) error {
	if s.mute {
		return errors.New("mute")
	}
	s.set(func(s *source) { s.changed = changed })
	<-ctx.Done()
	s.set(func(s *source) { s.changed = nil })
	return ctx.Err()
}

// target keeps the versions that it got.
type target struct {
	versions []string
	err      error
}

func (t *target) Swap(next *policy.Compiled) (*policy.Compiled, error) {
	if t.err != nil {
		return nil, t.err
	}
	t.versions = append(t.versions, next.Version())
	return nil, nil
}

// run runs a watcher in a bubble. In f, synctest.Wait waits until it is idle.
func run(t *testing.T, s *source, opts *Options, f func(w *Watcher, to *target)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w, err := New(ctx, s, opts)
		if err != nil {
			t.Fatal(err)
		}
		to, done := &target{}, make(chan error)
		go func() { done <- w.Run(ctx, to) }()
		synctest.Wait()
		f(w, to)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	})
}

func version(t *testing.T, text string) string {
	t.Helper()
	file, err := policy.Parse([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return file.Compiled.Version()
}

func TestChangeIsGivenOnImmediately(t *testing.T) {
	s := &source{text: text(1), revision: 7}
	run(t, s, nil, func(w *Watcher, to *target) {
		if got := w.Status(); got.Version != version(t, text(1)) || got.Revision != 7 || len(to.versions) > 0 {
			t.Errorf("%+v, %v", got, to.versions)
		}
		before := time.Now()
		s.set(func(s *source) { s.text, s.revision = text(2), 8 })
		synctest.Wait()
		got := w.Status()
		if len(to.versions) != 1 || to.versions[0] != version(t, text(2)) || got.Version != to.versions[0] || got.Revision != 8 ||
			!got.Since.Equal(before) || w.Policy().Version() != to.versions[0] {
			t.Errorf("%+v, %v", got, to.versions)
		}
	})
}

func TestChangeWithoutNotificationIsFoundWithinTheInterval(t *testing.T) {
	s := &source{text: text(1), mute: true}
	run(t, s, nil, func(w *Watcher, to *target) {
		s.set(func(s *source) { s.text = text(2) })
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(to.versions) != 1 {
			t.Errorf("%d versions", len(to.versions))
		}
		if err := w.Status().NotifyErr; err == nil || err.Error() != "watch: mute" {
			t.Error(err)
		}
	})
}

func TestBadTextKeepsTheLastGoodVersion(t *testing.T) {
	s := &source{text: text(1), revision: 1}
	var reported []string
	opts := &Options{Report: func(s Status) { reported = append(reported, fmt.Sprint(s.Version, " ", s.Revision, " ", s.Err != nil)) }}
	run(t, s, opts, func(w *Watcher, to *target) {
		good := w.Status().Version
		s.set(func(s *source) { s.text, s.revision = strings.Replace(text(2), "limit", "limti", 1), 2 })
		synctest.Wait()
		var invalid *policy.InvalidError
		got := w.Status()
		if !errors.As(got.Err, &invalid) || invalid.Fields[0].Line != 3 || got.Version != good || got.Revision != 1 || len(to.versions) > 0 {
			t.Errorf("%+v", got)
		}
		time.Sleep(time.Minute) // it is not reported again
		s.set(func(s *source) { s.text, s.revision = text(1), 3 })
		synctest.Wait()
		if got := w.Status(); got.Err != nil || got.Version != good || got.Revision != 3 || len(to.versions) > 0 {
			t.Errorf("taken back: %+v, %v", got, to.versions)
		}
		s.set(func(s *source) { s.text, s.revision = "", 4 })
		synctest.Wait()
		if got := w.Status(); got.Err == nil || !strings.Contains(got.Err.Error(), "no text") || got.Version != good {
			t.Errorf("emptied: %+v", got)
		}
	})
	want := []string{"1 true", "3 false", "3 true"}
	if len(reported) != len(want) {
		t.Fatalf("%q", reported)
	}
	for i, r := range reported {
		if !strings.HasSuffix(r, want[i]) {
			t.Errorf("%q, want %q", reported, want)
		}
	}
}

func TestUnreachableSourceKeepsThePolicyAndItsAge(t *testing.T) {
	s := &source{text: text(1)}
	run(t, s, nil, func(w *Watcher, to *target) {
		lost := errors.New("no route")
		s.set(func(s *source) { s.err = lost })
		began := time.Now()
		time.Sleep(time.Minute)
		got := w.Status()
		if !errors.Is(got.Err, lost) || got.Version != version(t, text(1)) {
			t.Errorf("%+v", got)
		}
		if age := time.Since(got.Seen); age < time.Minute || age > time.Since(began)+2*time.Second {
			t.Errorf("age %s", age)
		}
		s.set(func(s *source) { s.err, s.text = nil, text(3) })
		synctest.Wait()
		if got := w.Status(); got.Err != nil || time.Since(got.Seen) > 0 || len(to.versions) != 1 {
			t.Errorf("back: %+v, %v", got, to.versions)
		}
	})
}

func TestRefusedVersionIsReported(t *testing.T) {
	s := &source{text: text(1)}
	run(t, s, nil, func(w *Watcher, to *target) {
		to.err = errors.New("no")
		s.set(func(s *source) { s.text = text(2) })
		synctest.Wait()
		if got := w.Status(); !errors.Is(got.Err, to.err) || got.Version != version(t, text(1)) {
			t.Errorf("%+v", got)
		}
	})
}

func TestQuietSourceIsReadAtIntervals(t *testing.T) {
	s := &source{text: text(1)}
	run(t, s, &Options{Interval: time.Second}, func(*Watcher, *target) {
		s.mu.Lock()
		before := s.reads
		s.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		if n := s.reads - before; n < 59 || n > 61 {
			t.Errorf("%d readings in a minute", n)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	bad := errors.New("bad")
	for name, c := range map[string]struct {
		source Source
		opts   *Options
		want   string
	}{
		"no source":       {nil, nil, "watch: the source is nil"},
		"short interval":  {&source{text: text(1)}, &Options{Interval: time.Millisecond}, "watch: Options.Interval 1ms is not allowed: must be 0, or 10ms or more"},
		"timeout below 0": {&source{text: text(1)}, &Options{Timeout: -1}, "watch: Options.Timeout -1ns is not allowed"},
		"unreadable":      {&source{err: bad}, nil, "watch: bad"},
		"empty":           {&source{}, nil, "watch: the source has no text"},
		"no policy":       {&source{text: "version: 2"}, nil, "policy: line 1, column 10: version"},
	} {
		if _, err := New(t.Context(), c.source, c.opts); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestRunRunsOnce(t *testing.T) {
	w, err := New(t.Context(), &source{text: text(1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Run(ctx, &target{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := w.Run(ctx, &target{}); err == nil || errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
