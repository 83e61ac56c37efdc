package conformance_test

import (
	"flag"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"pgregory.net/rapid"
)

// TestLawsCatchBrokenAlgorithms checks the suite itself: for every law there is
// an algorithm that breaks it, and the law notices.
func TestLawsCatchBrokenAlgorithms(t *testing.T) {
	setRapid(t, "seed", "1")
	setRapid(t, "checks", "2000")
	setRapid(t, "shrinktime", "0s")
	setRapid(t, "nofailfile", "true")

	caught := map[string]bool{}
	var golden strings.Builder
	for _, b := range brokenAlgorithms {
		t.Run(b.law+"/"+b.how, func(t *testing.T) {
			law := lawNamed(t, b.law)
			var r lawRecorder
			done := make(chan struct{})
			go func() { // FailNow ends the goroutine
				defer close(done)
				rapid.Check(&r, func(t *rapid.T) { law.Check(t, b.build()) })
			}()
			<-done
			if !r.failed {
				t.Fatal("not caught")
			}
			for _, part := range []string{law.Name, law.Rule, "history:"} {
				if text := r.text.String(); !strings.Contains(text, part) && b.how != "panics" {
					t.Errorf("the failure does not show %q:\n%s", part, text)
				}
			}
			caught[b.law] = true
			line := brokenLine(r.text.String())
			if strings.Contains(b.law, "concurrent") {
				line = "(what it says depends on who was first)"
			}
			fmt.Fprintf(&golden, "%s\n\t%s: %s\n", b.how, b.law, anyNumber.ReplaceAllString(line, "N"))
		})
	}
	for _, l := range conformance.Laws() {
		if !caught[l.Name] {
			t.Errorf("no broken algorithm shows that law %s can fail", l.Name)
		}
	}
	if !t.Failed() {
		mustBeGolden(t, "testdata/mutants-laws.golden", golden.String())
	}
}

// anyNumber is a number or a length of time that was drawn.
var anyNumber = regexp.MustCompile(`[0-9][0-9.hmsnµ]*`)

func lawNamed(t *testing.T, name string) conformance.Law {
	t.Helper()
	for _, l := range conformance.Laws() {
		if l.Name == name {
			return l
		}
	}
	t.Fatalf("there is no law %s", name)
	return conformance.Law{}
}

// TestLawsHoldForASoundAlgorithm checks that the suite raises no false alarm.
func TestLawsHoldForASoundAlgorithm(t *testing.T) {
	t.Parallel()
	conformance.TestAlgorithm(t, algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(3), 5)))
}

func TestLawsHaveNamesAndRules(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range conformance.Laws() {
		if l.Name == "" || l.Rule == "" || strings.ContainsAny(l.Name, " /") || seen[l.Name] {
			t.Errorf("law %q, %q", l.Name, l.Rule)
		}
		seen[l.Name] = true
	}
}

// setRapid sets a flag of rapid until the test ends.
func setRapid(t *testing.T, name, value string) {
	t.Helper()
	setFlag(t, "rapid."+name, value)
}

// setFlag sets a flag until the test ends.
func setFlag(t *testing.T, name, value string) {
	t.Helper()
	f := flag.Lookup(name)
	before := f.Value.String()
	if err := flag.Set(f.Name, value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := flag.Set(f.Name, before); err != nil {
			t.Error(err)
		}
	})
}

// lawRecorder is a test that may fail without failing the one it runs in.
type lawRecorder struct {
	failed bool
	text   strings.Builder
}

func (r *lawRecorder) Helper()                        {}
func (r *lawRecorder) Name() string                   { return "lawRecorder" }
func (r *lawRecorder) Failed() bool                   { return r.failed }
func (r *lawRecorder) Fail()                          { r.failed = true }
func (r *lawRecorder) FailNow()                       { r.failed = true; runtime.Goexit() }
func (r *lawRecorder) SkipNow()                       { runtime.Goexit() }
func (r *lawRecorder) Skip(args ...any)               { r.Log(args...); r.SkipNow() }
func (r *lawRecorder) Skipf(format string, a ...any)  { r.Logf(format, a...); r.SkipNow() }
func (r *lawRecorder) Log(args ...any)                { fmt.Fprintln(&r.text, args...) }
func (r *lawRecorder) Logf(format string, a ...any)   { fmt.Fprintf(&r.text, format+"\n", a...) }
func (r *lawRecorder) Error(args ...any)              { r.Log(args...); r.Fail() }
func (r *lawRecorder) Errorf(format string, a ...any) { r.Logf(format, a...); r.Fail() }
func (r *lawRecorder) Fatal(args ...any)              { r.Log(args...); r.FailNow() }
func (r *lawRecorder) Fatalf(format string, a ...any) { r.Logf(format, a...); r.FailNow() }
