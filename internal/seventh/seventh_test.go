package seventh

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/internal/servertest"
)

const (
	root = "../.."
	name = "session-window"
	docs = "docs/reference/spec.md"
)

// places are the files of the seventh algorithm, below testdata as in the repository.
// Its section of a page is the fifth place.
var places = []string{
	"algorithm/sessionwindow.go",
	"store/script/kind/sessionwindow.go",
	"store/script/kind/sessionwindow.lua",
	"internal/oracle/sessionwindow.go",
	"conformance/timelines/session-window.txt",
}

// TestSeventhAlgorithmTouchesFivePlaces adds an algorithm to a copy of the repository,
// generates what is generated, and runs laws, oracle, conformance on memory and on
// servers, replay and simulation on it there.
func TestSeventhAlgorithmTouchesFivePlaces(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a copy of the repository, which takes minutes; -short asks for less")
	}
	c := newCopy(t)
	for _, place := range places {
		c.write(place, c.read(filepath.Join("testdata", place)))
	}
	section := c.read("testdata/docs/section.md")
	c.write(docs, c.read(filepath.Join(root, docs))+section)
	c.run("go", "generate", "./algorithm", "./internal/oracle", "./store/script")
	c.run("go", "test", "-run", "TestCoverageTablesAreCurrent|TestFirstFailure|TestEachBrokenStore", "./conformance", "-update") // pages that tests write
	c.run("go", "test", "./internal/architecture", "-update")                                                                    // exported names, whose reasons follow from the kind
	c.run("go", "test", "./internal/architecture")
	c.mustHaveChangedOnly()

	for _, tests := range []struct {
		pkg, run string
		passes   []string // subtests that must be among those that passed
	}{
		{"./algorithm", "TestLaws|TestOracles|EqualTheOracle|TestLawS1|TestCurveS1|TestFamil", []string{
			"TestLaws/session-window/law/L2-denied-until-retry-after", "TestLawsAfterChange/session-window/law/C2-clock-going-back-gains-nothing",
			"TestLawOutcomesEqualTheOracle/session-window", "TestLawKChangedLimitsEqualTheOracle/session-window", "TestLawS1to4StayUnderTheCurve/session-window",
		}},
		{"./conformance", "Checks|Coverage|TestPlainStore|TestScriptHoldsForTheBuiltIn|Benchmarks", []string{
			"TestPlainStoreConforms/boundary/session-window", "TestPlainStoreConforms/timeline/session-window",
			"TestScriptHoldsForTheBuiltInScripts/redis/session-window/script/together", "TestScriptHoldsForTheBuiltInScripts/valkey/session-window/script/together",
		}},
		{"./store/memory", "TestStoreConforms", []string{"TestStoreConforms/linear/one-slot/session-window", "TestStoreConforms/model/random-history"}},
		{"./store/script", "TestStoreConforms|TestEveryFamily|Current|TestTwins", []string{
			"TestStoreConforms/redis/shared/timeline/session-window", "TestStoreConforms/valkey/shared/boundary/session-window",
		}},
		{"./sim/...", "TestEveryFamily|TestNew|TestModel", nil},
	} {
		out := c.run("go", "test", "-short", "-v", "-run", tests.run, tests.pkg)
		for _, pass := range tests.passes {
			if !strings.Contains(out, "--- PASS: "+pass+" ") {
				t.Errorf("%s: %s has not passed", tests.pkg, pass)
			}
		}
	}
	c.run("go", "build", "-o", "weir", "./cmd/weir")
	c.mustReplay("memory://")
	c.mustSimulate()
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		on := *c
		on.T = t
		on.mustReplay(string(s.Kind()) + "://" + s.Addr())
		on.mustSimulate("--store", string(s.Kind())+"://"+s.Addr())
	})
}

// scratch is a copy of the repository.
type scratch struct {
	*testing.T
	dir string
}

func newCopy(t *testing.T) *scratch {
	t.Helper()
	c := &scratch{t, t.TempDir()}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if below == ".git" || below == "bin" || below == "internal/seventh" {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil {
			c.write(below, string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *scratch) read(file string) string {
	c.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		c.Fatal(err)
	}
	return string(text)
}

func (c *scratch) write(file, text string) {
	c.Helper()
	file = filepath.Join(c.dir, file)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		c.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		c.Fatal(err)
	}
}

// run runs a command in the copy, which must succeed, and returns what it wrote.
func (c *scratch) run(name string, args ...string) string {
	c.Helper()
	command := exec.CommandContext(c.Context(), name, args...)
	command.Dir = c.dir
	out, err := command.CombinedOutput()
	if err != nil {
		c.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, failures(string(out)))
	}
	return string(out)
}

// failures leaves out what has passed.
func failures(out string) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		if !strings.Contains(line, "--- PASS") && !strings.HasPrefix(line, "=== ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// mustHaveChangedOnly fails unless the copy differs from the repository by the five
// places and by files that are generated, or written by tests.
func (c *scratch) mustHaveChangedOnly() {
	c.Helper()
	written := []string{docs, "docs/reference/conformance.md", "internal/architecture/testdata/surface.golden", "conformance/testdata/first-failures.golden", "conformance/testdata/mutants-stores.golden"}
	err := filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		below, err := filepath.Rel(c.dir, path)
		if err != nil {
			return err
		}
		original, _ := os.ReadFile(filepath.Join(root, below)) // nothing where it is new
		text, err := os.ReadFile(path)
		same := string(original) == string(text) && len(text) > 0
		generated := strings.Contains(string(text), "Code generated by internal/generate/")
		if err == nil && !same && !generated && len(text) > 0 && !slices.Contains(places, below) && !slices.Contains(written, below) {
			c.Errorf("%s was changed, and is no place of an algorithm", below)
		}
		return err
	})
	if err != nil {
		c.Fatal(err)
	}
}

// mustReplay decides a trace on a store and compares with what a session window means.
func (c *scratch) mustReplay(store string) {
	c.Helper()
	// Sessions of 10 s with 3 units: from 4 s to 14 s, and from 14 s on.
	trace, want := "", []bool{true, true, false, false, true, true, false}
	for _, event := range []string{
		`"at_us":4000000`, `"at_us":5000000,"cost":2`, `"at_us":6000000`, `"at_us":13999999`, `"at_us":14000000`, `"at_us":12000000,"cost":2`, `"at_us":12000000`,
	} {
		trace += `{"key":"a",` + event + "}\n"
	}
	c.write("trace.jsonl", trace)
	out := c.run("./weir", "replay", "--store", store, "--limit", name+":3/10s", "--decisions", "decisions.jsonl", "trace.jsonl")
	lines := strings.Split(strings.TrimSpace(c.read(filepath.Join(c.dir, "decisions.jsonl"))), "\n")
	if len(lines) != len(want) {
		c.Fatalf("%s: %d decisions of %d:\n%s", store, len(lines), len(want), out)
	}
	for i, line := range lines {
		var d struct{ Allowed *bool }
		if err := json.Unmarshal([]byte(line), &d); err != nil || d.Allowed == nil || *d.Allowed != want[i] {
			c.Errorf("%s: decision %d is %s (error %v), and allowed must be %t", store, i, line, err, want[i])
		}
	}
}

// mustSimulate runs a scenario with faults, whose every decision is checked against the
// oracle of the algorithm.
func (c *scratch) mustSimulate(args ...string) {
	c.Helper()
	out := c.run("./weir", append([]string{"sim", "flash-crowd", "--limit", name + ":100/1s"}, args...)...)
	if !strings.Contains(out, name+":100/1s") {
		c.Errorf("the simulation does not show %s:\n%s", name, out)
	}
}
