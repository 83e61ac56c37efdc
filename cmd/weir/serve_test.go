package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weirgo/weir/internal/servertest"
)

func TestServeChecksItsConfiguration(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.yaml", "version: 1\npolicy: {file: policy.yaml}\n")
	write("policy.yaml", "version: 1\nrules: [{id: user, key: [user], limit: 'gcra:10/1h'}]\n")
	wrong := write("wrong.yaml", "version: 1\nstroe: {}\n")
	badPolicy := write("bad-policy.yaml", "version: 1\npolicy: {file: wrong.yaml}\n")
	write("not-a-table.yaml", "version: 1\ncallers: [{name: x}]\n")
	const onServer = "version: 1\nstore: {url: 'redis://127.0.0.1:1'}\non_failure: open\n"
	badCallers := write("bad-callers.yaml", "version: 1\nauth: {file: not-a-table.yaml}\n")
	badTLS := write("bad-tls.yaml", "version: 1\ntls: {cert_file: policy.yaml, key_file: policy.yaml}\n")
	badRLS := write("bad-rls.yaml", "version: 1\nrls: {files: [wrong.yaml]}\n")
	badBreaker := write("bad-breaker.yaml", onServer+"breaker: {failure_percent: 200}\n")
	badLease := write("bad-lease.yaml", onServer+"lease: {units: -3}\n")
	for _, c := range []struct {
		name      string
		args      []string
		status    int
		out, errs string
	}{
		{"without anything", nil, exitOK, "(an example)", ""},
		{"a file", []string{"--config", good}, exitOK, "1 rules", ""},
		{"a flag over the file", []string{"--config", good, "--http", "127.0.0.1:1234"}, exitOK, "127.0.0.1:1234", ""},
		{"any field", []string{"--config", good, "--set", "shutdown.drain=7s"}, exitOK, "drains for 7s", ""},
		{"a wrong file", []string{"--config", wrong}, exitUsage, "", "line 2, column 1: stroe: unknown field"},
		{"no file", []string{"--config", filepath.Join(folder, "none.yaml")}, exitUsage, "", "no such file"},
		{"a wrong policy", []string{"--config", badPolicy}, exitUsage, "", "stroe"},
		{"wrong callers", []string{"--config", badCallers}, exitUsage, "", "callers[0].role"},
		{"a wrong certificate", []string{"--config", badTLS}, exitUsage, "", "tls"},
		{"wrong files of rls", []string{"--config", badRLS}, exitUsage, "", "rls"},
		{"a wrong breaker", []string{"--config", badBreaker}, exitUsage, "", "FailurePercent"},
		{"a wrong lease", []string{"--config", badLease}, exitUsage, "", "Units"},
		{"no policy", []string{"--policy", filepath.Join(folder, "none.yaml")}, exitUsage, "", "no such file"},
		{"a server without on_failure", []string{"--store", "redis://127.0.0.1"}, exitUsage, "", "on_failure: missing"},
		{"beyond loopback", []string{"--http", "0.0.0.0:80"}, exitUsage, "", "beyond loopback without auth"},
		{"insecure", []string{"--http", "0.0.0.0:80", "--insecure", "true"}, exitOK, "0.0.0.0:80", ""},
		{"no such field", []string{"--set", "store.uri=x"}, exitUsage, "", "unknown field"},
		{"no value", []string{"--set", "store.url"}, exitUsage, "", "FIELD=VALUE"},
		{"twice", []string{"--store", "memory://", "--set", "store.url=memory://"}, exitUsage, "", "once for each field"},
	} {
		got := start(append([]string{"serve", "--check"}, c.args...)...)
		if got.status != c.status || !strings.Contains(got.out, c.out) || !strings.Contains(got.err, c.errs) {
			t.Errorf("%s: status %d\n%s%swant %d with %q and %q", c.name, got.status, got.out, got.err, c.status, c.out, c.errs)
		}
	}
	// A start finds the same, before it connects with anything.
	for _, config := range []string{badCallers, badTLS, badRLS, badBreaker, badLease, badPolicy} {
		if got := start("serve", "--config", config); got.status != exitUsage {
			t.Errorf("%s: %+v: want status %d", config, got, exitUsage)
		}
	}
	t.Setenv("WEIR_SHUTDOWN_DRAIN", "9s")
	t.Setenv("WEIR_CONFIG", good)
	if got := start("serve", "--check"); got.status != exitOK || !strings.Contains(got.out, "drains for 9s") || !strings.Contains(got.out, "1 rules") {
		t.Errorf("variables: %+v", got)
	}
}

func TestServeWithoutTheServerFails(t *testing.T) {
	got := start("serve", "--store", "redis://127.0.0.1:1", "--on-failure", "open", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	if got.status != exitFailed || !strings.Contains(got.err, "redis://127.0.0.1:1") {
		t.Errorf("%+v: want status %d and the store", got, exitFailed)
	}
}

// logLine is what the tests read of a line of the log.
type logLine struct{ Msg, HTTP, Admin, Try, Error string }

// serve starts a process that serves on free ports, without a configuration, and ends with the
// test. await reads its log to the next line whose message begins with a text.
func serve(t *testing.T, args ...string) (served *exec.Cmd, await func(message string) logLine) {
	t.Helper()
	served = command(t, append([]string{"serve", "--log", "json", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--admin", "127.0.0.1:0"}, args...)...)
	lines, err := served.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := served.Start(); err != nil {
		t.Fatal(err)
	}
	killer := time.AfterFunc(2*time.Minute, func() { served.Process.Kill() })
	t.Cleanup(func() {
		killer.Stop()
		served.Process.Kill()
		served.Wait() // killed, or waited for by the test
	})
	log := bufio.NewScanner(lines)
	return served, func(message string) (line logLine) {
		t.Helper()
		for log.Scan() {
			line = logLine{}
			if err := json.Unmarshal(log.Bytes(), &line); err != nil {
				t.Fatalf("%s: %v", log.Text(), err)
			}
			if strings.HasPrefix(line.Msg, message) {
				return line
			}
		}
		t.Fatalf("the log has no line %q: %v", message, log.Err())
		return line
	}
}

// TestPrometheusScrapesServe: a real one, which then knows what a process has decided; and what
// it reads is as Prometheus wants it.
func TestPrometheusScrapesServe(t *testing.T) {
	leftToTheFullRun(t)
	servertest.PrometheusTool(t, "prometheus") // before a process is started
	_, await := serve(t)
	at := await("serving")
	scrape := servertest.StartPrometheus(t, at.Admin)
	for range 12 { // the example policy admits 10 together
		response, err := http.Post("http://"+at.HTTP+"/api/v1/check", "application/json", strings.NewReader(`{"identifier":"marked-4711","dimension":"USER","endpoint":"/"}`))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
	response, err := http.Get("http://" + at.Admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v", response.StatusCode, err)
	}
	servertest.CheckMetrics(t, string(page))
	if bytes.Contains(page, []byte("4711")) {
		t.Error("the metrics show who asked")
	}
	scrape.Await(`sum(rate_limiter_requests_total)`, "12")
	scrape.Await(`rate_limiter_rule_decisions_total{rule="user",result="denied"} > 0`, metricOf(t, page, `rate_limiter_rule_decisions_total{enforcer="default",result="denied",rule="user"}`))
}

// metricOf returns the value of a metric of a page.
func metricOf(t *testing.T, page []byte, name string) string {
	t.Helper()
	_, after, found := bytes.Cut(page, []byte("\n"+name+" "))
	value, _, _ := bytes.Cut(after, []byte("\n"))
	if !found {
		t.Fatalf("there is no %s", name)
	}
	return string(value)
}

// TestServeAsANewUserDoes: it starts without a file, answers what the help says, reloads
// by SIGHUP, and ends with 0 by SIGTERM.
func TestServeAsANewUserDoes(t *testing.T) {
	served, await := serve(t, "--set", "shutdown.drain=0s")
	try := await("no configuration").Try
	at := await("serving").HTTP
	if !strings.HasPrefix(try, "curl -d ") || !strings.HasSuffix(try, "http://"+at+"/api/v1/check") {
		t.Errorf("the log says to try %q", try)
	}
	// What curl -d sends.
	response, err := http.Post("http://"+at+"/api/v1/check", "application/x-www-form-urlencoded", strings.NewReader(`{"identifier":"me","dimension":"USER","endpoint":"/"}`))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil || response.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(`"allowed":true`)) {
		t.Errorf("%d %s, %v: want an admission", response.StatusCode, body, err)
	}
	if err := served.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	await("configuration replaced")
	if err := served.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	await("stopped")
	if err := served.Wait(); err != nil {
		t.Errorf("%v: want it to end with 0", err)
	}
}
