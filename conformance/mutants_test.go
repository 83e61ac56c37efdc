package conformance_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/store"
)

// mutant is a broken store, and the checks that are meant for it.
type mutant struct {
	name  string
	cfg   *conformance.Config
	open  conformance.Opener
	meant []string
}

// quick is how many random histories the quick profile tries.
const quick = 20

// quickConfig is the quick profile for a store about which nothing is known, with
// the same histories each time.
func quickConfig() *conformance.Config { return &conformance.Config{Histories: quick, Seed: 1} }

func mutants() (all []mutant) {
	for _, b := range slices.Concat(broken, brokenLikeOthers, brokenVerbStores, brokenBeyondSmall) {
		all = append(all, mutant{b.name, quickConfig(), func(clk clock.Clock) store.Store {
			f := &faultyStore{plainStore: newPlainStore(clk)}
			b.fault(f)
			return f
		}, b.meant})
	}
	for _, b := range brokenTexts {
		all = append(all, mutant{b.name, b.limits.config(), func(clk clock.Clock) store.Store {
			s := newTextStore(clk, b.limits)
			b.fault(s)
			return s
		}, b.meant})
	}
	for _, b := range brokenOnce {
		all = append(all, mutant{b.name, quickConfig(), func(clk clock.Clock) store.Store {
			s := newOnceStore(clk)
			b.fault(s)
			return s
		}, b.meant})
	}
	return append(all, brokenFeatures...)
}

func TestEachBrokenStoreIsCaughtByTheCheckMeantForIt(t *testing.T) {
	proven := map[string]bool{}
	var golden strings.Builder
	for _, m := range mutants() {
		t.Run(strings.ReplaceAll(m.name, " ", "-"), func(t *testing.T) {
			for i, name := range m.meant {
				proven[name] = true
				c := checkOf(t, m.cfg, name)
				err := c.Verify(m.open)
				for tries := 1; err == nil && tries < 20 && byChance(c); tries++ {
					err = c.Verify(m.open)
				}
				if err == nil || errors.Is(err, conformance.ErrSkipped) {
					t.Errorf("%s does not catch it: %v", name, err)
					continue
				}
				mustReadWell(t, c, err.Error())
				if i == 0 {
					fmt.Fprintf(&golden, "%s\n\t%s: %s\n", m.name, c.Name, brokenBy(c, err.Error()))
				}
			}
		})
	}
	// A check that there is for each kind is proven by one of them.
	kinds, names := map[string]bool{}, map[string]bool{}
	for _, f := range algorithm.Families() {
		names[f.Name] = true
		for name := range proven {
			if prefix, is := strings.CutSuffix(name, "/"+f.Name); is {
				kinds[prefix] = true
			}
		}
	}
	for _, c := range conformance.Checks() {
		prefix, last := path.Split(c.Name)
		if !proven[c.Name] && !(names[last] && kinds[path.Clean(prefix)]) {
			t.Errorf("no broken store proves that %s can fail", c.Name)
		}
	}
	if !t.Failed() {
		mustBeGolden(t, "testdata/mutants-stores.golden", golden.String())
	}
}

// What a check catches it catches each time, whatever is drawn, also in the quick
// profile. Ten seeds, and checks of concurrent callers, which need the default depth, take
// minutes: -conformance.runs=10 asks for them.
func TestBrokenStoresAreCaughtTenTimesOfTen(t *testing.T) {
	if testing.Short() {
		t.Skip("runs hundreds of checks; -short asks for less")
	}
	seeds := uint64(3)
	if *runs >= 10 {
		seeds = 10
	}
	for _, m := range mutants() {
		for n := range seeds {
			cfg := *m.cfg
			cfg.Histories, cfg.Seed = quick, 1+1000*n
			if *runs >= 10 {
				cfg.Histories = 100
			}
			for _, name := range m.meant {
				c := checkOf(t, &cfg, name)
				if byChance(c) && *runs < 10 {
					continue
				}
				if err := c.Verify(m.open); err == nil || errors.Is(err, conformance.ErrSkipped) {
					t.Errorf("%s does not catch %q with seed %d: %v", c.Name, m.name, cfg.Seed, err)
				}
			}
		}
	}
}

// mustReadWell fails where a failure leaves out what leads to the cause.
func mustReadWell(t *testing.T, c conformance.Check, text string) {
	t.Helper()
	if strings.Contains(text, "panic") {
		return
	}
	for _, part := range []string{c.Name, "(" + c.Property + ")", "rule:      " + c.Rule, "check:     conformance/", "got:  ", "want: ", "  transcript"} {
		if !strings.Contains(text, part) {
			t.Errorf("%s fails without saying %q:\n%s", c.Name, part, text)
		}
	}
	if place := regexp.MustCompile(`check:     conformance/(\S+\.(go|txt)):\d+`).FindStringSubmatch(text); place == nil {
		t.Errorf("%s fails without saying where:\n%s", c.Name, text)
	} else if _, err := os.Stat(place[1]); err != nil {
		t.Errorf("%s: %v", c.Name, err)
	}
}

// byChance reports whether a check depends on what happens at the same time.
func byChance(c conformance.Check) bool {
	switch first, _, _ := strings.Cut(c.Name, "/"); first {
	case "concurrent", "linear":
		return true
	}
	return slices.Contains([]string{"context/ending", "context/ended-while-queued", "close/while-in-use", "capability/own-clock"}, c.Name)
}

// brokenBy is the line of a failure that says what has broken the rule. Where the
// order of concurrent calls decides what it says, it is left out.
func brokenBy(c conformance.Check, text string) string {
	if byChance(c) && !strings.HasPrefix(c.Name, "capability/") {
		return "(what it says depends on who was first)"
	}
	return brokenLine(text)
}

func brokenLine(text string) string {
	_, rest, found := strings.Cut(text, "broken by: ")
	if !found {
		rest = text
	}
	line, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	return line
}

// mustBeGolden compares with a file, or writes it.
func mustBeGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what came (-want +got); if that is right, run\n\tgo test ./conformance -update\n%s", file, diff)
	}
}

var update = flag.Bool("update", false, "rewrite the golden files and the tables of the pages")
