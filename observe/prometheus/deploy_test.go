package promobserver

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weirgo/weir/internal/servertest"
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

// run runs a command to its end.
func run(t *testing.T, name string, arguments ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, arguments...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v\n%s", filepath.Base(name), strings.Join(arguments, " "), err, out)
	}
}

// TestAlertsFireWhereWhatTheyWatchBreaks: and not where all is well.
func TestAlertsFireWhereWhatTheyWatchBreaks(t *testing.T) {
	promtool := servertest.PrometheusTool(t, "promtool")
	run(t, promtool, "check", "rules", filepath.Join(deploy, "prometheus/rules.yaml"))
	run(t, promtool, "test", "rules", filepath.Join(deploy, "prometheus/rules_test.yaml"))
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

// TestPrometheusScrapesACollector: a real one, which then knows the numbers; and what it reads is
// as Prometheus wants it.
func TestPrometheusScrapesACollector(t *testing.T) {
	target := page(t, withEverything(t))
	scrape := servertest.StartPrometheus(t, strings.TrimPrefix(target.URL, "http://"))
	response, err := http.Get(target.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v", response.StatusCode, err)
	}
	servertest.CheckMetrics(t, string(text))
	scrape.Await(`rate_limiter_requests_total{algorithm="gcra",result="allowed",error=""}`, "3")
}
