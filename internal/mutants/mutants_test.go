package mutants

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/algorithm"
)

// A mutant replaces a piece of one source file. old must occur in it exactly
// once, so a mutant whose code has changed is noticed and rewritten.
type mutant struct {
	name     string
	file     string // below the module's root
	old, new string
	// pkg is the package whose test must fail, below the module's root.
	pkg string
	// killer is the full name of that test. It alone is run, so that it is
	// this law and no other that catches the mutant.
	killer string
	// about names the parts that the killer looks at, where that is not said
	// by its name. Empty is all algorithms.
	about []string
}

// parts says what a source file is part of: some of the algorithms, or what
// constructors and readers refuse, which changes no decision. A file that is not
// listed is part of all algorithms.
var parts = map[string][]string{
	"gcra.go":           {"gcra"},
	"leakybucket.go":    {"leaky-bucket"},
	"schedule.go":       {"gcra", "leaky-bucket"},
	"tokenbucket.go":    {"token-bucket"},
	"fixedwindow.go":    {"fixed-window"},
	"slidingcounter.go": {"sliding-counter"},
	"slidinglog.go":     {"sliding-log"},
	"log.go":            {"sliding-log"},
	"rate.go":           {"bounds"},
	"spec.go":           {"spec"},
	"state.go":          {"damage"},
}

var algorithms = func() (names []string) {
	for _, f := range algorithm.Families() {
		names = append(names, f.Name)
	}
	return names
}()

// TestMutantsAreKilled plants the mutants without touching the tree: go test
// -overlay takes a changed file for the one on disk. Mutants that cannot get in
// each other's way share a test binary, since building is what takes the time.
func TestMutantsAreKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("builds some thirty test binaries, which takes minutes; -short asks for less")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Concat(scheduleMutants, tokenBucketMutants, windowMutants, logMutants, sharedMutants)
	names := map[string]bool{}
	for _, m := range all {
		if names[m.name] {
			t.Errorf("two mutants are named %q", m.name)
		}
		names[m.name] = true
	}

	// A test that fails anyway would kill everything.
	for _, pkg := range packages(all) {
		whole := build(t, root, pkg, nil)
		for _, m := range all {
			if m.pkg == pkg {
				if out, failed := whole.run(t, m.killer); failed || !strings.Contains(out, "--- PASS: "+m.killer+" ") {
					t.Errorf("%s does not pass without any mutant:\n%s", m.killer, out)
				}
			}
		}
	}
	if t.Failed() {
		t.FailNow()
	}

	for i, batch := range batches(all) {
		t.Run(fmt.Sprintf("build %d", i+1), func(t *testing.T) {
			t.Parallel()
			changed := build(t, root, batch[0].pkg, batch)
			for _, m := range batch {
				t.Run(m.name, func(t *testing.T) {
					out, failed := changed.run(t, m.killer)
					t.Logf("%s\n", out)
					switch dead := "--- FAIL: " + m.killer + " "; {
					case !failed:
						t.Errorf("%s survives %s", m.name, m.killer)
					case !strings.Contains(out, dead):
						t.Errorf("%s is not killed by %s but otherwise", m.name, m.killer)
					}
				})
			}
		})
	}
}

// touches returns the parts that a mutant changes, and involves also those that
// its killer looks at.
func (m mutant) touches() []string {
	if some, ok := parts[path.Base(m.file)]; ok {
		return some
	}
	return algorithms
}

func (m mutant) involves() []string {
	about := m.about
	for _, name := range algorithms {
		if strings.Contains(m.killer+"/", "/"+name+"/") {
			about = []string{name}
		}
	}
	if about == nil {
		about = algorithms
	}
	return slices.Concat(about, m.touches())
}

// batches groups the mutants so that none changes what the killer of another
// looks at.
func batches(all []mutant) (groups [][]mutant) {
	clash := func(a, b mutant) bool {
		in := func(some, others []string) bool {
			return slices.ContainsFunc(some, func(part string) bool { return slices.Contains(others, part) })
		}
		return a.pkg != b.pkg || a.file == b.file || in(a.touches(), b.involves()) || in(b.touches(), a.involves())
	}
next:
	for _, m := range all {
		for i, group := range groups {
			if !slices.ContainsFunc(group, func(other mutant) bool { return clash(m, other) }) {
				groups[i] = append(group, m)
				continue next
			}
		}
		groups = append(groups, []mutant{m})
	}
	return groups
}

func packages(all []mutant) (names []string) {
	for _, m := range all {
		if !slices.Contains(names, m.pkg) {
			names = append(names, m.pkg)
		}
	}
	return names
}

// binary is the test of a package with some mutants in it.
type binary struct{ file, folder string }

// build compiles the test of a package with the mutants planted.
func build(t *testing.T, root, pkg string, planted []mutant) binary {
	t.Helper()
	temp := t.TempDir()
	replace := map[string]string{}
	for i, m := range planted {
		file := filepath.Join(root, filepath.FromSlash(m.file))
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), m.old); n != 1 {
			t.Fatalf("%s is stale: the code to replace occurs %d times in %s:\n%s", m.name, n, m.file, m.old)
		}
		replace[file] = filepath.Join(temp, fmt.Sprintf("%d_%s", i, filepath.Base(file)))
		text := strings.Replace(string(source), m.old, m.new, 1)
		if err := os.WriteFile(replace[file], []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlayFile := filepath.Join(temp, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	b := binary{filepath.Join(temp, "package.test"), filepath.Join(root, filepath.FromSlash(pkg))}
	command := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-ldflags=-s -w",
		"-overlay", overlayFile, "-o", b.file, "./"+pkg)
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("does not compile: %v\n%s", err, out)
	}
	return b
}

// run runs one test, which may be a subtest, and no other. The seed is fixed and
// nothing is minimized: it only matters whether it fails.
func (b binary) run(t *testing.T, name string) (out string, failed bool) {
	t.Helper()
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	command := exec.CommandContext(t.Context(), b.file, "-test.v", "-test.run", strings.Join(parts, "/"),
		"-rapid.checks=1000", "-rapid.seed=1", "-rapid.shrinktime=0s", "-rapid.nofailfile")
	command.Dir = b.folder
	text, err := command.CombinedOutput()
	return string(text), err != nil
}
