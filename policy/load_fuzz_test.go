package policy

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// FuzzLoad: no text makes Parse panic; every mistake has a place in the text and says
// something; and a policy that was read is written as JSON and read as the same one.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(mistakes))
	for _, l := range lints {
		f.Add([]byte(l.text))
	}
	for _, page := range []string{"cookbook.md", "guides/three-tiers.md", "reference/policy.md"} {
		text, err := os.ReadFile(filepath.Join("..", "docs", filepath.FromSlash(page)))
		if err != nil {
			f.Fatal(err)
		}
		for _, block := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
			f.Add([]byte(block[1]))
		}
	}
	opts := &CompileOptions{SecretKey: make([]byte, 16)}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse(text, opts)
		if err != nil {
			var invalid *InvalidError
			if !errors.As(err, &invalid) || len(invalid.Fields) == 0 {
				t.Fatalf("%v", err)
			}
			lines := strings.Count(string(text), "\n") + strings.Count(string(text), "\r") + 1
			for _, e := range invalid.Fields {
				if e.Line < 1 || e.Line > lines || e.Column < 1 || e.Problem == "" && e.Allowed == "" {
					t.Errorf("%+v, of %d lines", e, lines)
				}
			}
			return
		}
		written, err := json.Marshal(file.Policy)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(written, opts)
		if err != nil {
			t.Fatalf("%s\nis not read again: %v\nfrom %s", written, err, text)
		}
		if a, b := file.Compiled.Version(), again.Compiled.Version(); a != b {
			t.Errorf("version %s, and %s from its JSON", a, b)
		}
		for _, finding := range file.Lint(&LintOptions{At: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}) {
			if finding.Line < 1 || finding.Text == "" {
				t.Errorf("%+v", finding)
			}
		}
		// What was accepted can be asked, whatever it says.
		at := algorithm.Instant(1_800_000_000_000_000)
		for _, r := range []Request{{}, {Method: "GET", Path: "/api/orders/1", Host: "example.com:80", Attributes: Attributes{"user": "42", "org": "acme", "ip": "::1", "tier": "x"}}} {
			var p Plan
			file.Compiled.Resolve(&p, r, at)
			for _, l := range p.Limits {
				if l.Action == ActionAsk && (l.Limit.Algorithm == nil || l.Limit.Name == "" || l.Key == "" || l.Cost < 0) {
					t.Errorf("%+v", l)
				}
			}
		}
	})
}
