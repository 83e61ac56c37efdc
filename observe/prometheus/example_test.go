package promobserver_test

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weirgo/weir"
	promobserver "github.com/weirgo/weir/observe/prometheus"
	memorystore "github.com/weirgo/weir/store/memory"
)

func Example() {
	metrics := weir.Must(promobserver.New(nil))
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)

	store := weir.Must(memorystore.New(nil))
	defer store.Close()
	metrics.AddMemory("local", store)
	limit := weir.Must(weir.ParseLimit("api", "gcra:2/1h"))
	limiter := weir.Must(weir.New(store, limit, &weir.Options{Observer: metrics}))
	for range 3 {
		weir.Must(limiter.Allow(context.Background(), "user:1"))
	}

	page := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	text, _ := io.ReadAll(page.Body)
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "rate_limiter_requests_total") && strings.Contains(line, `error=""`) && !strings.Contains(line, "shadow") || strings.HasPrefix(line, "rate_limiter_keys") {
			fmt.Println(line)
		}
	}
	// Output:
	// rate_limiter_keys{store="local"} 1
	// rate_limiter_requests_total{algorithm="gcra",error="",result="allowed"} 2
	// rate_limiter_requests_total{algorithm="gcra",error="",result="denied"} 1
}
