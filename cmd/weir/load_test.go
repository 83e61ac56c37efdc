package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/internal/servertest"
)

// loaded runs a load of a moment and reads its report.
func loaded(t *testing.T, want int, args ...string) report.Load {
	t.Helper()
	got := start(append([]string{"load", "--json", "-"}, args...)...)
	if got.status != want {
		t.Fatalf("%q: status %d, want %d: %s", args, got.status, want, got.err)
	}
	var r report.Load
	if err := json.Unmarshal([]byte(got.out), &r); err != nil {
		t.Fatalf("%q: %v in %s", args, err, got.out)
	}
	return r
}

// TestLoadSendsWhatIsDue: as many as the rate says, however slow the machine is, with the
// counts of the limit.
func TestLoadSendsWhatIsDue(t *testing.T) {
	r := loaded(t, exitOK, "memory://", "--limit", "fixed-window:30/24h", "--rate", "500", "--duration", "200ms", "--ramp", "40ms", "--keys", "one:secret", "--seed", "4", "--max-errors", "0", "--callers", "1", "--timeout", "1m")
	if r.Requests != 100 || r.RampRequests != 10 || r.Admitted != 20 || r.Denied != 80 || r.Errors != 0 || r.Keys != "one" || r.Seed != 4 {
		t.Errorf("%+v", r)
	}
	inParts := int64(0)
	for _, p := range r.Parts {
		inParts += p.Requests
	}
	if inParts != 100 || len(r.Bounds) != 1 || !r.Bounds[0].Met() || !slices.IsSorted([]int64{0, r.Latency.P50, r.Latency.P90, r.Latency.P95, r.Latency.P99, r.Latency.P999, r.Latency.Max}) {
		t.Errorf("%+v", r)
	}
}

// TestLoadThatAsksForNothingKeepsNoBound: nothing was measured. With the seed the first request
// is due behind the end.
func TestLoadThatAsksForNothingKeepsNoBound(t *testing.T) {
	args := []string{"load", "memory://", "--limit", "gcra:10/1s", "--rate", "1", "--arrivals", "poisson", "--duration", "1ms", "--seed", "1", "--max-p99", "1m", "--max-errors", "0"}
	if got := start(args...); got.status != exitFailed || !strings.HasPrefix(got.out, "0 requests ") || strings.Contains(got.out, "bound was kept") || !strings.Contains(got.err, "memory://: no request was answered") {
		t.Errorf("%+v", got)
	}
}

func TestLoadWithABoundThatIsMissedEndsWithOne(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	plot := filepath.Join(t.TempDir(), "plot.svg")
	got := start("load", "memory://", "--limit", "gcra:10/1s", "--rate", "100", "--duration", "50ms", "--max-p50", "1ns", "--max-p99.9", "10m", "--html", page, "--plot", plot, "--keys", "one:secret", "--callers", "3", "--seed", "7")
	if got.status != exitNo || !strings.HasPrefix(got.out, "A bound was missed: p50 ") || !strings.Contains(got.err, "weir: a bound was missed: p50 ") || strings.Contains(got.err, "p99.9") {
		t.Errorf("%+v", got)
	}
	written := read(t, page)
	if again := "weir load memory:// --limit gcra:10/1s --rate 100 --callers 3 --keys one:KEY --duration 50ms --max-p50 1ns --max-p99.9 10m --seed 7"; !strings.Contains(written, "<code>"+again+"</code>") {
		t.Errorf("the page does not say %s", again)
	}
	if strings.Count(written, "<figure ") != 2 || !strings.HasPrefix(read(t, plot), "<svg") || strings.Contains(written+got.out+got.err, "secret") {
		t.Error("no page with two pictures, no plot, or a key in one of them")
	}
}

func TestLoadWithWrongUsage(t *testing.T) {
	folder := t.TempDir()
	empty, two := filepath.Join(folder, "empty"), filepath.Join(folder, "two")
	write(t, empty, "\n")
	write(t, two, "one two\n")
	for want, args := range map[string][]string{
		"<url> is missing":              {},
		"--limit is missing":            {"memory://"},
		"is not a store":                {"ftp://localhost", "--limit", "gcra:1/1s"},
		"or a service: http://":         {"localhost:6379", "--limit", "gcra:1/1s"},
		"--limit: ":                     {"memory://", "--limit", "gcra:1"},
		"--limit is for a store":        {"http://localhost", "--limit", "gcra:1/1s"},
		"--endpoint is for a service":   {"memory://", "--limit", "gcra:1/1s", "--endpoint", "/a"},
		"--connections is for a serv":   {"memory://", "--limit", "gcra:1/1s", "--connections", "2"},
		"--connections is for gRPC":     {"http://localhost", "--connections", "2"},
		"--connections: 0":              {"grpc://localhost:1", "--connections", "0"},
		"--token-file is for a service": {"memory://", "--limit", "gcra:1/1s", "--token-file", empty},
		"has no token, or more":         {"http://localhost", "--token-file", empty},
		"two has no token, or more":     {"http://localhost", "--token-file", two},
		"--token-file: open":            {"http://localhost", "--token-file", filepath.Join(folder, "none")},
		"has a user":                    {"http://user:secret@localhost"},
		"--keys: ":                      {"memory://", "--limit", "gcra:1/1s", "--keys", "secret"},
		"--rate: 0":                     {"memory://", "--limit", "gcra:1/1s", "--rate", "0"},
		"--arrivals is for --rate":      {"memory://", "--limit", "gcra:1/1s", "--arrivals", "poisson"},
		"--callers: 0":                  {"memory://", "--limit", "gcra:1/1s", "--callers", "0"},
		"--duration: 0s":                {"memory://", "--limit", "gcra:1/1s", "--duration", "0s"},
		"--timeout: 2m0s":               {"memory://", "--limit", "gcra:1/1s", "--timeout", "2m"},
		"--max-p99: -1s":                {"memory://", "--limit", "gcra:1/1s", "--max-p99", "-1s"},
		"--max-errors: -1":              {"memory://", "--limit", "gcra:1/1s", "--max-errors", "-1"},
		`--plot: "x.gif"`:               {"memory://", "--limit", "gcra:1/1s", "--plot", "x.gif"},
		"must be two places":            {"memory://", "--limit", "gcra:1/1s", "--json", "-", "--html", "-"},
	} {
		if got := start(append([]string{"load"}, args...)...); got.status != exitUsage || !strings.Contains(got.err, want) || strings.Contains(strings.ReplaceAll(got.err, `"secret"`, ""), "secret") && want != "--keys: " {
			t.Errorf("%q: %+v, want %q", args, got, want)
		}
	}
}

// TestLoadLeavesNothingOnAServer: through both clients, and what others keep there stays.
func TestLoadLeavesNothingOnAServer(t *testing.T) {
	leftToTheRaceRun(t)
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		s.Do("SET", "other", "stays")
		for _, url := range urls(s) {
			r := loaded(t, exitOK, url, "--limit", "gcra:1/1h", "--rate", "1000", "--duration", "100ms", "--keys", "uniform:20", "--timeout", "1m")
			if r.Requests != 100 || r.Errors != 0 || r.Admitted == 0 || r.Admitted > 20 || r.Target != url {
				t.Errorf("%s: %+v", url, r)
			}
			wantKeys(t, s, "other")
		}
	})
}

// TestLoadWaitsForASlowServer as long as --timeout says.
func TestLoadWaitsForASlowServer(t *testing.T) {
	leftToTheRaceRun(t)
	s := servertest.Start(t, servertest.Redis, nil)
	slow := servertest.NewProxy(t, s.Addr())
	slow.DelayReplies(300 * time.Millisecond) // longer than a limiter waits by itself
	args := []string{"redis://" + slow.Addr(), "--limit", "gcra:1000/1s", "--duration", "10ms", "--rate", "300", "--keys", "uniform:20"}
	if r := loaded(t, exitOK, append(args, "--timeout", "1m")...); r.Requests != 3 || r.Errors != 0 || r.Latency.P50 < int64(300*time.Millisecond) {
		t.Errorf("%+v", r)
	}
	wantKeys(t, s)
}

func TestLoadOnWhatIsNotThere(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	at := gone.Addr().String()
	for _, args := range [][]string{{"redis://" + at, "--limit", "gcra:1/1s"}, {"valkey://" + at, "--limit", "gcra:1/1s"}, {"http://" + at}, {"grpc://" + at, "--timeout", "1s"}} {
		if got := start(append([]string{"load"}, args...)...); got.status != exitFailed || !strings.Contains(got.err, at) || got.out != "" {
			t.Errorf("%q: %+v", args, got)
		}
	}
}

// TestLoadOnAService: over HTTP and gRPC it counts what the service answers, a token that the
// service does not know is refused, and one that it knows is not.
func TestLoadOnAService(t *testing.T) {
	leftToTheRaceRun(t)
	folder := t.TempDir()
	write(t, filepath.Join(folder, "policy.yaml"), "version: 1\nrules: [{id: user, key: [user], limit: 'fixed-window:30/24h'}]\n")
	write(t, filepath.Join(folder, "callers.yaml"), "version: 1\ncallers: [{name: x, role: check, tenant: default, token_sha256: 2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b}]\n")
	write(t, filepath.Join(folder, "weir.yaml"), "version: 1\npolicy: {file: policy.yaml}\nauth: {file: callers.yaml}\n")
	known, unknown := filepath.Join(folder, "known"), filepath.Join(folder, "unknown")
	write(t, known, "secret\n")
	write(t, unknown, "another\n")
	served := serving(t, "--config", filepath.Join(folder, "weir.yaml"))
	for _, url := range []string{served.http, "grpc://" + served.grpc} {
		r := loaded(t, exitOK, url, "--token-file", known, "--rate", "500", "--duration", "200ms", "--keys", "uniform:1", "--timeout", "1m")
		if r.Requests != 100 || r.Admitted != 30 || r.Denied != 70 || r.Errors != 0 {
			t.Errorf("%s: %+v", url, r)
		}
		for _, args := range [][]string{{url}, {url, "--token-file", unknown}} {
			if got := start(append([]string{"load"}, args...)...); got.status != exitUsage || got.out != "" || strings.Contains(got.err, "another") {
				t.Errorf("%q: %+v", args, got)
			}
		}
	}
}

// TestInterruptOfALoadRemovesWhatItWrote and ends with 130.
func TestInterruptOfALoadRemovesWhatItWrote(t *testing.T) {
	s := servertest.Start(t, servertest.Redis, nil)
	load := command(t, "load", "redis://"+s.Addr(), "--limit", "gcra:1/24h", "--duration", "10m", "--rate", "200")
	if err := load.Start(); err != nil {
		t.Fatal(err)
	}
	killer := time.AfterFunc(2*time.Minute, func() { load.Process.Kill() })
	defer killer.Stop()
	for s.Do("DBSIZE") == int64(0) {
		time.Sleep(time.Millisecond)
	}
	if err := load.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	load.Wait()
	if status := load.ProcessState.ExitCode(); status != exitInterrupted {
		t.Errorf("status %d", status)
	}
	wantKeys(t, s)
}
