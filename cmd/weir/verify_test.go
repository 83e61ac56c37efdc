package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/internal/storeurl"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// withoutTimes replaces what differs from run to run, and keeps the columns.
func withoutTimes(text string) string {
	text = regexp.MustCompile(`(passed |failed )  +[0-9][0-9.mh]*s\n`).ReplaceAllString(text, "$1      TIME\n")
	text = regexp.MustCompile(`, in [0-9][0-9.mh]*s\n`).ReplaceAllString(text, ", in TIME\n")
	text = regexp.MustCompile(`weir-verify:[0-9a-f]{16}:`).ReplaceAllString(text, "weir-verify:RANDOM:")
	return regexp.MustCompile(`server    (redis|valkey) [0-9.]+`).ReplaceAllString(text, "server    $1 VERSION")
}

func TestVerifyShowsATable(t *testing.T) {
	got := start("verify", "--store", storeurl.Memory, "--run", "^(take/|expiry/swept|corrupt|capability)", "--quick", "--seed", "7")
	if got.status != exitOK || got.err != "" {
		t.Fatalf("status %d, %s%s", got.status, got.out, got.err)
	}
	wantGolden(t, "verify.golden", withoutTimes(got.out))
}

// All checks, each of which says what has become of it.
func TestVerifyWritesJSON(t *testing.T) {
	for _, file := range []string{"-", filepath.Join(t.TempDir(), "report.json")} {
		got := start("verify", "--store", storeurl.Memory, "--checks", "2", "--seed", "99", "--json", file)
		if got.status != exitOK || got.err != "" {
			t.Fatalf("status %d, %s%s", got.status, got.out, got.err)
		}
		text := got.out
		if file != "-" {
			text = read(t, file)
			if !strings.Contains(got.out, "\ntake/most-ops ") {
				t.Errorf("there is no table beside the file:\n%s", got.out)
			}
		}
		var r struct {
			Store, Clock, Server, Prefix string
			Depth, Seed                  int
			Warnings                     []string
			Passed, Failed, Skipped      int
			NotRun                       *int `json:"not_run"`
			Took                         int  `json:"duration_us"`
			Checks                       []struct {
				Check, Property, Rule, Result, Reason, Failure string
				Took                                           int `json:"duration_us"`
			}
		}
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		all := conformance.Checks()
		if r.Store != storeurl.Memory || r.Clock != "injected" || r.Depth != 2 || r.Seed != 99 || r.Warnings == nil || len(r.Checks) != len(all) {
			t.Fatalf("the report is %+v", r)
		}
		count, took := map[string]int{}, 0
		for i, c := range r.Checks {
			count[c.Result]++
			took += c.Took
			if want := all[i]; c.Check != want.Name || c.Property != want.Property || c.Rule != want.Rule {
				t.Errorf("check %d is %+v", i, c)
			}
			if (c.Reason == "") != (c.Result == passed) || strings.Contains(c.Reason, "Config") || c.Failure != "" {
				t.Errorf("%s: %+v", c.Check, c)
			}
		}
		if r.Passed != count[passed] || r.Skipped != count[skipped] || r.Failed != 0 || r.NotRun == nil || *r.NotRun != 0 || r.Passed < 60 || took > r.Took {
			t.Errorf("the sums are %+v", r)
		}
	}
}

func TestVerifyListsChecks(t *testing.T) {
	got := start("verify", "--list")
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	if got.status != exitOK || got.err != "" || len(lines) != len(conformance.Checks())+1 {
		t.Fatalf("status %d, %d lines, %s", got.status, len(lines), got.err)
	}
	for i, c := range conformance.Checks() {
		if line := lines[i+1]; !strings.HasPrefix(line, c.Name+" ") || !strings.Contains(line, "  "+c.Property+" ") || !strings.HasSuffix(line, "  "+c.Rule) {
			t.Errorf("line %d is %q, of %s", i+2, line, c.Name)
		}
	}
	if some := start("verify", "--list", "--run", "^close/"); strings.Count(some.out, "\n") != 3 {
		t.Errorf("with --run: %s", some.out)
	}
}

func TestVerifyRefusesWrongUsage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report")
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"no store":            {[]string{"--quick"}, []string{"--store", "missing", "redis://"}},
		"store unknown":       {[]string{"--store", "http://h"}, []string{"--store", `"http://h"`, "valkeys://"}},
		"run no expression":   {[]string{"--store", storeurl.Memory, "--run", "("}, []string{"--run", `"("`, "regular expression"}},
		"run nothing":         {[]string{"--store", storeurl.Memory, "--run", "^nothing$"}, []string{"--run", "^nothing$", "--list"}},
		"checks 0":            {[]string{"--store", storeurl.Memory, "--checks", "0"}, []string{"--checks", "0", "1 to 1000000"}},
		"checks many":         {[]string{"--store", storeurl.Memory, "--checks", "1000001"}, []string{"--checks", "1000001", "1 to 1000000"}},
		"checks and quick":    {[]string{"--store", storeurl.Memory, "--checks", "5", "--quick"}, []string{"--checks", "--quick"}},
		"seed 0":              {[]string{"--store", storeurl.Memory, "--seed", "0"}, []string{"--seed", "0", "1 or more"}},
		"share 0":             {[]string{"--store", "redis://h", "--share", "0"}, []string{"--share", "0", "1 to 1000"}},
		"share many":          {[]string{"--store", "redis://h", "--share", "1001"}, []string{"--share", "1001", "1 to 1000"}},
		"prefix unused":       {[]string{"--store", storeurl.Memory, "--prefix", "p:"}, []string{"--prefix", `"p:"`, storeurl.Memory}},
		"prefix with a brace": {[]string{"--store", "redis://h", "--prefix", "{p"}, []string{"--prefix", `"{p"`, "1 to 160 bytes"}},
		"prefix too long":     {[]string{"--store", "redis://h", "--prefix", strings.Repeat("p", 161)}, []string{"--prefix", "1 to 160 bytes"}},
		"clock of no server":  {[]string{"--store", storeurl.Memory, "--server-clock"}, []string{"--server-clock", storeurl.Memory}},
		"json of a list":      {[]string{"--list"}, []string{"--json", "--list"}},
	} {
		got := start(append([]string{"verify", "--json", file}, c.args...)...)
		if got.status != exitUsage || got.out != "" || exists(file) {
			t.Errorf("%s: status %d, output %q", name, got.status, got.out)
		}
		for _, want := range append(c.want, "weir: ", "Try 'weir --help'") {
			if !strings.Contains(got.err, want) {
				t.Errorf("%s: the error does not say %q:\n%s", name, want, got.err)
			}
		}
	}
}

func TestVerifyWhoseOutputIsClosedFails(t *testing.T) {
	for want, args := range map[string][]string{
		"report: ": {"--run", "^take/"},
		"--json: ": {"--run", "^take/", "--json", "-"},
	} {
		var errs strings.Builder
		status := run(t.Context(), append([]string{"verify", "--store", storeurl.Memory}, args...), strings.NewReader(""), broken{syscall.EPIPE}, &errs)
		if status != exitFailed || errs.String() != "weir: "+want+"broken pipe\n" {
			t.Errorf("status %d, %s", status, errs.String())
		}
	}
}

// doubling is a store whose GCRA charges twice.
type doubling struct{ store.Store }

func (d doubling) Apply(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
	for i := range ops {
		if ops[i].Algorithm.Spec().Kind == algorithm.KindGCRA {
			ops[i].Request.Cost *= 2
			defer func() { ops[i].Request.Cost /= 2 }()
		}
	}
	return d.Store.Apply(ctx, ops)
}

// doublingSubject is the store in memory with that mistake. Where wrong is set, no
// check can be run after the first.
type doublingSubject struct {
	memorySubject
	wrong error
}

func (doublingSubject) config() *conformance.Config { return &conformance.Config{} }

func (doublingSubject) open(clk store.Clock) (store.Store, error) {
	s, err := memorystore.New(&memorystore.Options{Clock: clk})
	return doubling{s}, err
}

func (d doublingSubject) tidy(bool) error { return d.wrong }

// verified runs checks on a subject that no URL leads to.
func verified(t *testing.T, on subject, only string) (text string, r *verifyReport) {
	t.Helper()
	c := verifyCommand{Only: only, Share: 1}
	wanted, err := c.wanted()
	if err != nil {
		t.Fatal(err)
	}
	r = &verifyReport{about: about{Store: "URL", Clock: injectedClock, Depth: 100, Seed: 3}}
	var out bytes.Buffer
	if err := c.runAll(t.Context(), &bytes.Buffer{}, &out, on, wanted, r); err != nil {
		t.Fatal(err)
	}
	if err := r.writeEnd(&out); err != nil {
		t.Fatal(err)
	}
	return out.String(), r
}

func TestVerifyShowsTheTranscriptOfAFailure(t *testing.T) {
	dir := t.TempDir()
	golden, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	text, r := verified(t, doublingSubject{}, "^(timeline/gcra|boundary/fixed-window|capability/one-op)$")
	if err := r.verdict(); err == nil || err.Error() != "URL: 1 of 3 checks failed" {
		t.Errorf("the verdict is %v", err)
	}
	lines := regexp.MustCompile(`conformance/(\S+\.go):\d+`).ReplaceAllString(withoutTimes(text), "conformance/$1:LINE")
	// A random check says how to see it again, in the words of the command.
	text, r = verified(t, doublingSubject{}, "^model/")
	want := regexp.MustCompile(`\nmodel/random-history \(P3\)\n  rule:      over any history(?s:.*)\n  found by random history \d+\. To reproduce: weir verify --run '\^model/random-history\$' --seed \d+\n`)
	if !want.MatchString(text) || strings.Contains(text, "-rapid.") || r.Failed != 1 {
		t.Errorf("the failure is\n%s", text)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v (%v)", left, err)
	}
	t.Chdir(filepath.Dir(golden))
	wantGolden(t, "verify-failed.golden", lines)
}

func TestVerifyStopsWhereNothingElseCanBeRun(t *testing.T) {
	text, r := verified(t, doublingSubject{wrong: syscall.ECONNREFUSED}, "^take/")
	n := len(r.Results)
	if r.Passed+r.Failed != 1 || r.NotRun != n-1 || strings.Count(text, "not run         -\n") != n-1 || !strings.Contains(text, " skipped, "+strconv.Itoa(n-1)+" not run, in ") {
		t.Errorf("%+v\n%s", r, text)
	}
	if err := r.verdict(); err == nil || !strings.HasSuffix(err.Error(), "not run: connection refused") {
		t.Errorf("the verdict is %v", err)
	}
}

func TestVerifyHelpNamesEveryFlagAndTheStatuses(t *testing.T) {
	got := start("verify", "--help")
	for _, want := range []string{
		"--store=URL", "memory://", "rediss://", "valkey-unix://", "--run=REGEXP", "--list", "--quick", "--checks=N", "--seed=N", "--server-clock", "--share=N",
		"--prefix=TEXT", "--json=FILE", "Exit status: 0 every check passed or was skipped, 1 a check failed",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("the help does not say %q:\n%s", want, got.out)
		}
	}
	if got.status != exitOK || got.err != "" {
		t.Errorf("status %d, error %q", got.status, got.err)
	}
}
