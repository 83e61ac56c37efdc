package servertest

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// host is a testing.TB without package testing behind it, for commands that start
// servers. It has the methods that this package uses and the usual ways to fail; another
// one panics.
type host struct {
	testing.TB // nil

	mu       sync.Mutex
	cleanups []func()
	failed   error
}

// AsTest runs f as a test would be run, outside of one, and what it has left to clean
// up. The error is what the test would have failed with; a skip is an error, too.
func AsTest(f func(tb testing.TB)) error {
	h := &host{}
	h.isolated(func() { f(h) })
	for {
		h.mu.Lock()
		last := len(h.cleanups) - 1
		if last < 0 {
			h.mu.Unlock()
			return h.failed
		}
		cleanup := h.cleanups[last]
		h.cleanups = h.cleanups[:last]
		h.mu.Unlock()
		h.isolated(cleanup)
	}
}

// isolated runs f where Fatalf can end it.
func (h *host) isolated(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func (h *host) Helper() {}

func (h *host) Cleanup(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cleanups = append(h.cleanups, f)
}

func (h *host) Errorf(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed = errors.Join(h.failed, fmt.Errorf(format, args...))
}

func (h *host) Error(args ...any) { h.Errorf("%s", fmt.Sprint(args...)) }

func (h *host) Fatal(args ...any) { h.Fatalf("%s", fmt.Sprint(args...)) }

func (h *host) Logf(format string, args ...any) { h.Errorf(format, args...) }

func (h *host) Fatalf(format string, args ...any) {
	h.Errorf(format, args...)
	runtime.Goexit()
}

func (h *host) Skipf(format string, args ...any) { h.Fatalf(format, args...) }

func (h *host) Failed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failed != nil
}
