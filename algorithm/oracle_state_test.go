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
			"-1", "8576800000000001", "1 2", "1 2 3 4", "1 2 3 4 5", "+1 1:2",
			"5 0 3", "5 -1 3", "5 3 3", "5 4 3", "5 0 1", "5 1 1", "5 1 0", "5 1 -3", "5 1 1000000000001", "-1 1 3",
		},
	}
	lines := map[oracle.Kind][2][]string{
		oracle.GCRA:        schedule,
		oracle.LeakyBucket: schedule,
		oracle.TokenBucket: {
			{"", "0 0", "7000000000000000 1000000000000", "5 0 1 2", "5 9 34559999999999 34560000000000", "5 -1", "5 -1000000000000 1 2"},
			{
				"5", "5 6 7", "1 2 3 4 5", "+1 1:2", "-1 0", "7000000000000001 0", "5 -1000000000001", "5 1000000000001",
				"5 9 0 3", "5 9 -1 3", "5 9 3 3", "5 9 0 1", "5 9 1 1", "5 9 1 0", "5 9 1 -3", "5 9 1 34560000000001", "-1 9 1 3",
			},
		},
		oracle.FixedWindow: {
			{"", "0 1", "7000000000000000 1000000000000"},
			{"5", "5 6 7", "5 6 7 8", "1 2 3 4 5", "+1 1:2", "-1 1", "7000000000000001 1", "5 -1"},
		},
		oracle.SlidingCounter: {
			{"", "0 1", "7000000000000000 1000000000000", "5 1 1", "5 1000000000000 1000000000000"},
			{"5", "5 6 7 8", "1 2 3 4 5", "+1 1:2", "-1 1", "7000000000000001 1", "5 -1", "5 1 0", "5 1 -1"},
		},
		oracle.SlidingLog: {
			{
				"", "0", "0 1 2 3", "0 1 2 3 4", "+999999999999 7000000000000000:1000000000000",
				"+1 0:2 7000000000000000", "+9007199254740989 1:4503599627370496 2:4503599627370495",
			},
			{"-1", "7000000000000001", "+1 7000000000000001:2", "1 1", "2 1", "1 2 2", "1 2 3 3"},
		},
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
	if s, err := algorithm.ParseState("+9007199254740990 1:4503599627370496 2:4503599627370496"); err == nil {
		t.Errorf("reads as %v", s)
	}
}

// The text of a log with costs begins with "+" and the sum of all cost - 1, so
// that its units are known without a look at all of it. A store trusts that
// number: a text in which it is anything else is damaged.
func TestStateHeadingOfALogIsItsSum(t *testing.T) {
	for _, text := range []string{
		"+1 1:2", "+1 1:2 2", "+1 1 2:2 3 4 5", "+4 1:2 2:4", "+9 1:10",
		"+9007199254740990 1:9007199254740991", "+9007199254740988 1 2:9007199254740989 3",
	} {
		if s, err := algorithm.ParseState(text); err != nil || s.String() != text {
			t.Errorf("%q reads as %q (%v)", text, s, err)
		}
	}
	refused := map[string][]string{
		"missing":      {"1:2", "1 2:2 3 4 5", "1:4503599627370496 2:4503599627370495"},
		"too small":    {"+1 1:3", "+3 1:2 2:4", "+9 1:2 2:10", "+1 1:9007199254740991"},
		"too large":    {"+2 1:2", "+5 1:2 2:4", "+9007199254740991 1:9007199254740991", "+9007199254740991 1:2"},
		"without need": {"+1 1", "+1 1 2 3 4 5", "+0 1", "+0 1 2 3 4 5"},
		"zero":         {"+0 1:2", "+0", "+00 1:2", "+-0 1:2"},
		"not a number": {"+ 1:2", "++1 1:2", "+-1 1:2", "+01 1:2", "+1.0 1:2", "+1e0 1:2", "+1:2", "+1: 1:2", "+1+1 1:2", "+x 1:2"},
		"not a word":   {"+9007199254740992 1:2", "+9223372036854775808 1:2", "+18446744073709551617 1:2", "+99999999999999999999 1:2"},
		"alone":        {"+", "+1", "+1 ", "+:", "+1 :", "+1 :2"},
		"twice":        {"+1 +1 1:2", "+1 +0 1:2", "+2 +1 1:2 2:2", "+1 1:2 +1 2:2", "+2 1:2 +1 2:2"},
		"not first":    {"1:2 +1", " +1 1:2", "1 +1 2:2", "1 2 3 4 +1 5:2"},
		"spacing":      {"+1  1:2", "+1\t1:2", "+1 1:2 ", "+ 1 1:2", "+1\n1:2"},
		"minus":        {"-1 1:2", "+1 -1:2", "+1 1:-2"},
	}
	for rule, texts := range refused {
		t.Run(rule, func(t *testing.T) {
			for _, text := range texts {
				if s, err := algorithm.ParseState(text); err == nil || !s.Fresh() {
					t.Errorf("%q reads as %q (%v)", text, s, err)
				}
			}
		})
	}
}
