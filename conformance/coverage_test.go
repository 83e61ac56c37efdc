package conformance_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/conformance"
)

// coveragePage shows what is checked, and what is not.
const coveragePage = "../docs/reference/conformance.md"

// TestCoverageTablesAreCurrent writes the tables of the page from what there is,
// with -update, and compares them.
func TestCoverageTablesAreCurrent(t *testing.T) {
	text, err := os.ReadFile(coveragePage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	if !testing.Short() { // it runs the checks of many mistakes
		page = replacePart(t, page, "hooks", hooksTable())
	}
	page = replacePart(t, page, "checks", checksTable())
	page = replacePart(t, page, "coverage", coverageTable(t))
	page = replacePart(t, page, "track record", trackTable())
	page = replacePart(t, page, "failure", "```text\n"+sampleFailure(t)+"\n```\n")
	mustBeGolden(t, coveragePage, page)
}

// replacePart puts text between the marks of a part of a page.
func replacePart(t *testing.T, page, part, text string) string {
	t.Helper()
	begin, end := fmt.Sprintf("<!-- %s: written by the tests -->\n", part), fmt.Sprintf("<!-- %s: end -->\n", part)
	before, rest, found := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("the page has no part %q", part)
	}
	return before + begin + text + end + after
}

// checksTable shows every check with its rule.
func checksTable() string {
	var b strings.Builder
	b.WriteString("| check | property | what must hold |\n|---|---|---|\n")
	for _, c := range conformance.Checks() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.Name, c.Property, strings.ReplaceAll(c.Rule, "|", "\\|"))
	}
	return b.String()
}

// coverageTable shows for every property what tries to break it.
func coverageTable(t *testing.T) string {
	t.Helper()
	tests, checks := testNames(t), conformance.Checks()
	known := map[string]bool{}
	var b strings.Builder
	b.WriteString("| | property | checks and laws | other tests | not covered |\n|---|---|---|---|---|\n")
	for _, p := range properties {
		if known[p.name] {
			t.Errorf("property %s is there twice", p.name)
		}
		known[p.name] = true
		var suite []string
		for _, c := range checks {
			if slices.Contains(strings.Fields(c.Property), p.name) {
				suite = append(suite, "`"+c.Name+"`")
			}
		}
		for _, l := range conformance.Laws() {
			if first, _, _ := strings.Cut(l.Name, "-"); first == p.name {
				suite = append(suite, "`law/"+l.Name+"`")
			}
		}
		var others []string
		for name := range strings.FieldsSeq(p.tests) {
			if !tests[name] {
				t.Errorf("property %s: there is no test %s", p.name, name)
			}
			others = append(others, "`"+name+"`")
		}
		if len(suite)+len(others) == 0 && p.gap == "" {
			t.Errorf("property %s: nothing covers it, and nothing says so", p.name)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", p.name, p.says, strings.Join(suite, " "), strings.Join(others, " "), p.gap)
	}
	for _, c := range checks {
		for name := range strings.FieldsSeq(c.Property) {
			if !known[name] {
				t.Errorf("%s is for the property %s, which the table does not have", c.Name, name)
			}
		}
	}
	for _, l := range conformance.Laws() {
		if first, _, _ := strings.Cut(l.Name, "-"); !known[first] {
			t.Errorf("law %s is for a property that the table does not have", l.Name)
		}
	}
	return b.String()
}

// testNames are the tests and fuzz targets of the project.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range declared.FindAllStringSubmatch(string(text), -1) {
			names[found[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// trackTable shows what would have caught the mistakes that others made.
func trackTable() string {
	var b strings.Builder
	b.WriteString("| what went wrong elsewhere | where | what catches it here | planted as |\n|---|---|---|---|\n")
	for _, r := range trackRecord {
		var caught []string
		for name := range strings.FieldsSeq(r.caughtBy) {
			caught = append(caught, "`"+name+"`")
		}
		if len(caught) == 0 {
			caught = []string{"nothing yet: waits for the HTTP middleware"}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.what, r.where, strings.Join(caught, " "), r.planted)
	}
	return b.String()
}

// Each name in the track record exists, and where the mistake is planted here it
// is caught by the check that is named first; see mutants.
func TestTrackRecordIsTrue(t *testing.T) {
	tests, names := testNames(t), map[string]bool{}
	for _, c := range conformance.Checks() {
		names[c.Name] = true
	}
	for _, l := range conformance.Laws() {
		names["law/"+l.Name] = true
	}
	meant := map[string][]string{}
	for _, m := range mutants() {
		meant[m.name] = m.meant
	}
	for _, b := range brokenAlgorithms {
		meant[b.how] = append(meant[b.how], "law/"+b.law)
	}
	for _, r := range trackRecord {
		caught := strings.Fields(r.caughtBy)
		for _, name := range caught {
			if !names[name] && !tests[name] {
				t.Errorf("%s: there is no check, law or test %s", r.what, name)
			}
		}
		switch by, found := meant[r.planted]; {
		case r.planted == "":
		case !found:
			t.Errorf("%s: there is no mutant %q", r.what, r.planted)
		case !slices.Contains(by, caught[0]):
			t.Errorf("%s: the mutant %q is caught by %v, not by %s", r.what, r.planted, by, caught[0])
		}
	}
}

// sampleFailure is the failure that the page shows.
func sampleFailure(t *testing.T) string {
	t.Helper()
	err := checkNamed(t, "expiry/denied-and-looked-at").Verify(mutantNamed(t, "a denial starts the wait anew").open)
	if err == nil {
		t.Fatal("it passes")
	}
	return regexp.MustCompile(`(\.go):\d+`).ReplaceAllString(err.Error(), "$1:…") // lines move
}
