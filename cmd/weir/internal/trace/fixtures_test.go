package trace

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files of testdata")

// Each fixture is read for every key of its format, and what is found is compared with the golden file beside it. All of them were made
// by hand, with addresses that are for documentation.
func TestFixturesOfEveryFormat(t *testing.T) {
	for file, c := range map[string]struct {
		format string
		opts   Options
		keys   []string
	}{
		"nginx-json.log": {"nginx-json", Options{}, Keys()},
		"caddy.log":      {"caddy", Options{}, Keys()},
		"alb.log":        {"alb", Options{}, Keys()},
		"cloudfront.log": {"cloudfront", Options{}, Keys()},
		"envoy.log":      {"envoy", Options{}, Keys()},
		"tokens.csv":     {"csv", Options{TimeColumn: "TIMESTAMP", CostColumn: "ContextTokens"}, []string{""}},
		"columns.csv": {
			"csv",
			Options{TimeColumn: "seconds\nsince 1970", CostColumn: "cost"},
			[]string{"user, or team"},
		},
	} {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, k := range c.keys {
				opts := c.opts
				opts.Key = k
				events, r := readAll(t, string(text), &opts)
				if r.Format() != c.format || !r.Sorted() {
					t.Errorf("read as %s, sorted %v", r.Format(), r.Sorted())
				}
				counts := r.Counts()
				if counts.Lines != counts.Events+counts.Bad+counts.Skipped+counts.Headers {
					t.Errorf("the counts do not add up: %+v", counts)
				}
				fmt.Fprintf(&got, "key %q: %d events, %d bad, %d skipped, %d headers\n",
					k, counts.Events, counts.Bad, counts.Skipped, counts.Headers)
				for _, e := range events {
					fmt.Fprintf(&got, "%d %q %d\n", e.At, e.Key, e.Cost)
				}
				_, bad := r.Bad()
				for _, b := range bad {
					fmt.Fprintf(&got, "line %d: %s\n", b.Number, b.Reason)
				}
			}
			checkGolden(t, filepath.Join("testdata", file+".golden"), got.String())
		})
	}
}

func checkGolden(t *testing.T, file, got string) {
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
	if got != string(want) {
		t.Errorf("%s (rewrite with -update)\n got:\n%s\nwant:\n%s", file, got, want)
	}
}
