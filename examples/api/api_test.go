package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir/httplimit"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

const pageOrigin = "http://127.0.0.1:8081"

// still is a clock that stands still.
type still struct{}

func (still) Now() time.Time { return time.Unix(1_764_288_000, 0) }

// newTestAPI returns the API; a nil clock is the wall clock.
func newTestAPI(t *testing.T, clock store.Clock) http.Handler {
	t.Helper()
	opts := &memorystore.Options{}
	if clock != nil {
		opts.Clock = clock
	}
	states, err := memorystore.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = states.Close() })
	api, err := newAPI(states, limits, pageOrigin)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func ask(h http.Handler, method, path, key string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	if key != "" {
		r.Header.Set("X-Api-Key", key)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestTiersHaveTheirOwnLimits(t *testing.T) {
	api := newTestAPI(t, still{})
	for key, want := range map[string]int{"free-key": 10, "premium-key": 100, "enterprise-key": 1000} {
		admitted := 0
		for range 1100 {
			if ask(api, "GET", "/api/orders", key).Code == http.StatusOK {
				admitted++
			}
		}
		if admitted != want {
			t.Errorf("%s: %d admitted, want %d", key, admitted, want)
		}
	}
	if w := ask(api, "GET", "/api/orders", "no-key"); w.Code != http.StatusUnauthorized {
		t.Errorf("unknown key: %d", w.Code)
	}
}

func TestPagesOfOneOriginMayReadTheHeaders(t *testing.T) {
	api := newTestAPI(t, still{})
	for range 20 { // no limit counts a preflight request
		w := ask(api, "OPTIONS", "/api/orders", "", "Origin", pageOrigin, "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "x-api-key")
		if w.Code != http.StatusNoContent || w.Header().Get("Access-Control-Allow-Headers") != "X-Api-Key" || w.Header().Get("RateLimit") != "" {
			t.Fatalf("preflight: %d %v", w.Code, w.Header())
		}
	}
	for i := range 11 { // the denial has the headers, too
		w := ask(api, "GET", "/api/orders", "free-key", "Origin", pageOrigin)
		if w.Header().Get("Access-Control-Allow-Origin") != pageOrigin || w.Header().Get("Access-Control-Expose-Headers") != httplimit.ExposedHeaders {
			t.Errorf("answer %d: %v", i, w.Header())
		}
		if want := http.StatusOK; i < 10 && w.Code != want || i == 10 && w.Code != http.StatusTooManyRequests {
			t.Errorf("answer %d: status %d", i, w.Code)
		}
	}
	if w := ask(api, "GET", "/api/orders", "free-key", "Origin", "http://other.example"); w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another origin: %v", w.Header())
	}
}

// direct is a Transport to a handler, without a network.
type direct struct {
	handler http.Handler
	hide    string // a header that the client does not get
	denied  *int
}

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	if w.Code == http.StatusTooManyRequests {
		*d.denied++
	}
	response := w.Result()
	response.Header.Del(d.hide)
	return response, nil
}

// TestClientThatObeysIsAdmitted: a client that waits as long as Retry-After says is denied
// at most once a request, and one that reads RateLimit, too, never.
func TestClientThatObeysIsAdmitted(t *testing.T) {
	for key := range identities {
		for _, hide := range []string{"", "Ratelimit"} {
			synctest.Test(t, func(t *testing.T) {
				const requests = 300
				denied := 0
				transport, err := httplimit.NewTransport(&httplimit.TransportOptions{Base: direct{newTestAPI(t, nil), hide, &denied}, Repeat: 1})
				if err != nil {
					t.Fatal(err)
				}
				for i := range requests {
					r := httptest.NewRequest("GET", "http://api.example/api/search", nil)
					r.Header.Set("X-Api-Key", key)
					response, err := transport.RoundTrip(r)
					if err != nil {
						t.Fatal(err)
					}
					if response.StatusCode != http.StatusOK {
						t.Fatalf("%s: request %d: %d %v", key, i, response.StatusCode, response.Header)
					}
				}
				if hide == "" && denied > 0 || hide != "" && denied < 10 {
					t.Errorf("%s without the header %q: %d denied", key, hide, denied)
				}
				t.Logf("%s without the header %q: %d admitted, %d denied before", key, hide, requests, denied)
			})
		}
	}
}

// TestPageCallsNothingElse: all that the page needs comes from its own origin, and its
// policy lets it call the API alone.
func TestPageCallsNothingElse(t *testing.T) {
	page := newPage("http://127.0.0.1:8080")
	for path, want := range map[string]string{"/": `content="http://127.0.0.1:8080"`, "/page.js": "parseItems", "/page.css": "meter"} {
		w := ask(page, "GET", path, "")
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d", path, w.Code)
		}
		if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none';") || !strings.Contains(policy, "connect-src http://127.0.0.1:8080;") {
			t.Errorf("%s: %q", path, policy)
		}
	}
	if w := ask(page, "GET", "/api.go", ""); w.Code != http.StatusNotFound {
		t.Errorf("another file: %d", w.Code)
	}
}

// curl returns what curl prints.
func curl(t *testing.T, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("curl %v: %v", args, err)
	}
	return strings.ReplaceAll(string(out), "\r", "")
}

// session is the part of README.md with curl.
var session = regexp.MustCompile("(?s)```text\n(\\$ curl .*?)```")

// TestCurlSessionOfREADME: curl prints what the README says, but for the date.
func TestCurlSessionOfREADME(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := session.FindSubmatch(readme)
	if found == nil {
		t.Fatal("README.md has no session with curl")
	}
	server := httptest.NewServer(newTestAPI(t, still{}))
	defer server.Close()
	date := regexp.MustCompile(`(?m)^Date: .*$`)
	for command := range strings.SplitSeq(strings.TrimPrefix(string(found[1]), "$ "), "\n$ ") {
		line, want, _ := strings.Cut(command, "\n")
		args := regexp.MustCompile(`'[^']*'|\S+`).FindAllString(strings.ReplaceAll(line, "http://127.0.0.1:8080", server.URL), -1)
		for i := range args {
			args[i] = strings.Trim(args[i], "'")
		}
		got := date.ReplaceAllString(curl(t, args[1:]...), "Date: …")
		if strings.TrimSpace(got) != strings.TrimSpace(date.ReplaceAllString(want, "Date: …")) {
			t.Errorf("%s\nprints\n%s\nREADME.md says\n%s", line, got, want)
		}
	}
}

// TestCurlThatRetriesIsAdmitted: curl obeys Retry-After where it may repeat.
func TestCurlThatRetriesIsAdmitted(t *testing.T) {
	server := httptest.NewServer(newTestAPI(t, nil))
	defer server.Close()
	for {
		r, err := http.NewRequest("GET", server.URL+"/api/orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Api-Key", "free-key")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusTooManyRequests {
			break
		}
	}
	headers := filepath.Join(t.TempDir(), "headers")
	status := curl(t, "-s", "--retry", "1", "-w", "%{http_code}", "-o", filepath.Join(t.TempDir(), "body"), "-D", headers, "-H", "X-Api-Key: free-key", server.URL+"/api/orders")
	text, err := os.ReadFile(headers)
	if err != nil {
		t.Fatal(err)
	}
	if status != "200" || !strings.Contains(string(text), "\nRatelimit: \"api\";") {
		t.Errorf("curl prints %s, and the headers\n%s", status, text)
	}
}
