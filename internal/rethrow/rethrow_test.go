package rethrow

import (
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
)

// TestPanicGoesOnWhereItIsWaitedFor: after all have ended, and with the stack of its goroutine.
func TestPanicGoesOnWhereItIsWaitedFor(t *testing.T) {
	var ended atomic.Int32
	defer func() {
		err, is := recover().(error)
		if !is || !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "rethrow_test.go") {
			t.Errorf("Wait panics with %v", err)
		}
		if n := ended.Load(); n != 4 {
			t.Errorf("%d have ended, want 4", n)
		}
	}()
	var g Group
	for i := range 4 {
		g.Go(func() {
			defer ended.Add(1)
			if i%2 == 0 {
				panic(io.ErrUnexpectedEOF)
			}
		})
	}
	g.Wait()
	t.Error("Wait returns")
}
