package trace

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestExternalSortEqualsAStableSort(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range 300 {
		run := 1 + rng.IntN(9)
		n := rng.IntN(12 * run)
		if i%50 == 0 { // buffers that are read several times
			run, n = 3000+rng.IntN(3000), 20000
		}
		spread := 1 + rng.Int64N(20) // few instants: many ties
		var text strings.Builder
		var want []Event
		index := map[string]int{}
		for range n {
			e := Event{At: rng.Int64N(spread), Key: fmt.Sprint("k", rng.IntN(5)), Cost: rng.Int64N(1000)}
			if rng.IntN(50) == 0 {
				e.At, e.Cost = MaxAt, math.MaxInt64
			}
			if _, ok := index[e.Key]; !ok {
				index[e.Key] = len(index)
			}
			e.KeyIndex = index[e.Key]
			want = append(want, e)
			fmt.Fprintf(&text, "{\"at_us\":%d,\"key\":%q,\"cost\":%d}\n", e.At, e.Key, e.Cost)
		}
		slices.SortStableFunc(want, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
		dir := t.TempDir()
		got, _ := readAll(t, text.String(), &Options{Format: "jsonl", Sort: true, RunEvents: run, TempDir: dir})
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d, case %d: %d events in runs of %d\n got %v\nwant %v", seed, i, n, run, got, want)
		}
		wantEmpty(t, dir)
	}
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left in the folder of the sort: %v, %v", left, err)
	}
}

// descending is a trace of n events whose time falls.
func descending(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "{\"at_us\":%d,\"key\":\"k\"}\n", n-i)
	}
	return text.String()
}

func TestTraceOfOneRunMakesNoFile(t *testing.T) {
	opts := &Options{Sort: true, RunEvents: 10, TempDir: filepath.Join(t.TempDir(), "missing")}
	if got, _ := readAll(t, descending(10), opts); len(got) != 10 || got[0].At != 1 {
		t.Errorf("events %v", got)
	}
	r, err := Open(strings.NewReader(descending(11)), opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Next with a missing folder: %v", err)
	}
	if _, again := r.Next(); !errors.Is(again, os.ErrNotExist) {
		t.Errorf("the error does not stay: %v", again)
	}
}

func TestTemporaryFileIsGoneHoweverTheReadingEnds(t *testing.T) {
	open := func(t *testing.T, in io.Reader) (*Reader, string) {
		dir := t.TempDir()
		r, err := Open(in, &Options{Format: "jsonl", Sort: true, RunEvents: 4, TempDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return r, dir
	}
	t.Run("at the end", func(t *testing.T) {
		r, dir := open(t, strings.NewReader(descending(100)))
		drainReader(t, r)
		wantEmpty(t, dir)
		if len(r.sort.sizes) == 0 || r.sort.file != nil {
			t.Error("the file was never made, or is still open")
		}
	})
	t.Run("closed in the middle", func(t *testing.T) {
		r, dir := open(t, strings.NewReader(descending(100)))
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		file := r.sort.file
		if err := errors.Join(r.Close(), r.Close()); err != nil {
			t.Error(err)
		}
		wantEmpty(t, dir)
		if _, err := file.Stat(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("the file is still open: %v", err)
		}
	})
	t.Run("input fails", func(t *testing.T) {
		r, dir := open(t, &failing{strings.NewReader(descending(100)), errBroken})
		if _, err := r.Next(); !errors.Is(err, errBroken) {
			t.Errorf("Next: %v", err)
		}
		wantEmpty(t, dir)
		if r.sort.file != nil {
			t.Error("the file is still open")
		}
	})
}

// A file that has lost its end must not look like a shorter trace.
func TestTemporaryFileThatLosesDataIsAnError(t *testing.T) {
	r, err := Open(strings.NewReader(descending(20000)), &Options{Sort: true, RunEvents: 10000, TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if err := r.sort.file.Truncate(20000*recordSize - 1); err != nil {
		t.Fatal(err)
	}
	n := 1
	for err == nil {
		if _, err = r.Next(); err == nil {
			n++
		}
	}
	if !errors.Is(err, errShort) || n >= 20000 {
		t.Errorf("after %d events: %v", n, err)
	}
}
