package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/weirgo/weir/api/client"
	"github.com/weirgo/weir/api/weirv1"
)

// pageOf is a page of metrics after n seconds of some traffic.
func pageOf(n int) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "rate_limiter_"+format+"\n", args...) }
	line(`config_reload_total{result="failure"} 2`)
	line(`config_age_seconds 200`)
	line(`requests_total{algorithm="gcra",error="",result="allowed"} %d`, 90*n)
	line(`requests_total{algorithm="gcra",error="",result="denied"} %d`, 10*n)
	line(`requests_total{algorithm="gcra",error="unavailable",result="error"} %d`, 3*n)
	for le, count := range map[string]int{"0.001": 50 * n, "0.01": 100 * n, "+Inf": 100 * n} {
		line(`latency_seconds_bucket{algorithm="gcra",le="%s"} %d`, le, count)
	}
	line(`rule_decisions_total{enforcer="default",result="allowed",rule="many"} %d`, 80*n)
	line(`rule_decisions_total{enforcer="default",result="denied",rule="few"} %d`, 7*n)
	line("rule_decisions_total{enforcer=\"default\",result=\"allowed\",rule=\"red \x1b[31m\u202e\"} %d", n)
	line(`utilization_ratio{enforcer="default",rule="few"} 1`)
	line(`active_keys{enforcer="default",rule="few"} 12`)
	line(`rule_limit{enforcer="default",limit="",rule="few"} 100`)
	line(`rule_period_seconds{enforcer="default",limit="",rule="few"} 90`)
	line(`store_commands_total{store="default"} %d`, 20*n)
	line(`decisions_per_call_count{store="default"} %d`, 20*n)
	line(`decisions_per_call_sum{store="default"} %d`, 100*n)
	line(`store_waiting{store="default"} 4`)
	line(`breaker_state{node="",store="default"} 2`)
	line(`pool_connections{pool="store",state="in_use"} 2`)
	line(`pool_connections{pool="store",state="idle"} 1`)
	line(`redis_memory_bytes{node="",pool="store"} 2500000`)
	return "# TYPE rate_limiter_latency_seconds histogram\n# TYPE rate_limiter_decisions_per_call summary\n" + b.String()
}

// metricsServer shows pages, one after the other.
func metricsServer(t *testing.T, pages ...string) string {
	t.Helper()
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := min(int(n.Add(1)), len(pages)) - 1
		if r.URL.Path != "/metrics" || pages[i] == "" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		fmt.Fprint(w, pages[i])
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestTopShowsRatesBetweenTwoReadings: in a pipe, as plain text, with nothing that a terminal
// would act on.
func TestTopShowsRatesBetweenTwoReadings(t *testing.T) {
	got := start("top", metricsServer(t, pageOf(0), pageOf(100)), "--once", "--every", "100ms")
	if got.status != exitOK || got.err != "" {
		t.Fatalf("status %d, %s", got.status, got.err)
	}
	// How long it is between the readings, and so each rate, is for the machine to say.
	for _, want := range []string{
		"denied/s  denied ", "10.0 %", "p50 1.00 ms", "p99 9.82 ms", "read 3m ago, 2 reloads failed",
		"few         100/90s", "100.0 %    12", "open", "2 in use, 1 idle; memory of the server 2.5 MB", " 5  ", "  4  ", "red ·[31m·",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("the output does not have %q", want)
		}
	}
	if strings.ContainsAny(got.out, "\x1b\u202e") {
		t.Error("the output has what a terminal acts on")
	}
	if few, many := strings.Index(got.out, "\nfew"), strings.Index(got.out, "\nmany"); few < 0 || many < few {
		t.Error("a rule that denies does not stand first")
	}
	if t.Failed() {
		t.Log(got.out)
	}
}

// TestTopShowsNoMoreRulesThanAskedFor: and says how many there are besides.
func TestTopShowsNoMoreRulesThanAskedFor(t *testing.T) {
	got := start("top", metricsServer(t, pageOf(0), pageOf(100)), "--once", "--every", "100ms", "--rules", "1")
	if !strings.Contains(got.out, "\nfew") || strings.Contains(got.out, "\nmany") || !strings.Contains(got.out, "2 more rules") {
		t.Error(got.out)
	}
}

// TestTopTellsTenantsApart: rules with one ID, once there are several tenants.
func TestTopTellsTenantsApart(t *testing.T) {
	page := func(n int) string {
		return pageOf(n) + fmt.Sprintf("rate_limiter_rule_decisions_total{enforcer=\"acme\",result=\"denied\",rule=\"few\"} %d\n", 9*n)
	}
	got := start("top", metricsServer(t, page(0), page(100)), "--once", "--every", "100ms")
	acme, own := strings.Index(got.out, "\nacme: few "), strings.Index(got.out, "\ndefault: few ")
	if acme < 0 || own < acme {
		t.Error(got.out)
	}
}

// TestTopRefusesWrongUsage: and says what is allowed.
func TestTopRefusesWrongUsage(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no URL":      {[]string{"weir:6070"}, "must be that of an admin listener"},
		"password":    {[]string{"http://a:b@h"}, "must be that of an admin listener"},
		"too often":   {[]string{"--every", "1ms"}, "must be 100ms to 1h"},
		"rules":       {[]string{"--rules", "-1"}, "must be 0 (what fits) or more"},
		"no token":    {[]string{"--token-file", "/does/not/exist"}, "--token-file"},
		"no CA":       {[]string{"--ca-file", os.Args[0]}, "has no certificate"},
		"two of them": {[]string{"http://a", "http://b"}, "http://b"},
	} {
		if got := start(append([]string{"top", "--once"}, c.args...)...); got.status != exitUsage || !strings.Contains(got.err, c.want) || got.out != "" {
			t.Errorf("%s: status %d, %s", name, got.status, got.err)
		}
	}
}

// TestTopFailsWhereThereIsNothingToShow: no service, one that refuses, and another page.
func TestTopFailsWhereThereIsNothingToShow(t *testing.T) {
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	for name, url := range map[string]string{
		"down": down.URL, "refused": metricsServer(t, ""), "no metrics": metricsServer(t, "<html>"),
		"other metrics": metricsServer(t, "go_goroutines 1\n"), "gone meanwhile": metricsServer(t, pageOf(0), ""),
	} {
		if got := start("top", url, "--once", "--every", "100ms"); got.status != exitFailed || got.out != "" {
			t.Errorf("%s: status %d, output %q, %s", name, got.status, got.out, got.err)
		}
	}
}

// TestTopFollowsNoRedirect: the token is for the URL alone.
func TestTopFollowsNoRedirect(t *testing.T) {
	var asked atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Store(true) }))
	defer other.Close()
	at := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
	defer at.Close()
	token := filepath.Join(t.TempDir(), "token")
	write(t, token, "a token\n")
	if got := start("top", at.URL, "--once", "--token-file", token); got.status != exitFailed || !strings.Contains(got.err, "302") || asked.Load() {
		t.Errorf("status %d, %s; the other server was asked: %t", got.status, got.err, asked.Load())
	}
}

// TestTopGoesOnWhereOneReadingFails: it says so, and shows what it knew. An interrupt is no
// failure.
func TestTopGoesOnWhereOneReadingFails(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &lines{}
	done := make(chan int, 1)
	url := metricsServer(t, pageOf(0), pageOf(1), "", pageOf(3))
	go func() { done <- run(ctx, []string{"top", url, "--every", "100ms"}, strings.NewReader(""), out, out) }()
	waitFor(t, "a frame after one that failed", func() bool {
		_, after, failed := strings.Cut(out.String(), "cannot be read: "+url)
		return failed && strings.Contains(after, "\nweir top")
	})
	cancel()
	if status := <-done; status != exitOK {
		t.Errorf("status %d after an interrupt", status)
	}
}

func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// TestTopFollowsTheSizeOfTheTerminal: no line is wider, no frame higher.
func TestTopFollowsTheSizeOfTheTerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	mine, theirs, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	defer theirs.Close()
	resize := func(columns, rows uint16) {
		if err := pty.Setsize(mine, &pty.Winsize{Cols: columns, Rows: rows}); err != nil {
			t.Fatal(err)
		}
	}
	resize(60, 40)
	shown := &lines{}
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := mine.Read(b)
			if err != nil {
				return
			}
			shown.Write(b[:n])
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int, 1)
	url := metricsServer(t, pageOf(0), pageOf(1))
	go func() {
		done <- run(ctx, []string{"top", url, "--every", "200ms"}, strings.NewReader(""), theirs, theirs)
	}()
	// frame is the last whole one, as lines.
	frame := func() []string {
		all := strings.Split(shown.String(), "\x1b[H")
		if len(all) < 3 {
			return nil
		}
		text, _, _ := strings.Cut(all[len(all)-2], "\x1b[J")
		return strings.Split(strings.TrimSuffix(strings.ReplaceAll(strings.ReplaceAll(text, "\r", ""), "\x1b[K", ""), "\n"), "\n")
	}
	fits := func(columns, rows int) func() bool {
		return func() bool {
			lines, widest := frame(), 0
			for _, line := range lines {
				widest = max(widest, len([]rune(line)))
			}
			return len(lines) > 0 && len(lines) <= rows-1 && widest <= columns && (columns == 200 || widest == columns)
		}
	}
	waitFor(t, "a frame of 60 columns", fits(60, 40))
	resize(40, 12)
	waitFor(t, "a frame of 40 columns and 12 rows", fits(40, 12))
	resize(200, 50)
	waitFor(t, "a frame of 200 columns", func() bool { return fits(200, 50)() && strings.Contains(strings.Join(frame(), "\n"), "fullest key") })
	cancel()
	if status := <-done; status != exitOK {
		t.Errorf("status %d after an interrupt", status)
	}
}

// TestTopShowsARunningService: with a token, where it tells callers apart; what it shows is
// what was asked.
func TestTopShowsARunningService(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "weir.yaml"), "version: 1\npolicy: {file: policy.yaml}\nauth: {file: callers.yaml}\n")
	write(t, filepath.Join(folder, "policy.yaml"), twice)
	write(t, filepath.Join(folder, "token"), "a token\n")
	write(t, filepath.Join(folder, "callers.yaml"), fmt.Sprintf("version: 1\ncallers: [{name: a, token_sha256: %x, role: write}]\n", sha256.Sum256([]byte("a token"))))
	s := serving(t, "--config", filepath.Join(folder, "weir.yaml"))
	if got := start("top", s.admin, "--once"); got.status != exitFailed || !strings.Contains(got.err, "401") {
		t.Errorf("without a token: status %d, %s", got.status, got.err)
	}
	c, err := client.New(s.grpc, &client.Options{Plaintext: true, Token: "a token", Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &lines{}
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"top", s.admin, "--every", "100ms", "--token-file", filepath.Join(folder, "token")}, strings.NewReader(""), out, out)
	}()
	denied := regexp.MustCompile(`\nuser +2/1d +\S+ +[1-9]`)
	waitFor(t, "a rule that denies", func() bool {
		_, err := c.Check(t.Context(), client.Request{Identifier: "marked-4711", Dimension: weirv1.Dimension_USER, Endpoint: "/"})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		return denied.MatchString(out.String())
	})
	cancel()
	<-done
	if strings.Contains(out.String(), "4711") {
		t.Error("it shows who asked")
	}
}
