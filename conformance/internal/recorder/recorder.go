// Package recorder runs a test function without package testing, and returns what
// it would have failed with.
package recorder

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// Result is what became of a test function.
type Result struct {
	Failed, Skipped bool
	Text            string // all that was logged
}

// Run calls f on a goroutine, which FailNow and SkipNow end, and waits for it. A
// panic of f is a failure.
func Run(name string, f func(t *T)) Result {
	t := &T{name: name}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer t.end()
		f(t)
	}()
	<-done
	return Result{t.failed, t.skipped, strings.TrimSpace(t.log.String())}
}

// T records what is logged. It has the methods of *testing.T that a check needs,
// and is safe for concurrent use but for Cleanup.
type T struct {
	name            string
	mu              sync.Mutex
	log             strings.Builder
	failed, skipped bool
	cleanups        []func()
}

// end turns a panic into a failure and cleans up.
func (t *T) end() {
	if p := recover(); p != nil { // nil after Goexit
		t.Errorf("panic: %v\n%s", p, debug.Stack())
	}
	for len(t.cleanups) > 0 {
		last := len(t.cleanups) - 1
		f := t.cleanups[last]
		t.cleanups = t.cleanups[:last]
		f()
	}
}

func (t *T) set(flag *bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*flag = true
}

// The methods of *testing.T.

func (t *T) Helper()          {}
func (t *T) Name() string     { return t.name }
func (t *T) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

func (t *T) Log(args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintln(&t.log, fmt.Sprint(args...))
}

func (t *T) Fail()    { t.set(&t.failed) }
func (t *T) FailNow() { t.Fail(); runtime.Goexit() }
func (t *T) SkipNow() { t.set(&t.skipped); runtime.Goexit() }

func (t *T) Failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

func (t *T) Logf(format string, args ...any)   { t.Log(fmt.Sprintf(format, args...)) }
func (t *T) Error(args ...any)                 { t.Log(args...); t.Fail() }
func (t *T) Errorf(format string, args ...any) { t.Logf(format, args...); t.Fail() }
func (t *T) Fatal(args ...any)                 { t.Log(args...); t.FailNow() }
func (t *T) Fatalf(format string, args ...any) { t.Logf(format, args...); t.FailNow() }
func (t *T) Skip(args ...any)                  { t.Log(args...); t.SkipNow() }
func (t *T) Skipf(format string, args ...any)  { t.Logf(format, args...); t.SkipNow() }
