package conformance_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/conformance/internal/draw"
	"github.com/weirgo/weir/conformance/internal/law"
)

// TestLawsCatchBrokenAlgorithms checks the suite itself: for every law there is
// an algorithm that breaks it, and the law notices.
func TestLawsCatchBrokenAlgorithms(t *testing.T) {
	caught := map[string]bool{}
	var golden strings.Builder
	for _, b := range allBrokenAlgorithms() {
		t.Run(b.law+"/"+b.how, func(t *testing.T) {
			l := lawNamed(t, b.law)
			err := draw.Search(draw.Options{Name: b.law, Runs: 2000, Seed: 1, Shrink: 2 * time.Second}, func(t *draw.T) {
				l.Check(law.New(t, t, l, b.build(), sameMistake(b.how)))
			})
			if err == nil {
				t.Fatal("not caught")
			}
			for _, part := range []string{l.Name, l.Rule, "transcript"} {
				if !strings.Contains(err.Error(), part) && b.how != "panics" {
					t.Errorf("the failure does not show %q:\n%v", part, err)
				}
			}
			caught[b.law] = true
			line := brokenLine(err.Error())
			if strings.Contains(b.law, "concurrent") {
				line = "(what it says depends on who was first)"
			}
			fmt.Fprintf(&golden, "%s\n\t%s: %s\n", b.how, b.law, anyNumber.ReplaceAllString(line, "N"))
		})
	}
	for _, l := range conformance.Laws() {
		if !caught[l.Name] {
			t.Errorf("no broken algorithm shows that law %s can fail", l.Name)
		}
	}
	if !t.Failed() {
		mustBeGolden(t, "testdata/mutants-laws.golden", golden.String())
	}
}

// allBrokenAlgorithms are those with a mistake in any verb.
func allBrokenAlgorithms() []brokenAlgorithm { return slices.Concat(brokenAlgorithms, brokenVerbs) }

// sameMistake is the mistake of a broken algorithm with other parameters, where it is
// about that.
func sameMistake(how string) []algorithm.Algorithm {
	switch how {
	case "a raised limit is full":
		return []algorithm.Algorithm{refillsOnChange(5)()}
	case "a limit below what is used denies for ever":
		return []algorithm.Algorithm{stopsOnChange(9)()}
	case "a limit below what is used reports less than nothing":
		return []algorithm.Algorithm{owesOnChange(9)()}
	case "a look under a changed limit writes":
		return []algorithm.Algorithm{rewritesOnChange(9)()}
	case "the state is ignored when the limit changes":
		return []algorithm.Algorithm{ignoresOnChange(9)()}
	}
	return nil
}

// What a law catches it catches at the default depth, each time, and with parameters of
// every size.
func TestLawsCatchBrokenAlgorithmsTenTimesOfTen(t *testing.T) {
	defer func() { scale = 0 }()
	for scale = range scales {
		for _, b := range allBrokenAlgorithms() {
			l := lawNamed(t, b.law)
			for n := range uint64(10) {
				o := draw.Options{Name: b.law, Runs: 100, Seed: 1 + 1000*n}
				if draw.Search(o, func(t *draw.T) { l.Check(law.New(t, t, l, b.build(), sameMistake(b.how))) }) == nil {
					t.Errorf("%s does not catch %q with %v, seed %d", b.law, b.how, scales[scale], o.Seed)
				}
			}
		}
	}
}

// hidden are mistakes that show with some parameters only.
var hidden = []struct {
	how   string
	build func(p law.Parameters) algorithm.Algorithm
}{
	{"a wait is never above an hour", func(p law.Parameters) algorithm.Algorithm {
		return mistaken{algorithm.Must(algorithm.NewGCRA(p.Rate, p.Capacity)), func(a alg, s st, now at, r req) (st, out) {
			next, o := a.Step(s, now, r)
			if o.RetryAfter != algorithm.Never {
				o.RetryAfter = min(o.RetryAfter, time.Hour)
			}
			return next, o
		}}
	}},
	{"a log counts to 128", func(p law.Parameters) algorithm.Algorithm {
		return mistaken{algorithm.Must(algorithm.NewSlidingLog(p.Rate)), func(a alg, s st, now at, r req) (st, out) {
			next, o := a.Step(s, now, r)
			fields := strings.Fields(next.String())
			if len(fields) > 128 && !strings.Contains(next.String(), ":") {
				next, _ = algorithm.ParseState(strings.Join(fields[len(fields)-128:], " "))
			}
			return next, o
		}}
	}},
}

// TestFamily tries parameters of every size, since one size hides mistakes.
func TestParametersOfFamiliesShowWhatOneSizeHides(t *testing.T) {
	seeds := uint64(10)
	if testing.Short() {
		seeds = 2
	}
	for _, b := range hidden {
		caught := func(p law.Parameters, seed uint64) bool {
			return slices.ContainsFunc(law.All(), func(l law.Law) bool {
				o := draw.Options{Name: l.Name, Runs: 100, Seed: seed}
				return draw.Search(o, func(t *draw.T) { l.Check(law.New(t, t, l, b.build(p), nil)) }) != nil
			})
		}
		all := law.AllParameters()
		if tiny := all[2]; caught(tiny, 1) {
			t.Errorf("%q is caught with %v, which must hide it", b.how, tiny)
		}
		slices.Reverse(all)
		for n := range seeds {
			if !slices.ContainsFunc(all, func(p law.Parameters) bool { return caught(p, 1+1000*n) }) {
				t.Errorf("%q is not caught with seed %d", b.how, 1+1000*n)
			}
		}
	}
}

// anyNumber is a number or a length of time that was drawn.
var anyNumber = regexp.MustCompile(`[0-9][0-9.hmsnµ]*`)

func lawNamed(t *testing.T, name string) law.Law {
	t.Helper()
	for _, l := range law.All() {
		if l.Name == name {
			return l
		}
	}
	t.Fatalf("there is no law %s", name)
	return law.Law{}
}

// TestLawsHoldForASoundAlgorithm checks that the suite raises no false alarm.
func TestLawsHoldForASoundAlgorithm(t *testing.T) {
	t.Parallel()
	conformance.TestAlgorithm(t, algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(3), 5)))
}

func TestLawsHaveNamesAndRules(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range conformance.Laws() {
		if l.Name == "" || l.Rule == "" || strings.ContainsAny(l.Name, " /") || seen[l.Name] {
			t.Errorf("law %q, %q", l.Name, l.Rule)
		}
		seen[l.Name] = true
	}
}
