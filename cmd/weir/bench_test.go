package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weirgo/weir/cmd/weir/internal/trace"
)

// BenchmarkReplay reports a whole replay as a multiple of decoding the same
// trace, x-decoder: both are run in turns, and the median of the ratios of
// neighbours counts.
func BenchmarkReplay(b *testing.B) {
	const events = 100_000
	data := popular(events, 1000)
	for _, c := range []struct {
		name string
		args []string
	}{
		{"report", nil},
		{"decisions", []string{"--decisions", "-"}},
	} {
		args := append([]string{"replay", "--limit", "gcra:100/1m,burst=20", "-"}, c.args...)
		b.Run(c.name, func(b *testing.B) {
			var ratios []float64
			for done := 0; done < b.N || len(ratios) < 15; done++ {
				start := time.Now()
				drain(b, data, events)
				decoded := time.Since(start)
				start = time.Now()
				if status := run(b.Context(), args, bytes.NewReader(data), io.Discard, io.Discard); status != exitOK {
					b.Fatal("exit status", status)
				}
				ratios = append(ratios, float64(time.Since(start))/float64(decoded))
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "x-decoder")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkSuggest reports what weir suggest takes for four limits as a multiple of one replay
// of the same trace, x-replay: both are run in turns, and the median of the ratios of neighbours
// counts. 20 is the most that is allowed.
func BenchmarkSuggest(b *testing.B) {
	const events = 1_000_000
	data := popular(events, 10_000)
	timed := func(args ...string) time.Duration {
		start := time.Now()
		if status := run(b.Context(), append(args, "--sort", "-"), bytes.NewReader(data), io.Discard, io.Discard); status != exitOK {
			b.Fatal("exit status", status)
		}
		return time.Since(start)
	}
	var ratios []float64
	for done := 0; done < b.N || len(ratios) < 3; done++ {
		replay := timed("replay", "--limit", "gcra:100/1m")
		ratios = append(ratios, float64(timed("suggest"))/float64(replay))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "x-replay")
	b.ReportMetric(0, "ns/op")
}

// popular makes a JSON Lines trace over keys of which few are asked for often.
func popular(events int, keys uint64) []byte {
	rng := rand.New(rand.NewPCG(2026, 1))
	zipf := rand.NewZipf(rng, 1.1, 1, keys-1)
	var b bytes.Buffer
	at := int64(1_764_277_200_000_000)
	for range events {
		at += rng.Int64N(2000)
		fmt.Fprintf(&b, "{\"at_us\":%d,\"key\":\"user:%015d\",\"cost\":%d}\n", at, zipf.Uint64(), 1+rng.IntN(3))
	}
	return b.Bytes()
}

// drain only reads a trace.
func drain(b *testing.B, data []byte, events int) {
	reader, err := trace.Open(bytes.NewReader(data), nil)
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for ; err == nil; n++ {
		_, err = reader.Next()
	}
	if err != io.EOF || n-1 != events {
		b.Fatal(n-1, "events,", err)
	}
}
