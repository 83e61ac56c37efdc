package promobserver

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the table in docs/reference/metrics.md")

const (
	metricsPage = "../../docs/reference/metrics.md"
	tableBegin  = "<!-- written by: go test ./observe/prometheus -update -->\n"
	tableEnd    = "<!-- end -->\n"
)

// TestReferenceListsEachMetric: the table of the page is that of the code.
func TestReferenceListsEachMetric(t *testing.T) {
	var table strings.Builder
	table.WriteString("| metric | type | labels | what it says |\n|---|---|---|---|\n")
	families := gather(t, withEverything(t))
	for _, name := range slices.Sorted(maps.Keys(families)) {
		f := families[name]
		var labels []string
		for _, l := range f.Metric[0].Label {
			labels = append(labels, "`"+l.GetName()+"`")
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", name, strings.ToLower(f.GetType().String()), strings.Join(labels, " "), f.GetHelp())
	}
	for name := range sourceMetrics {
		if families["rate_limiter_"+name] == nil {
			t.Errorf("no source of the test shows %s", name)
		}
	}
	page, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), tableBegin)
	_, after, foundEnd := strings.Cut(rest, tableEnd)
	if !found || !foundEnd {
		t.Fatalf("%s has no place for the table", metricsPage)
	}
	want := before + tableBegin + table.String() + tableEnd + after
	if *update {
		if err := os.WriteFile(metricsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(page) {
		t.Errorf("the table of %s is old: go test ./observe/prometheus -update", metricsPage)
	}
}
