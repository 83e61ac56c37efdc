package conformance_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/store"
)

func BenchmarkPlainStore(b *testing.B) {
	conformance.BenchmarkStore(b, func(_ testing.TB, clk clock.Clock) store.Store { return newPlainStore(clk) },
		&conformance.Config{OneOp: true, Size: func(_ conformance.TB, s store.Store) int64 {
			p := s.(*plainStore)
			p.mu.Lock()
			defer p.mu.Unlock()
			return int64(100 * len(p.states))
		}})
}

// benchLine is a line that benchstat reads, with its values apart.
var benchLine = regexp.MustCompile(`^BenchmarkPlainStore/call=(\w+)/limit=([\w-]+)/limits=\d/keys=\d+/callers=\d+(?:-\d+)?\s+\d+\s+(.*)$`)

func TestBenchmarksAreReadByBenchstat(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(os.Args[0], "-test.run=^$", "-test.bench=PlainStore", "-test.benchtime=100x").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	calls := map[string]int{}
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "BenchmarkPlainStore/") {
			continue
		}
		found := benchLine.FindStringSubmatch(strings.TrimSpace(line))
		if found == nil {
			t.Errorf("cannot be read: %s", line)
			continue
		}
		calls[found[1]]++
		units := []string{"ns/op", "p50-ns", "p99-ns", "B/op", "allocs/op"}
		if found[1] == "fill" {
			units = []string{"ns/op", "100.0 B/key", "B/op", "allocs/op"}
		}
		for _, unit := range units {
			if !strings.Contains(found[3], unit) {
				t.Errorf("no %s: %s", unit, line)
			}
		}
	}
	if calls["take"] < 8 || calls["denied"] != 2 || calls["peek"] != 2 || calls["fill"] != len(algorithm.Families())+1 || calls["bound"] != 0 {
		t.Errorf("what was measured is %v:\n%s", calls, out)
	}
}
