package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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

// follow watches a file. An interval of an hour leaves notifications alone.
func follow(t *testing.T, name string, interval time.Duration) *Watcher {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w, err := New(ctx, File(name), &Options{Interval: interval})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx, &target{}) }()
	t.Cleanup(func() { cancel(); <-done })
	return w
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFileIsFollowed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "policy.yaml")
	write(t, name, text(1))
	w := follow(t, name, time.Hour)
	is := func(limit int) func() bool {
		want := version(t, text(limit))
		return func() bool { s := w.Status(); return s.Version == want && s.Err == nil }
	}
	write(t, name, text(2))
	within(t, "written in place", is(2))
	write(t, name+".new", text(3))
	must(t, os.Rename(name+".new", name))
	within(t, "renamed", is(3))
	must(t, os.Remove(name))
	within(t, "removed", func() bool { return errors.Is(w.Status().Err, os.ErrNotExist) })
	if !sameVersion(w, t, 3) {
		t.Error("a file that is gone took the policy with it")
	}
	write(t, name, text(4))
	within(t, "created", is(4))
}

func sameVersion(w *Watcher, t *testing.T, limit int) bool {
	return w.Policy().Version() == version(t, text(limit))
}

// TestSwappedFolderIsFollowed: Kubernetes renames a link to the folder of a ConfigMap.
func TestSwappedFolderIsFollowed(t *testing.T) {
	dir := t.TempDir()
	put := func(folder string, limit int) {
		must(t, os.Mkdir(filepath.Join(dir, folder), 0o700))
		write(t, filepath.Join(dir, folder, "policy.yaml"), text(limit))
	}
	put("..2026_1", 1)
	must(t, os.Symlink("..2026_1", filepath.Join(dir, "..data")))
	name := filepath.Join(dir, "policy.yaml")
	must(t, os.Symlink(filepath.Join("..data", "policy.yaml"), name))
	w := follow(t, name, time.Hour)
	for limit, folder := range map[int]string{2: "..2026_2", 3: "..2026_3"} {
		put(folder, limit)
		must(t, os.Symlink(folder, filepath.Join(dir, "..data_tmp")))
		must(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
		within(t, folder, func() bool { return sameVersion(w, t, limit) })
	}
}

func TestFileIsFoundByPolling(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(t.TempDir(), "linked.yaml")
	write(t, other, text(1))
	name := filepath.Join(dir, "policy.yaml")
	write(t, name, text(1))
	w, err := New(context.Background(), unnoticed{File(name)}, &Options{Interval: 10 * time.Millisecond})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx, &target{}) }()
	defer func() { cancel(); <-done }()
	write(t, name, text(2))
	within(t, "polled", func() bool { return sameVersion(w, t, 2) })
	if w.Status().NotifyErr == nil {
		t.Error("nobody says that changes are not noticed")
	}
}

// unnoticed is a source whose changes are not noticed.
type unnoticed struct{ Source }

func (unnoticed) Notify(context.Context, func()) error { return errors.New("not here") }

// TestFreshFileIsLeftAlone: half of what somebody writes may be a valid policy.
func TestFreshFileIsLeftAlone(t *testing.T) {
	at := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	for age, want := range map[time.Duration]time.Duration{
		0: settle, settle / 4: settle * 3 / 4, settle - 1: 1, settle: 0, time.Hour: 0, -1: 0, -time.Hour: 0,
	} {
		if got := unsettled(at, at.Add(age)); got != want {
			t.Errorf("modified %s ago: %s, want %s", age, got, want)
		}
	}
}
