package main

import (
	"runtime"
	"runtime/metrics"
	"testing"
)

// TestServiceCollectsSeldom: only where nobody has said how often.
func TestServiceCollectsSeldom(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	kept := collectLess()
	runtime.GC()
	goal := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	metrics.Read(goal)
	if got := goal[0].Value.Uint64(); got < 2*headroom {
		t.Errorf("the heap is collected at %d bytes, want %d or more", got, 2*headroom)
	}
	runtime.KeepAlive(kept)
	t.Setenv("GOMEMLIMIT", "100MiB")
	if collectLess() != nil {
		t.Error("memory is taken where it has a limit")
	}
}
