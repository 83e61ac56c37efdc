package traffic

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// records returns an iterator that ends with err.
func records(err error, list ...Arrival) func() (Arrival, error) {
	return func() (Arrival, error) {
		if len(list) == 0 {
			return Arrival{}, err
		}
		a := list[0]
		list = list[1:]
		return a, nil
	}
}

func TestTraceYieldsItsRecords(t *testing.T) {
	list := []Arrival{{0, "a", 1}, {5, "b", 0}, {5, "a", algorithm.MaxUnits}, {maxAt, "", 1}}
	s := NewTrace(records(io.EOF, list...))
	if got := drain(s); !slices.Equal(got, list) || s.Err() != nil {
		t.Errorf("%v, %v, want %v", got, s.Err(), list)
	}
}

func TestTraceStopsAtWhatIsNotPossible(t *testing.T) {
	broken := errors.New("broken")
	good := Arrival{5, "a", 1}
	for _, c := range []struct {
		name string
		next func() (Arrival, error)
		want string
	}{
		{"error", records(broken, good), "traffic: trace: record 2: broken"},
		{"cut short", records(io.ErrUnexpectedEOF, good), "record 2: unexpected EOF"},
		{"end within an error", records(fmt.Errorf("line 7: %w", io.EOF), good), "record 2: line 7: EOF"},
		{"back", records(io.EOF, good, Arrival{4, "a", 1}), "record 2: at 4 is not allowed"},
		{"before 0", records(io.EOF, Arrival{-1, "a", 1}), "record 1: at -1 is not allowed"},
		{"too late", records(io.EOF, good, Arrival{math.MaxInt64, "a", 1}), "record 2: at 9223372036854775807 is not allowed"},
		{"negative cost", records(io.EOF, good, Arrival{6, "a", -1}), "record 2: cost -1 is not allowed"},
		{"huge cost", records(io.EOF, good, Arrival{6, "a", algorithm.MaxUnits + 1}), "record 2: cost 1000000000001 is not allowed"},
	} {
		s := NewTrace(c.next)
		for range s.line + 1 {
			drain(s)
		}
		// The error shows through whatever is built on the trace.
		for _, on := range []Source{s, Until(s, 9), Take(s, 9), Merge(&listed{}, Take(s, 1))} {
			if err := Err(on); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %T: error %v, want %s", c.name, on, err, c.want)
			}
		}
		if a, ok := s.Next(); ok {
			t.Errorf("%s: after its end comes %v", c.name, a)
		}
	}
	s := NewTrace(records(broken))
	if drain(s); !errors.Is(s.Err(), broken) {
		t.Errorf("the cause is lost: %v", s.Err())
	}
	if err := Err(&listed{}); err != nil {
		t.Errorf("a source that cannot fail has the error %v", err)
	}
}

func TestUntilAndTakeCutOff(t *testing.T) {
	list := []Arrival{{0, "a", 1}, {5, "b", 1}, {5, "c", 1}, {9, "d", 1}}
	for _, c := range []struct {
		name string
		s    func(Source) Source
		want int
	}{
		{"until 0", func(s Source) Source { return Until(s, 0) }, 0},
		{"until 5", func(s Source) Source { return Until(s, 5) }, 1},
		{"until 6", func(s Source) Source { return Until(s, 6) }, 3},
		{"until the end", func(s Source) Source { return Until(s, math.MaxInt64) }, 4},
		{"take -1", func(s Source) Source { return Take(s, math.MinInt64) }, 0},
		{"take 0", func(s Source) Source { return Take(s, 0) }, 0},
		{"take 2", func(s Source) Source { return Take(s, 2) }, 2},
		{"take all", func(s Source) Source { return Take(s, math.MaxInt64) }, 4},
	} {
		s := c.s(&listed{list})
		if got := drain(s); !slices.Equal(got, list[:c.want]) {
			t.Errorf("%s: %v", c.name, got)
		}
		if a, ok := s.Next(); ok {
			t.Errorf("%s: after its end comes %v", c.name, a)
		}
	}
}

func TestLoadStartsStopsAndCounts(t *testing.T) {
	p := Process{Kind: "constant", Rate: Rate{10, time.Second}}
	for _, c := range []struct {
		load        Load
		first, last int64
		n           int
	}{
		{Load{Process: p, Stop: time.Second}, 0, 900_000, 10},
		{Load{Process: p, Start: time.Second, Stop: 2 * time.Second}, 1_000_000, 1_900_000, 10},
		{Load{Process: p, Start: time.Second, Count: 3}, 1_000_000, 1_200_000, 3},
		{Load{Process: p, Stop: 100 * time.Second, Count: 3}, 0, 200_000, 3},
		{Load{Process: p, Stop: 100 * time.Millisecond, Count: 3}, 0, 0, 1},
	} {
		s := source(t, c.load)
		got := drain(s)
		if len(got) != c.n || got[0].At != c.first || got[len(got)-1].At != c.last {
			t.Errorf("%+v: %v", c.load, got)
		}
		if a, ok := s.Next(); ok {
			t.Errorf("%+v: after its end comes %v", c.load, a)
		}
	}
}

// All sources end where an int64 that is read as a float would lose its digits.
func TestSourceEndsAtTheEndOfTime(t *testing.T) {
	for _, p := range []Process{
		{Kind: "constant", Rate: Rate{1, longest}}, {Kind: "poisson", Rate: Rate{1, longest}},
		{Kind: "mmpp", OnRate: Rate{1, longest}, On: longest, Off: longest},
		{Kind: "pareto", Rate: Rate{1, longest}, Sources: 3, On: longest, Off: longest},
		{Kind: "batch", Rate: Rate{1, longest}}, {Kind: "flash", Rate: Rate{1, longest}, At: longest, Ramp: longest},
		{Kind: "diurnal", Rate: Rate{1, longest}}, {Kind: "counts", Counts: []int64{1, 0}, Step: longest, Repeat: true},
		{Kind: "boundary", Limit: Rate{1, longest}}, {Kind: "counter", Limit: Rate{1, longest}},
		{Kind: "drip", Gap: longest},
	} {
		s := source(t, Load{Process: p, Start: longest})
		list := drain(s)
		if len(list) < 10 || list[len(list)-1].At > maxAt || list[len(list)-1].At < maxAt/2 {
			t.Errorf("%s: %d arrivals, the last at %v", p.Kind, len(list), list[len(list)-1:])
		}
	}
}

func TestMergeOfManySources(t *testing.T) {
	const n = 1000
	sources := make([]Source, n)
	for i := range sources {
		sources[i] = source(t, Load{Process: Process{Kind: "drip", Gap: time.Second}, Keys: Keys{Name: keyName("k", int64(i))}})
	}
	for i, a := range take(t, Merge(sources...), 10*n) {
		if a.At != int64(i/n)*1_000_000 || a.Key != keyName("k", int64(i%n)) {
			t.Fatalf("arrival %d is %v", i, a)
		}
	}
}
