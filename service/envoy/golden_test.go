package envoy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	redisstore "github.com/weirgo/weir/store/redis"
)

// pair is a request and what is answered.
type pair struct {
	label, request, answer string
	json                   bool
}

// pairs reads testdata/pairs.txt for a charge.
func pairs(t *testing.T, charge Charge) []pair {
	t.Helper()
	var all []pair
	for line := range strings.Lines(readFile(t, "testdata/pairs.txt")) {
		line = strings.TrimSuffix(line, "\n")
		field, is := strings.CutPrefix(line, "\t")
		if !is {
			if line != "" && line[0] != '#' {
				all = append(all, pair{label: line})
			}
			continue
		}
		p := &all[len(all)-1]
		name, rest, _ := strings.Cut(field, " ")
		switch {
		case name == "request":
			p.request, p.json = strings.CutPrefix(rest, "json ")
		case name == "answer" || name == "exact" && charge == ChargeExact:
			p.answer = rest
		case name != "exact":
			t.Fatalf("%q is no field of a pair", name)
		}
	}
	return all
}

// onEachStore runs a test on a store in memory, and on one on a server.
func onEachStore(t *testing.T, f func(t *testing.T, s store.Store)) {
	t.Run("memory", func(t *testing.T) { f(t, inMemory(t, mockClock())) })
	t.Run("server", func(t *testing.T) {
		servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
			client := redis.NewClient(&redis.Options{Addr: server.Addr()})
			t.Cleanup(func() { _ = client.Close() })
			s, err := redisstore.New(client, &redisstore.Options{Clock: mockClock()})
			must(t, s, err)
			t.Cleanup(func() { _ = s.Close() })
			f(t, s)
		})
	})
}

// TestAnswersAreThoseThatWereObserved: the pairs over the wire, charged in both ways.
func TestAnswersAreThoseThatWereObserved(t *testing.T) {
	for name, charge := range map[string]Charge{"upstream": ChargeUpstream, "exact": ChargeExact} {
		t.Run(name, func(t *testing.T) {
			onEachStore(t, func(t *testing.T, s store.Store) {
				all := pairs(t, charge)
				if len(all) != 65 {
					t.Fatalf("%d pairs, want 65", len(all))
				}
				config, err := Parse([]File{{"c.yaml", readFile(t, "testdata/pairs.yaml")}}, &ParseOptions{Strict: true})
				must(t, config, err)
				service, err := New(s, config, &Options{Charge: charge})
				must(t, service, err)
				ask := overTheWire(t, service)
				for _, p := range all {
					if got, want := ask(p), untilEnd(t, p.answer); got != want {
						t.Errorf("%s: %s\n got %s\nwant %s", p.label, p.request, got, want)
					}
				}
			})
		})
	}
}

// overTheWire returns a function that sends a pair and returns the answer as canonical text.
func overTheWire(t *testing.T, service *Service) func(p pair) string {
	client := dial(t, service)
	http1 := httptest.NewServer(service.JSONHandler())
	t.Cleanup(http1.Close)
	return func(p pair) string {
		req := requestOf(t, p.request)
		if !p.json {
			answer, err := client.ShouldRateLimit(context.Background(), req)
			if err != nil {
				if status.Code(err) != codes.Unknown {
					t.Errorf("%s: code %s, want Unknown", p.label, status.Code(err))
				}
				return "error " + status.Convert(err).Message()
			}
			text, err := protojson.Marshal(answer)
			return canonical(t, string(must(t, text, err)))
		}
		body, err := protojson.Marshal(req)
		must(t, body, err)
		resp, err := http.Post(http1.URL+"/json", "application/json", bytes.NewReader(body))
		must(t, resp, err)
		defer resp.Body.Close()
		var text bytes.Buffer
		if _, err := text.ReadFrom(resp.Body); err != nil {
			t.Fatal(err)
		}
		over := strings.Contains(p.answer, `{"overallCode":"OVER_LIMIT"`)
		if want := map[bool]int{false: 200, true: 429}[over]; resp.StatusCode != want || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s, want %d application/json", p.label, resp.StatusCode, resp.Header.Get("Content-Type"), want)
		}
		return canonical(t, text.String())
	}
}

// canonical is JSON without its accidental spaces, and any other text as it is.
func canonical(t *testing.T, text string) string {
	t.Helper()
	var value any
	if strings.HasPrefix(text, "error ") {
		return text
	}
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	out, err := json.Marshal(value)
	return string(must(t, out, err))
}

// untilEnd writes how long it is until the end of each window into an answer.
func untilEnd(t *testing.T, text string) string {
	t.Helper()
	if !strings.HasPrefix(text, "{") {
		return text
	}
	var answer map[string]any
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatal(err)
	}
	for _, s := range answer["statuses"].([]any) {
		s := s.(map[string]any)
		if s["durationUntilReset"] == "N" {
			seconds := map[string]int64{
				"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86400, "WEEK": 604800, "MONTH": 2592000, "YEAR": 31536000,
			}[s["currentLimit"].(map[string]any)["unit"].(string)]
			s["durationUntilReset"] = fmt.Sprint(seconds-start.Unix()%seconds) + "s"
		}
	}
	out, err := json.Marshal(answer)
	return string(must(t, out, err))
}

func TestJSONRefusesWhatUpstreamRefuses(t *testing.T) {
	s, _ := serviceOf(t, readFile(t, "testdata/pairs.yaml"), nil)
	for name, c := range map[string]struct {
		body string
		code int
	}{
		"bad json":      {`{"domain": `, 400},
		"empty":         {"", 400},
		"unknown field": {`{"domain": "c", "nope": 1}`, 400},
		"empty domain":  {`{"descriptors": [{"entries": [{"key": "ip", "value": "x"}]}]}`, 400},
		"too large":     {`{"domain": "` + strings.Repeat("c", maxBody) + `"}`, 413},
	} {
		w := httptest.NewRecorder()
		s.JSONHandler().ServeHTTP(w, httptest.NewRequest("POST", "/json", strings.NewReader(c.body)))
		if w.Code != c.code || strings.TrimSpace(w.Body.String()) != http.StatusText(c.code) || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s: %d %q %q", name, w.Code, w.Body, w.Header())
		}
	}
}

func TestHandlersForOperators(t *testing.T) {
	healthy := true
	s, _ := serviceOf(t, "domain: d\ndescriptors:\n  - {key: k, value: v, rate_limit: {unit: minute, requests_per_unit: 2}}\n", &Options{Healthy: func() bool { return healthy }})
	get := func(h http.Handler) string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		return fmt.Sprint(w.Code, " ", w.Body)
	}
	if got := get(s.HealthHandler()); got != "200 OK" {
		t.Error(got)
	}
	healthy = false
	if got := get(s.HealthHandler()); got != "500 " {
		t.Error(got)
	}
	if diff := cmp.Diff("200 d.k_v: unit=MINUTE requests_per_unit=2, shadow_mode: false, quota_mode: false\n", get(s.ConfigHandler())); diff != "" {
		t.Error(diff)
	}
}

// TestWindowEnds: a window is aligned to the epoch, and the next one is fresh.
func TestWindowEnds(t *testing.T) {
	s, clk := serviceOf(t, readFile(t, "testdata/pairs.yaml"), nil)
	for _, step := range []struct {
		after time.Duration
		want  string
	}{{0, "OK OK:0"}, {29*time.Second + 599*time.Millisecond, "OVER_LIMIT OVER_LIMIT:0"}, {time.Millisecond, "OK OK:0"}} {
		clk.Add(step.after)
		if got := codesOf(s.askOne(t, "c one=x")); got != step.want {
			t.Errorf("after %s: %s, want %s", step.after, got, step.want)
		}
	}
}
