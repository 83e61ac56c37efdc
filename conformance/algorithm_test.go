package conformance_test

import (
	"fmt"
	"regexp"
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
	for _, b := range brokenAlgorithms {
		t.Run(b.law+"/"+b.how, func(t *testing.T) {
			l := lawNamed(t, b.law)
			err := draw.Search(draw.Options{Name: b.law, Runs: 2000, Seed: 1, Shrink: 2 * time.Second}, func(t *draw.T) {
				l.Check(law.New(t, t, l, b.build(), nil))
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
