package traffic

import (
	"encoding/binary"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"strings"
	"testing"

	"github.com/weirgo/weir/sim/scenario"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// golden compares text with a file, and shows the first line that differs.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(text), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		if i >= len(gotLines) || i >= len(wantLines) {
			t.Fatalf("%d lines, want %d; -update rewrites %s", len(gotLines), len(wantLines), file)
		}
		if gotLines[i] != wantLines[i] {
			t.Fatalf("%s:%d differs; -update rewrites the file\n got %s\nwant %s", file, i+1, gotLines[i], wantLines[i])
		}
	}
}

func digest(list []Arrival) uint64 {
	h := fnv.New64a()
	var word [8]byte
	for _, a := range list {
		for _, n := range []int64{a.At, a.Cost, int64(len(a.Key))} {
			binary.LittleEndian.PutUint64(word[:], uint64(n))
			h.Write(word[:])
		}
		h.Write([]byte(a.Key))
	}
	return h.Sum64()
}

func TestArrivalsAreTheSameOnEveryPlatform(t *testing.T) {
	var got strings.Builder
	for _, l := range loads {
		list := take(t, source(t, l.load), 10_000)
		fmt.Fprintf(&got, "%-20s %016x", l.name, digest(list))
		for _, a := range []Arrival{list[0], list[1], list[9999]} {
			fmt.Fprintf(&got, "  %d %s %d", a.At, a.Key, a.Cost)
		}
		fmt.Fprintln(&got)
	}
	golden(t, "testdata/arrivals.golden", got.String())
}

func TestSameSeedSameArrivals(t *testing.T) {
	for _, l := range loads {
		a, b := source(t, l.load), source(t, l.load)
		for i := range 2000 {
			x, _ := a.Next()
			if y, _ := b.Next(); x != y {
				t.Fatalf("%s: arrival %d is %v, then %v", l.name, i, x, y)
			}
		}
	}
}

// A change of the costs must not move the instants or the keys, and so on: each has
// a stream of its own.
func TestPartsOfALoadDrawFromTheirOwnStreams(t *testing.T) {
	plain := take(t, source(t, keyed(scenario.Keys{Kind: "uniform", N: 1000})), 1000)
	changed := keyed(scenario.Keys{Kind: "uniform", N: 1000})
	changed.Costs = scenario.Costs{Kind: "geometric", Mean: 4 * one}
	for i, a := range take(t, source(t, changed), 1000) {
		if a.At != plain[i].At || a.Key != plain[i].Key {
			t.Fatalf("with other costs arrival %d is %v, not %v", i, a, plain[i])
		}
	}
	for i, a := range take(t, source(t, keyed(scenario.Keys{Kind: "hot", N: 5})), 1000) {
		if a.At != plain[i].At {
			t.Fatalf("with other keys arrival %d is at %d, not %d", i, a.At, plain[i].At)
		}
	}
}
