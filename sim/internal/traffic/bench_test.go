package traffic

import (
	"testing"

	"github.com/weirgo/weir/sim/scenario"
)

func BenchmarkSource(b *testing.B) {
	for _, l := range loads {
		b.Run(l.name, func(b *testing.B) {
			s := source(b, l.load)
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := s.Next(); !ok {
					b.Fatal("it ended")
				}
			}
		})
	}
}

func BenchmarkZipf(b *testing.B) {
	for _, n := range []int64{100, 10_000, 1_000_000} {
		b.Run(keyName("keys", n), func(b *testing.B) {
			p := keyPicker(scenario.Keys{Kind: "zipf", N: n, Alpha: new(scenario.Decimal(800_000))})
			for b.Loop() {
				p.Key(0)
			}
		})
	}
}

func TestSourceDoesNotAllocate(t *testing.T) {
	for _, l := range loads {
		if l.load.Keys.Kind == "spray" {
			continue // a new key each time is a new string each time
		}
		s := source(t, l.load)
		take(t, s, 1000) // the keys of clients are made once
		if n := testing.AllocsPerRun(1000, func() { s.Next() }); n != 0 {
			t.Errorf("%s: %v allocations", l.name, n)
		}
	}
}
