package trace

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestAheadReturnsTheSameEvents(t *testing.T) {
	for _, n := range []int{0, 1, batchEvents - 1, batchEvents, batchEvents + 1, batches * batchEvents, 10*batchEvents + 7} {
		for _, sorted := range []bool{false, true} {
			text := descending(n)
			opts := &Options{Format: "jsonl", Sort: sorted}
			want, _ := readAll(t, text, opts)
			r, err := Open(strings.NewReader(text), opts)
			if err != nil {
				t.Fatal(err)
			}
			a := NewAhead(r)
			got := drainReader(t, a)
			if !slices.Equal(got, want) {
				t.Errorf("%d events, sorted %v: got %d, or other ones", n, sorted, len(got))
			}
			if r.Counts().Events != int64(n) { // the reader is ours again
				t.Errorf("%d events, sorted %v: counted %d", n, sorted, r.Counts().Events)
			}
			if _, err := a.Next(); err != io.EOF {
				t.Errorf("Next after the end: %v", err)
			}
			if err := a.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		}
	}
}

func TestAheadReturnsTheErrorAfterTheEventsBeforeIt(t *testing.T) {
	r, err := Open(&failing{strings.NewReader(descending(1000)), errBroken}, &Options{Format: "jsonl"})
	if err != nil {
		t.Fatal(err)
	}
	a := NewAhead(r)
	for i := range 1000 {
		if _, err := a.Next(); err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
	}
	for range 2 {
		if _, err := a.Next(); !errors.Is(err, errBroken) {
			t.Errorf("Next: %v", err)
		}
	}
}

func TestAheadStopsWhenClosedEarly(t *testing.T) {
	for _, c := range []struct{ events, taken int }{
		{10, 1}, // the end is read already
		{20 * batchEvents, 0},
		{20 * batchEvents, 1},
		{20 * batchEvents, batchEvents},
		{20 * batchEvents, 5 * batchEvents},
	} {
		dir := t.TempDir()
		r, err := Open(strings.NewReader(descending(c.events)), &Options{Sort: true, RunEvents: 1000, TempDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		a := NewAhead(r)
		for range c.taken {
			if _, err := a.Next(); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(a.Close(), a.Close()); err != nil {
			t.Errorf("%+v: Close: %v", c, err)
		}
		wantEmpty(t, dir)
		if _, err := a.Next(); !errors.Is(err, errClosed) {
			t.Errorf("%+v: Next after Close: %v", c, err)
		}
	}
}
