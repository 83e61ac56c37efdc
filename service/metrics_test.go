package service

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/internal/storeurl"
	"github.com/weirgo/weir/service/config"
)

// metric returns the value of a metric, with its labels, as /metrics shows it; "" where it
// does not. token is that of the caller, if any.
func (r *running) metric(t *testing.T, name, token string) string {
	t.Helper()
	_, page := r.metricsPage(t, token)
	for line := range strings.Lines(page) {
		if value, is := strings.CutPrefix(line, name+" "); is {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func (r *running) metricsPage(t *testing.T, token string) (status int, page string) {
	t.Helper()
	_, _, admin := r.Addresses()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+admin.String()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

const failedReloads = `rate_limiter_config_reload_total{result="failure"}`

// TestMetricsCountWhatTheServiceAnswers: decisions, rules, states, reloads and the clocks of
// callers; and show nobody.
func TestMetricsCountWhatTheServiceAnswers(t *testing.T) {
	folder := files(t, "weir.yaml", free+"policy: {file: policy.yaml}\n", "policy.yaml", strings.Replace(userPolicy, "10/1h", "1/1h", 1))
	r := run(t, load(t, folder), nil)
	for range 2 {
		request := user("marked-4711")
		request.Timestamp = 1
		if _, err := r.CheckRateLimit(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		`rate_limiter_requests_total{algorithm="gcra",error="",result="allowed"}`:           "1",
		`rate_limiter_requests_total{algorithm="gcra",error="",result="denied"}`:            "1",
		`rate_limiter_rule_decisions_total{enforcer="default",result="denied",rule="user"}`: "1",
		`rate_limiter_active_keys{enforcer="default",rule="user"}`:                          "1",
		`rate_limiter_keys{store="` + config.DefaultTenant + `"}`:                           "1",
		`rate_limiter_clock_skew_seconds_count`:                                             "2",
		`rate_limiter_self_limited_total{api="check"}`:                                      "0",
	} {
		if got := r.metric(t, name, ""); got != want {
			t.Errorf("%s: %q, want %s", name, got, want)
		}
	}
	if _, page := r.metricsPage(t, ""); strings.Contains(page, "marked") {
		t.Error("the page shows who asked")
	}
	replace(t, filepath.Join(folder, "policy.yaml"), "version: 7\n")
	eventually(t, "a failed reload is counted", func() bool {
		return r.metric(t, failedReloads, "") != "0"
	})
}

// TestRulesOfTenantsAreCountedApart: where they have one ID.
func TestRulesOfTenantsAreCountedApart(t *testing.T) {
	r, _ := tenants(t)
	for range 2 {
		if _, err := r.CheckRateLimit(withToken(t.Context(), "a"), user("u")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.CheckRateLimit(withToken(t.Context(), "b"), user("u")); err != nil {
		t.Fatal(err)
	}
	for tenant, want := range map[string]string{"acme": "2", "globex": "1"} {
		if got := r.metric(t, `rate_limiter_rule_decisions_total{enforcer="`+tenant+`",result="allowed",rule="user"}`, "token-w"); got != want {
			t.Errorf("%s: %q, want %s", tenant, got, want)
		}
	}
}

// TestMetricsAreShownToReaders: where callers are told apart.
func TestMetricsAreShownToReaders(t *testing.T) {
	folder := files(t, "weir.yaml", free+"auth: {file: callers.yaml}\n",
		"callers.yaml", callers("reader read "+config.DefaultTenant, "checker check "+config.DefaultTenant))
	r := run(t, load(t, folder), nil)
	for token, want := range map[string]int{"": http.StatusUnauthorized, "token-checker": http.StatusForbidden, "token-reader": http.StatusOK} {
		if got, _ := r.metricsPage(t, token); got != want {
			t.Errorf("token %q: status %d, want %d", token, got, want)
		}
	}
}

// TestMetricsShowTheServerOfTheStore: its calls, connections and memory, whatever client
// library there is.
func TestMetricsShowTheServerOfTheStore(t *testing.T) {
	for _, scheme := range []string{"redis", "valkey"} {
		t.Run(scheme, func(t *testing.T) {
			server := servertest.Start(t, servertest.Redis, nil)
			config := strings.Replace(onServer(server.Addr(), "closed", "policy: {file: policy.yaml}\n"), "redis://", scheme+"://", 1)
			r := run(t, load(t, files(t, "weir.yaml", config, "policy.yaml", userPolicy)), nil)
			eventually(t, "an answer", func() bool {
				_, err := r.CheckRateLimit(t.Context(), user("u"))
				return err == nil
			})
			positive := func(name string) func() bool {
				return func() bool {
					n, err := strconv.ParseFloat(r.metric(t, name, ""), 64)
					return err == nil && n > 0
				}
			}
			for _, name := range []string{
				`rate_limiter_store_call_seconds_count{op="apply",store="default"}`,
				`rate_limiter_decisions_per_call_count{store="default"}`,
				`rate_limiter_pool_connections{pool="store",state="` + map[string]string{"redis": "idle", "valkey": "in_use"}[scheme] + `"}`,
				`rate_limiter_redis_memory_bytes{node="",pool="store"}`,
				`rate_limiter_config_age_seconds`,
			} {
				eventually(t, name, positive(name))
			}
		})
	}
}

// TestMemoryIsAskedForWhereTheUserMay: and where it may not, once, so that the server has no
// line in its log for each scrape.
func TestMemoryIsAskedForWhereTheUserMay(t *testing.T) {
	var m metrics
	asked := 0
	m.followMemory(t.Context(), func(context.Context) (map[string]int64, error) {
		asked++
		return nil, fmt.Errorf("info: %w", storeurl.ErrNotPermitted)
	})
	if asked != 1 || m.memory.Load() != nil {
		t.Errorf("asked %d times", asked)
	}
}
