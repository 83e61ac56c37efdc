package servertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// PrometheusTool returns the path of a program of Prometheus, prometheus or promtool: on the
// PATH, or where scripts/setup unpacks them. Without it the test is skipped, since not every
// system has it in its packages, or fails if WEIR_PROMETHEUS=required is in the environment, as
// it is in scripts/test where scripts/setup has found it.
func PrometheusTool(tb testing.TB, name string) string {
	tb.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	folder, err := filepath.Abs(".")
	if err != nil {
		tb.Fatalf("servertest: %v", err)
	}
	for ; folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		path := filepath.Join(folder, "tools/prometheus/usr/bin", name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	const help = "servertest: no %s on the PATH nor in tools/prometheus, where scripts/setup unpacks it if apt has it"
	if os.Getenv("WEIR_PROMETHEUS") == required {
		tb.Fatalf(help, name)
	}
	tb.Skipf(help, name)
	return ""
}

// Prometheus is one that runs and scrapes one target each second.
type Prometheus struct {
	tb      testing.TB
	address string
}

// StartPrometheus starts a Prometheus that scrapes http://TARGET/metrics. It lives until the
// test ends, and ends with the test binary in any case. The end of its log is part of the
// output of a test that fails. It is skipped, or fails, as PrometheusTool says.
func StartPrometheus(tb testing.TB, target string) *Prometheus {
	tb.Helper()
	program, dir := PrometheusTool(tb, "prometheus"), tb.TempDir()
	config, log := filepath.Join(dir, "prometheus.yml"), filepath.Join(dir, "log")
	text := fmt.Sprintf("scrape_configs: [{job_name: weir, scrape_interval: 1s, scrape_timeout: 1s, static_configs: [{targets: [%q]}]}]\n", target)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		tb.Fatalf("servertest: %v", err)
	}
	p := &Prometheus{tb: tb, address: reservePort(tb)}
	process, err := startProcess(program, []string{
		"--config.file=" + config, "--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.listen-address=" + p.address,
	}, log)
	if err != nil {
		tb.Fatalf("servertest: start Prometheus: %v", err)
	}
	tb.Cleanup(func() {
		if err := process.kill(); err != nil {
			tb.Errorf("servertest: end Prometheus: %v", err)
		}
		if text, err := os.ReadFile(log); tb.Failed() && err == nil {
			tb.Logf("servertest: the log of Prometheus:\n%s", text)
		}
	})
	return p
}

// Await waits until a query has one result with a value, as Prometheus writes it.
func (p *Prometheus) Await(query, value string) {
	p.tb.Helper()
	Await(p.tb, "Prometheus answers "+query+" with "+value, func() bool { return p.ask(query) == value })
}

// ask returns the value of the only result of a query; "" where there is none, or no answer yet.
func (p *Prometheus) ask(query string) string {
	response, err := http.Get("http://" + p.address + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return "" // it starts
	}
	defer response.Body.Close()
	var answer struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	if json.NewDecoder(response.Body).Decode(&answer) != nil || len(answer.Data.Result) != 1 {
		return "" // of one that starts it may be no JSON
	}
	text, _ := answer.Data.Result[0].Value[1].(string)
	return text
}

// CheckMetrics has promtool look at a page of metrics: names, types and help.
func CheckMetrics(tb testing.TB, page string) {
	tb.Helper()
	command := exec.CommandContext(tb.Context(), PrometheusTool(tb, "promtool"), "check", "metrics")
	command.Stdin = strings.NewReader(page)
	if out, err := command.CombinedOutput(); err != nil {
		tb.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}
