package rest

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/weirgo/weir/service/auth"
	"github.com/weirgo/weir/service/problem"
)

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestThePageHasEveryProblem: the type of a problem leads to its section, and the table has
// its status.
func TestThePageHasEveryProblem(t *testing.T) {
	text := page(t, "reference/rest.md")
	if !strings.HasSuffix(problem.Docs, "/docs/reference/rest.md") {
		t.Errorf("types lead to %s", problem.Docs)
	}
	sections := strings.Count(text, "\n### ")
	for _, k := range problem.Kinds() {
		if !strings.Contains(text, "\n### "+k.Anchor+"\n") {
			t.Errorf("no section %s", k.Anchor)
		}
		row := "| " + strconv.Itoa(k.Status) + " | "
		_, rest, found := strings.Cut(text, row)
		if line, _, _ := strings.Cut(rest, "\n"); !found || !strings.Contains(line, "["+k.Anchor+"](#"+k.Anchor+")") {
			t.Errorf("the table has no %s with the status %d", k.Anchor, k.Status)
		}
	}
	if sections != len(problem.Kinds()) {
		t.Errorf("%d sections of %d kinds of problems", sections, len(problem.Kinds()))
	}
}

// TestThePageHasEveryRoute, with the roles that may call it.
func TestThePageHasEveryRoute(t *testing.T) {
	text := page(t, "reference/rest.md")
	for _, r := range append(append([]*route{}, publicRoutes...), adminRoutes...) {
		found := false
		for _, line := range strings.Split(text, "\n") {
			cells := strings.Split(line, "|")
			if len(cells) < 4 || !strings.Contains(cells[1], r.path+"`") && !strings.Contains(cells[1], r.path+"?") || !strings.Contains(cells[1], r.method) {
				continue
			}
			found = true
			roles := map[auth.Action]string{auth.Check: "check, write", auth.Look: "any", auth.Read: "read, write", auth.Write: "write"}[r.action]
			if strings.TrimSpace(cells[2]) != roles {
				t.Errorf("%s is for %s, and the page says %s", r.name(), roles, cells[2])
			}
		}
		if !found {
			t.Errorf("the page has no %s", r.name())
		}
	}
}

// TestTheTableOfCallersInTheDocsIsOne that the service reads.
func TestTheTableOfCallersInTheDocsIsOne(t *testing.T) {
	_, rest, found := strings.Cut(page(t, "operate/service.md"), "```yaml\n")
	text, _, ends := strings.Cut(rest, "```")
	if _, err := auth.ParseTable([]byte(text)); err != nil || !found || !ends {
		t.Errorf("%v", err)
	}
}
