package policy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir"
	memorystore "github.com/weirgo/weir/store/memory"
)

// shownClock is the clock of a page: it begins at the first of November 2026.
type shownClock struct{ now time.Time }

func (c *shownClock) Now() time.Time { return c.now }

var (
	yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```(?:\n+```text\n(.*?)```)?")
	askLine   = regexp.MustCompile(`^(\S+)\s+(\d+)x (\S+) (\S+?)((?: \S+=\S+)*)\s+(allowed|denied by (\S+), (?:never|again in (\S+)))$`)
)

// TestPagesOfPoliciesAreTrue: each policy on a page is one, and below it stands what it
// decides.
func TestPagesOfPoliciesAreTrue(t *testing.T) {
	for page, want := range map[string]struct{ policies, runs int }{
		"cookbook.md":           {12, 12},
		"guides/three-tiers.md": {3, 2},
		"guides/rolling-out.md": {3, 2},
		"reference/policy.md":   {1, 0},
	} {
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", "docs", filepath.FromSlash(page)))
			if err != nil {
				t.Fatal(err)
			}
			policies, runs := 0, 0
			for _, block := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
				if !strings.HasPrefix(block[1], "version:") {
					continue
				}
				policies++
				file, err := Parse([]byte(block[1]), &CompileOptions{SecretKey: make([]byte, 16)})
				if err != nil {
					t.Errorf("%v in\n%s", err, block[1])
					continue
				}
				if block[2] != "" {
					runs++
					runPage(t, file.Compiled, block[2])
				}
			}
			if policies != want.policies || runs != want.runs {
				t.Errorf("%d policies with %d runs, want %d and %d", policies, runs, want.policies, want.runs)
			}
		})
	}
}

// runPage asks what the lines ask, and compares the answers.
func runPage(t *testing.T, c *Compiled, lines string) {
	t.Helper()
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	clock := &shownClock{start}
	states, err := memorystore.New(&memorystore.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer states.Close()
	decider, err := weir.NewMultiLimiter(states, nil)
	if err != nil {
		t.Fatal(err)
	}
	enforcer, err := NewEnforcer(decider, c, &EnforcerOptions{Clock: clock, Sequential: true})
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		m := askLine.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("a line that cannot be read: %s", line)
			continue
		}
		at, err := time.ParseDuration(m[1])
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		clock.now = start.Add(at)
		r := Request{Method: m[3], Path: m[4], Attributes: Attributes{}}
		for _, pair := range strings.Fields(m[5]) {
			name, value, _ := strings.Cut(pair, "=")
			r.Attributes[name] = value
		}
		n, _ := strconv.Atoi(m[2]) // digits
		for i := range n {
			v, err := enforcer.Decide(context.Background(), r)
			if err != nil {
				t.Errorf("%s: %v", line, err)
			}
			if got := answerText(&v); got != m[6] {
				t.Errorf("%s\ngot %s (request %d of %d)", line, got, i+1, n)
				break
			}
		}
	}
}

func answerText(v *Verdict) string {
	if v.Allowed {
		return "allowed"
	}
	by := "list"
	if v.List != Denied {
		by = v.Rules[v.Binding].Rule
	}
	if v.RetryAfter == weir.Never {
		return "denied by " + by + ", never"
	}
	return fmt.Sprintf("denied by %s, again in %s", by, v.RetryAfter)
}
