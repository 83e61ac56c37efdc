package conformance

import (
	"errors"
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
)

// Verify is Run outside go test: it returns what Run would have failed with, or
// nil. ErrSkipped matches where the check does not apply to the store, or was
// waived, and its text says why.
func (c Check) Verify(open Opener) error {
	outsideTest()
	t := &checkRecorder{name: c.Name}
	done := make(chan struct{})
	go func() { // FailNow and SkipNow end a goroutine
		defer close(done)
		defer t.end()
		c.Run(t, open)
	}()
	<-done
	if t.skipped {
		return fmt.Errorf("%w: %s", ErrSkipped, strings.TrimSpace(t.log.String()))
	}
	if text := strings.TrimSpace(t.log.String()); t.failed {
		if strings.HasPrefix(text, c.Name) {
			return errors.New(text)
		}
		return fmt.Errorf("%s: %s", c.Name, text)
	}
	return nil
}

// ErrSkipped is what Verify returns for a check that was not run.
var ErrSkipped = errors.New("skipped")

// outsideTest makes rapid work outside go test: it asks testing.Short, which
// panics before testing.Init and flag.Parse, and would write files.
var outsideTest = sync.OnceFunc(func() {
	if testing.Testing() {
		return
	}
	testing.Init()
	if !flag.Parsed() {
		_ = flag.CommandLine.Parse(nil) // nothing to parse: cannot fail
	}
	_ = flag.Set("rapid.nofailfile", "true") // rapid defines it
})

// checkRecorder is a TB that keeps what it is told.
type checkRecorder struct {
	name     string
	mu       sync.Mutex
	log      strings.Builder
	failed   bool
	skipped  bool
	cleanups []func()
}

// end is deferred to the end of a run: it turns a panic into a failure and
// cleans up.
func (r *checkRecorder) end() {
	if p := recover(); p != nil { // nil after Goexit
		r.Errorf("panic: %v\n%s", p, debug.Stack())
	}
	for len(r.cleanups) > 0 {
		last := len(r.cleanups) - 1
		f := r.cleanups[last]
		r.cleanups = r.cleanups[:last]
		f()
	}
}

func (r *checkRecorder) write(text string, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = r.failed || failed
	r.log.WriteString(text)
	r.log.WriteByte('\n')
}

func (r *checkRecorder) Helper()          {}
func (r *checkRecorder) Name() string     { return r.name }
func (r *checkRecorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

func (r *checkRecorder) Log(args ...any)                 { r.write(fmt.Sprint(args...), false) }
func (r *checkRecorder) Logf(format string, args ...any) { r.Log(fmt.Sprintf(format, args...)) }

func (r *checkRecorder) Error(args ...any)                 { r.write(fmt.Sprint(args...), true) }
func (r *checkRecorder) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }

func (r *checkRecorder) Fatal(args ...any)                 { r.Error(args...); runtime.Goexit() }
func (r *checkRecorder) Fatalf(format string, args ...any) { r.Fatal(fmt.Sprintf(format, args...)) }

func (r *checkRecorder) Skip(args ...any)                 { r.Log(args...); r.SkipNow() }
func (r *checkRecorder) Skipf(format string, args ...any) { r.Skip(fmt.Sprintf(format, args...)) }
func (r *checkRecorder) SkipNow() {
	r.mu.Lock()
	r.skipped = true
	r.mu.Unlock()
	runtime.Goexit()
}

func (r *checkRecorder) FailNow() { r.Fail(); runtime.Goexit() }
func (r *checkRecorder) Fail() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}

func (r *checkRecorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}
