package promobserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const deploy = "../../deploy"

// TestAlertsAndDashboardNameMetricsThatExist: a panel of a metric that was renamed stays
// empty for ever, and an alert silent.
func TestAlertsAndDashboardNameMetricsThatExist(t *testing.T) {
	known := gather(t, withEverything(t))
	metric := regexp.MustCompile(`\brate_limiter_[a-z0-9_]+`)
	summed := regexp.MustCompile(`_(bucket|sum|count)$`)
	for _, file := range []string{"prometheus/rules.yaml", "prometheus/rules_test.yaml", "grafana/weir.json"} {
		text, err := os.ReadFile(filepath.Join(deploy, file))
		if err != nil {
			t.Fatal(err)
		}
		named := metric.FindAllString(string(text), -1)
		if len(named) == 0 {
			t.Errorf("%s names no metric", file)
		}
		for _, name := range named {
			if known[name] == nil && known[summed.ReplaceAllString(name, "")] == nil {
				t.Errorf("%s names %s, which there is not", file, name)
			}
		}
	}
}

// TestDashboardIsWellFormed: panels have numbers of their own, a query each, and do not
// overlap.
func TestDashboardIsWellFormed(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(deploy, "grafana/weir.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Title, UID string
		Panels     []struct {
			ID          int
			Type, Title string
			Description string
			GridPos     struct{ X, Y, W, H int }
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range dashboard.Panels {
		if ids[p.ID] || p.Title == "" {
			t.Errorf("panel %d %q: the number is taken, or there is no title", p.ID, p.Title)
		}
		ids[p.ID] = true
		if p.Type != "row" && (len(p.Targets) == 0 || p.Description == "") {
			t.Errorf("panel %q has no query or no description", p.Title)
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if taken := cells[[2]int{x, y}]; taken != "" || x >= 24 {
					t.Fatalf("panel %q overlaps %q, or the edge", p.Title, taken)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
	}
}

// tool finds a program of Prometheus: on the PATH, or where scripts/setup has put it. The
// test is skipped where apt has none: that is no want of a server, which noskip refuses.
func tool(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	path, err := filepath.Abs(filepath.Join("../../tools/prometheus/usr/bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is neither on the PATH nor in tools/prometheus, where scripts/setup puts it if apt has it", name)
	}
	return path
}

// run runs a command to its end.
func run(t *testing.T, stdin []byte, name string, arguments ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, arguments...)
	c.Stdin = bytes.NewReader(stdin)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v\n%s", filepath.Base(name), strings.Join(arguments, " "), err, out)
	}
}

// TestAlertsFireWhereWhatTheyWatchBreaks: and not where all is well.
func TestAlertsFireWhereWhatTheyWatchBreaks(t *testing.T) {
	promtool := tool(t, "promtool")
	run(t, nil, promtool, "check", "rules", filepath.Join(deploy, "prometheus/rules.yaml"))
	run(t, nil, promtool, "test", "rules", filepath.Join(deploy, "prometheus/rules_test.yaml"))
}

// page is what a server shows Prometheus.
func page(t *testing.T, c prometheus.Collector) *httptest.Server {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	s := httptest.NewServer(promhttp.HandlerFor(r, promhttp.HandlerOpts{EnableOpenMetrics: true, ErrorHandling: promhttp.HTTPErrorOnError}))
	t.Cleanup(s.Close)
	return s
}

// get returns the body of a page.
func get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}

// startPrometheus starts it on a port that was free a moment before. ended is closed where it
// has ended; it does so with ctx.
func startPrometheus(t *testing.T, ctx context.Context, server, config, dir string) (address string, ended <-chan struct{}) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = free.Addr().String()
	free.Close()
	c := exec.CommandContext(ctx, server, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	var log bytes.Buffer
	c.Stderr = &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		_ = c.Wait() // it is killed, or was not the first on the port
		close(done)
	}()
	t.Cleanup(func() {
		<-done // ctx has ended: the test ends it first
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return address, done
}

// TestPrometheusScrapesACollector: a real one, which then knows the numbers.
func TestPrometheusScrapesACollector(t *testing.T) {
	server := tool(t, "prometheus")
	target := page(t, withEverything(t))
	text, err := get(t.Context(), target.URL)
	if err != nil {
		t.Fatal(err)
	}
	run(t, text, tool(t, "promtool"), "check", "metrics")

	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	scrape := fmt.Sprintf("scrape_configs: [{job_name: weir, scrape_interval: 1s, scrape_timeout: 1s, static_configs: [{targets: [%q]}]}]\n",
		strings.TrimPrefix(target.URL, "http://"))
	if err := os.WriteFile(config, []byte(scrape), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	address, ended := startPrometheus(t, ctx, server, config, dir)
	query := "/api/v1/query?query=" + url.QueryEscape(`rate_limiter_requests_total{algorithm="gcra",result="allowed",error=""}`)
	var answer struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	for starts := 1; len(answer.Data.Result) == 0; {
		select {
		case <-ctx.Done():
			t.Fatal("Prometheus does not know the metric")
		case <-ended: // somebody else was faster to take the port
			if starts++; starts > 5 {
				t.Fatal("Prometheus ends again and again")
			}
			address, ended = startPrometheus(t, ctx, server, config, dir)
		case <-time.After(50 * time.Millisecond): // it starts, or has not scraped yet
		}
		if body, err := get(ctx, "http://"+address+query); err == nil {
			_ = json.Unmarshal(body, &answer) // of a server that starts it may be no JSON
		}
	}
	if got := answer.Data.Result[0].Value[1]; got != "3" {
		t.Errorf("Prometheus counts %v admissions, want 3", got)
	}
}
