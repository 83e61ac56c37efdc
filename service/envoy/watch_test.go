package envoy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// within waits until yes, for a generous while.
func within(t *testing.T, what string, yes func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !yes(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// write replaces a file as a whole: nobody reads half of it, however slow the machine is.
func write(t *testing.T, name, text string) {
	t.Helper()
	whole := filepath.Join(filepath.Dir(name), ".new") // not read in a folder: it starts with a dot
	if err := os.WriteFile(whole, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(whole, name); err != nil {
		t.Fatal(err)
	}
}

func limitOf(domain string, n int) string {
	return fmt.Sprintf("domain: %s\ndescriptors: [{key: k, rate_limit: {unit: day, requests_per_unit: %d}}]\n", domain, n)
}

// watching is a service that follows paths.
func watching(t *testing.T, interval time.Duration, paths ...string) *Service {
	t.Helper()
	s, err := New(inMemory(t, mockClock()), nil, nil)
	must(t, s, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Watch(ctx, paths, &WatchOptions{Interval: interval}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return s
}

// shows reports whether s decides by limits, each a domain and a number.
func shows(s *Service, limits ...string) func() bool {
	return func() bool {
		c := s.Config()
		if c == nil {
			return false
		}
		var want strings.Builder
		for _, l := range limits {
			domain, n, _ := strings.Cut(l, " ")
			fmt.Fprintf(&want, "%s.k: unit=DAY requests_per_unit=%s, shadow_mode: false, quota_mode: false\n", domain, n)
		}
		return c.Dump() == want.String()
	}
}

// TestFolderIsFollowed: files come, change and go; a mistake leaves what decided.
func TestFolderIsFollowed(t *testing.T) {
	for name, interval := range map[string]time.Duration{"noticed": time.Hour, "polled": 10 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "b.yaml"), limitOf("b", 1))
			write(t, filepath.Join(dir, ".hidden.yaml"), "no: yaml")
			write(t, filepath.Join(dir, "notes.txt"), "no: yaml")
			s := watching(t, interval, dir)
			within(t, "the first", shows(s, "b 1"))
			write(t, filepath.Join(dir, "a.yml"), limitOf("a", 2))
			within(t, "a file more", shows(s, "a 2", "b 1"))
			write(t, filepath.Join(dir, "a.yml"), "domain: b\n")
			within(t, "a mistake", func() bool { return s.Stats().ConfigLoadErrors > 0 })
			if !shows(s, "a 2", "b 1")() {
				t.Error("a mistake took the configuration with it")
			}
			if err := os.Remove(filepath.Join(dir, "a.yml")); err != nil {
				t.Fatal(err)
			}
			within(t, "a file less", shows(s, "b 1"))
		})
	}
}

// TestSwappedLinkIsFollowed: as a ConfigMap is changed.
func TestSwappedLinkIsFollowed(t *testing.T) {
	dir := t.TempDir()
	swap := func(folder string, limit int) {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, folder, "l.yaml"), limitOf("d", limit))
		if err := os.Symlink(folder, filepath.Join(dir, "..tmp")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	swap("..1", 1)
	if err := os.Symlink(filepath.Join("..data", "l.yaml"), filepath.Join(dir, "l.yaml")); err != nil {
		t.Fatal(err)
	}
	s := watching(t, time.Hour, dir)
	within(t, "the first", shows(s, "d 1"))
	swap("..2", 2)
	within(t, "the second", shows(s, "d 2"))
}

// TestMissingFileIsReported: once, and what decided stays.
func TestMissingFileIsReported(t *testing.T) {
	name := filepath.Join(t.TempDir(), "l.yaml")
	write(t, name, limitOf("d", 1))
	s, err := New(inMemory(t, mockClock()), nil, nil)
	must(t, s, err)
	reports := make(chan error, 100)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- s.Watch(ctx, []string{name}, &WatchOptions{Interval: 10 * time.Millisecond, Report: func(err error) { reports <- err }})
	}()
	if err := <-reports; err != nil {
		t.Error(err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := <-reports; !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if !shows(s, "d 1")() {
		t.Error("a file that is gone took the configuration with it")
	}
	write(t, name, limitOf("d", 1))
	if err := <-reports; err != nil {
		t.Error(err)
	}
	cancel()
	<-done
	if len(reports) > 0 {
		t.Errorf("reported again: %v", <-reports)
	}
}

func TestWatchChecksItsOptions(t *testing.T) {
	s, err := New(inMemory(t, mockClock()), nil, nil)
	must(t, s, err)
	if err := s.Watch(context.Background(), []string{"x"}, &WatchOptions{Interval: time.Millisecond}); err == nil {
		t.Error("an interval of 1 ms was taken")
	}
	if err := s.Watch(context.Background(), nil, nil); err == nil {
		t.Error("no path was taken")
	}
}

func TestFileThatIsTooLargeIsRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "l.yaml")
	write(t, name, strings.Repeat("#", maxFile+1))
	if _, err := ReadFiles(context.Background(), name); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
}
