package inflight_test

import (
	"testing"

	"github.com/weirgo/weir/resilience/inflight"
)

// BenchmarkAcquireRelease is what a request costs in memory: a hold and its release.
func BenchmarkAcquireRelease(b *testing.B) {
	l := newLimiter(b, newMemory(b, nil), inflight.MaxUnits, nil)
	b.ReportAllocs()
	for b.Loop() {
		hold, err := l.Acquire(background, "k")
		if err != nil {
			b.Fatal(err)
		}
		if err := hold.Release(background); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRefused is what a refusal costs.
func BenchmarkRefused(b *testing.B) {
	l := newLimiter(b, newMemory(b, nil), 1, nil)
	take(b, l)
	b.ReportAllocs()
	for b.Loop() {
		if hold, err := l.Acquire(background, "k"); err != nil || hold.Allowed() {
			b.Fatal(err)
		}
	}
}
