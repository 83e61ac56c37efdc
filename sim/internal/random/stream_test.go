package random

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/draws.golden")

// draws names each kind of draw, with the parameters of the golden file.
var draws = []struct {
	name string
	next func(s *Stream) any
}{
	{"Uint64", func(s *Stream) any { return s.Uint64() }},
	{"N(10)", func(s *Stream) any { return s.N(10) }},
	{"N(2^62+1)", func(s *Stream) any { return s.N(1<<62 + 1) }},
	{"Uniform(-3,3)", func(s *Stream) any { return s.Uniform(-3, 3) }},
	{"Chance(1,3)", func(s *Stream) any { return s.Chance(1, 3) }},
	{"Millionths(250000)", func(s *Stream) any { return s.Millionths(250_000) }},
	{"Exponential(1s)", func(s *Stream) any { return s.Exponential(1_000_000) }},
	{"Pareto(1s,1.4)", func(s *Stream) any { return s.Pareto(1_000_000, 1_400_000) }},
	{"LogNormal(1000000,1.5)", func(s *Stream) any { return s.LogNormal(1_000_000, 1_500_000) }},
	{"Geometric(4)", func(s *Stream) any { return s.Geometric(4_000_000) }},
	{"Geometric(1000000)", func(s *Stream) any { return s.Geometric(1_000_000 * Million) }},
	// The bits of floats: a platform that differs in the last digit shows.
	{"Unit", func(s *Stream) any { return hexBits(s.Unit()) }},
	{"Fraction", func(s *Stream) any { return hexBits(s.Fraction()) }},
	{"Normal", func(s *Stream) any { return hexBits(s.Normal()) }},
	{"Exp", func(s *Stream) any { return hexBits(Exp(float64(40*s.Fraction()) - 20)) }},
	{"SinTurn", func(s *Stream) any { return hexBits(SinTurn(s.Fraction())) }},
}

func hexBits(x float64) string { return fmt.Sprintf("%016x", math.Float64bits(x)) }

func TestDrawsAreTheSameOnEveryPlatform(t *testing.T) {
	var got strings.Builder
	for _, d := range draws {
		s := New(1).Under("golden").Stream(d.name)
		fmt.Fprint(&got, d.name)
		for range 8 {
			fmt.Fprint(&got, " ", d.next(s))
		}
		fmt.Fprintln(&got)
	}
	const golden = "testdata/draws.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		if i >= len(gotLines) || i >= len(wantLines) || gotLines[i] != wantLines[i] {
			t.Fatalf("line %d differs; -update rewrites the file\ngot:\n%s\nwant:\n%s", i+1, got.String(), want)
		}
	}
}

func first(s *Stream, n int) []uint64 {
	list := make([]uint64, n)
	for i := range list {
		list[i] = s.Uint64()
	}
	return list
}

func TestStreamFollowsFromSeedAndName(t *testing.T) {
	a := first(New(7).Stream("a/b"), 100)
	if b := first(New(7).Under("a").Stream("b"), 100); !slices.Equal(a, b) {
		t.Error("Under(a).Stream(b) is not Stream(a/b)")
	}
	for _, other := range []*Stream{New(8).Stream("a/b"), New(7).Stream("a/c"), New(7).Stream(""), New(7).Stream("a/b ")} {
		if slices.Equal(a[:2], first(other, 2)) {
			t.Error("two streams begin alike")
		}
	}
}

func TestStreamIsNotShiftedByAnother(t *testing.T) {
	streams := New(7)
	want := first(streams.Stream("a"), 100)
	a, b := streams.Stream("a"), streams.Stream("b")
	var got []uint64
	for i := range 100 {
		first(b, i%3)
		got = append(got, a.Uint64())
	}
	if !slices.Equal(got, want) {
		t.Error("draws of b moved a")
	}
}

func TestNIsEven(t *testing.T) {
	s := New(1).Stream("even")
	var counts [7]int
	for range 700_000 {
		counts[s.N(7)]++
	}
	for i, n := range counts {
		if n < 99_000 || n > 101_000 { // 3.4 standard deviations
			t.Errorf("%d came %d times of 100000", i, n)
		}
	}
	// With n = 3·2^61 the plain high half of a product would give each third number
	// two times where the others come three times.
	counts = [7]int{}
	for range 300_000 {
		counts[s.N(3<<61)%3]++
	}
	for i, n := range counts[:3] {
		if n < 99_000 || n > 101_000 {
			t.Errorf("3·2^61: remainder %d came %d times of 100000", i, n)
		}
	}
}

func TestWholeDrawsAtTheEdges(t *testing.T) {
	s := New(1).Stream("edges")
	for _, n := range []int64{1, 0, -1, math.MinInt64} {
		if got := s.N(n); got != 0 {
			t.Errorf("N(%d) = %d, want 0", n, got)
		}
	}
	for range 1000 {
		if got := s.N(math.MaxInt64); got < 0 {
			t.Fatalf("N(MaxInt64) = %d", got)
		}
		if got := s.Uniform(math.MaxInt64-1, math.MaxInt64); got < math.MaxInt64-1 {
			t.Fatalf("Uniform at the top = %d", got)
		}
		if got := s.Uniform(math.MinInt64, math.MinInt64+1); got > math.MinInt64+1 {
			t.Fatalf("Uniform at the bottom = %d", got)
		}
	}
	if got := s.Uniform(5, 3); got != 5 {
		t.Errorf("Uniform(5, 3) = %d, want 5", got)
	}
	var negative int
	for range 10_000 {
		if s.Uniform(math.MinInt64, math.MaxInt64) < 0 {
			negative++
		}
	}
	if negative < 4800 || negative > 5200 {
		t.Errorf("Uniform over all numbers is negative %d times of 10000", negative)
	}
}

func TestChanceIsExactAndAlwaysDraws(t *testing.T) {
	for _, c := range []struct {
		num, den int64
		want     bool
	}{
		{0, 1, false}, {-1, 5, false}, {math.MinInt64, 1, false}, {1, 1, true}, {5, 5, true}, {6, 5, true},
		{1, 0, true}, {0, 0, false}, {1, -7, true}, {math.MaxInt64, math.MaxInt64, true}, {0, math.MaxInt64, false},
	} {
		s := New(1).Stream("chance")
		for range 100 {
			if s.Chance(c.num, c.den) != c.want {
				t.Errorf("Chance(%d, %d) is not always %v", c.num, c.den, c.want)
				break
			}
		}
		plain := New(1).Stream("chance")
		first(plain, 100)
		if s.Uint64() != plain.Uint64() {
			t.Errorf("Chance(%d, %d) does not take one word a draw", c.num, c.den)
		}
	}
	s := New(1).Stream("chance")
	var hits int
	for range 1_000_000 {
		if s.Millionths(1000) {
			hits++
		}
	}
	if hits < 850 || hits > 1150 {
		t.Errorf("a chance of 1000 in a million came %d times in a million", hits)
	}
}

func TestDrawsDoNotAllocate(t *testing.T) {
	s := New(1).Stream("allocations")
	if n := testing.AllocsPerRun(1000, func() {
		s.N(10)
		s.Uniform(0, 10)
		s.Exponential(1000)
		s.Pareto(1000, 1_400_000)
		s.LogNormal(1000, Million)
		s.Geometric(4 * Million)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
