package algorithm_test

import (
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/oracle"
)

// P6 from the outside: what each kind can have written, up to the bounds, and
// what lies one beyond them. Under other parameters of the same kind all of the
// former are valid too, so none of it depends on the limit.
func TestStateCheckDrawsTheLine(t *testing.T) {
	schedule := [2][]string{
		{
			"", "0", "1790000000123457", "8576800000000000", // MaxInstant and 18,250 days
			"0 1 2", "5 999999999999 1000000000000",
		}, {
			"-1", "8576800000000001", "1 2", "1 2 3 4", "1 2 3 4 5", "1:2",
			"5 0 3", "5 -1 3", "5 3 3", "5 4 3", "5 0 1", "5 1 1", "5 1 0", "5 1 -3", "5 1 1000000000001", "-1 1 3",
		},
	}
	lines := map[oracle.Kind][2][]string{
		oracle.GCRA:        schedule,
		oracle.LeakyBucket: schedule,
		oracle.TokenBucket: {
			{"", "0 0", "7000000000000000 1000000000000", "5 0 1 2", "5 9 34559999999999 34560000000000"},
			{
				"5", "5 6 7", "1 2 3 4 5", "1:2", "-1 0", "7000000000000001 0", "5 -1", "5 1000000000001",
				"5 9 0 3", "5 9 -1 3", "5 9 3 3", "5 9 0 1", "5 9 1 1", "5 9 1 0", "5 9 1 -3", "5 9 1 34560000000001", "-1 9 1 3",
			},
		},
		oracle.FixedWindow: {
			{"", "0 1", "7000000000000000 1000000000000"},
			{"5", "5 6 7", "5 6 7 8", "1 2 3 4 5", "1:2", "-1 1", "7000000000000001 1", "5 -1"},
		},
		oracle.SlidingCounter: {
			{"", "0 1", "7000000000000000 1000000000000", "5 1 1", "5 1000000000000 1000000000000"},
			{"5", "5 6 7 8", "1 2 3 4 5", "1:2", "-1 1", "7000000000000001 1", "5 -1", "5 1 0", "5 1 -1"},
		},
		oracle.SlidingLog: {
			{"", "0", "0 1 2 3", "0 1 2 3 4", "7000000000000000:1000000000000", "0:2 7000000000000000", "1:4503599627370496 2:4503599627370495"},
			{"-1", "7000000000000001", "7000000000000001:2", "1 1", "2 1", "1 2 2", "1 2 3 3"},
		},
	}
	if len(lines) != len(oracle.Kinds()) {
		t.Fatalf("%d kinds of %d", len(lines), len(oracle.Kinds()))
	}
	for kind, texts := range lines {
		t.Run(string(kind), func(t *testing.T) {
			checker := limits{kind, 10, 60, 10}.algorithm().(algorithm.StateChecker)
			for i, sort := range texts {
				for _, text := range sort {
					s, err := algorithm.ParseState(text)
					if err != nil {
						t.Fatalf("%q: %v", text, err)
					}
					if err := checker.CheckState(s); (err == nil) != (i == 0) {
						t.Errorf("%q: %v", text, err)
					}
				}
			}
		})
	}
}

// A log whose costs add up to more than a word is refused as it is read.
func TestStateSumOfALogIsAWord(t *testing.T) {
	if s, err := algorithm.ParseState("1:4503599627370496 2:4503599627370496"); err == nil {
		t.Errorf("reads as %v", s)
	}
}
