package policy

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestReferenceExampleIsAsThePageSays: but for the kinds of findings that the page names, there are none.
func TestReferenceExampleIsAsThePageSays(t *testing.T) {
	page, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```yaml\n")
	text, _, ends := strings.Cut(rest, "```\n")
	if !found || !ends {
		t.Fatal("the page has no example")
	}
	file, err := Parse([]byte(text), &CompileOptions{SecretKey: make([]byte, 16)})
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{lintUnmatched: false, lintUnboundedKeys: false}
	for _, f := range file.Lint(&LintOptions{At: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)}) {
		if _, known := named[f.Kind]; !known {
			t.Errorf("line %d: %s: %s", f.Line, f.Kind, f.Text)
		}
		named[f.Kind] = true
	}
	for kind, met := range named {
		if !met {
			t.Errorf("the page names %s, and there is none", kind)
		}
	}
}
