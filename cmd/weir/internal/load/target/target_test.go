package target

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	"github.com/weirgo/weir/api/weirv1"
	"github.com/weirgo/weir/cmd/weir/internal/load"
)

func open(t *testing.T, s Service, text string) Target {
	t.Helper()
	u, err := ParseService(text)
	if err != nil {
		t.Fatal(err)
	}
	to, err := s.Open(u)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := to.Close(); err != nil {
			t.Error(err)
		}
	})
	return to
}

// TestAnswersOverHTTP: what an answer counts as, by its status, its media type and its body.
func TestAnswersOverHTTP(t *testing.T) {
	const plain, problem = "application/json", "application/problem+json"
	var status int
	var media, text string
	var got []string
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")+" "+r.Header.Get("Content-Type")+" "+string(body))
		w.Header().Set("Content-Type", media)
		w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
		w.WriteHeader(status)
		io.WriteString(w, text)
	}))
	defer service.Close()
	to := open(t, Service{Endpoint: "/orders", Dimension: "IP", Token: "secret", Timeout: time.Minute, Callers: 1}, service.URL)
	for name, c := range map[string]struct {
		status      int
		media, text string
		want        load.Answer
	}{
		"allowed":                  {200, plain, `{"allowed":true}`, load.Answer{Allowed: true}},
		"denied":                   {429, plain, `{"allowed":false}`, load.Answer{}},
		"degraded":                 {200, plain, `{"allowed":true,"degraded":true}`, load.Answer{Allowed: true, Degraded: true}},
		"the service's own limit":  {429, problem, `{"status":429}`, load.Answer{Failure: "self-limited"}},
		"unavailable":              {503, problem, `{}`, load.Answer{Failure: "HTTP 503"}},
		"a redirect":               {307, plain, ``, load.Answer{Failure: "HTTP 307"}},
		"another server":           {200, "text/html", `<p>hello</p>`, load.Answer{Failure: "not an answer of a check"}},
		"a status that lies":       {200, plain, `{"allowed":false}`, load.Answer{Failure: "not an answer of a check"}},
		"an object of another one": {200, plain, `{}`, load.Answer{Failure: "not an answer of a check"}},
	} {
		status, media, text = c.status, c.media, c.text
		if answer := to.Ask(t.Context(), "key"); answer != c.want {
			t.Errorf("%s: %+v, want %+v", name, answer, c.want)
		}
		err := to.Probe(t.Context())
		if refused := (*Refused)(nil); errors.As(err, &refused) != (c.want.Failure != "") || refused != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: probe: %v", name, err)
		}
	}
	asked := `POST /api/v1/check Bearer secret application/json {"identifier":"key","dimension":"IP","endpoint":"/orders","cost":1}`
	probed := `POST /api/v1/check Bearer secret application/json {"identifier":"weir","dimension":"IP","endpoint":"/orders","cost":0}`
	for _, one := range got {
		if one != asked && one != probed {
			t.Errorf("sent %s", one)
		}
	}
}

// TestAServiceThatCannotBeReached, or does not answer in time, is no answer.
func TestAServiceThatCannotBeReached(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	gone.Close()
	for url, want := range map[string]string{
		"http://" + gone.Addr().String(): "connection", "grpc://" + gone.Addr().String(): "Unavailable",
		"http://" + silent.Addr().String(): "time-out", "grpc://" + silent.Addr().String(): "DeadlineExceeded",
	} {
		to := open(t, Service{Endpoint: "/", Dimension: "USER", Timeout: 200 * time.Millisecond}, url)
		if answer := to.Ask(t.Context(), "key"); answer.Failure != want {
			t.Errorf("%s: %+v, want %s", url, answer, want)
		}
		err := to.Probe(t.Context())
		if refused := (*Refused)(nil); err == nil || errors.As(err, &refused) {
			t.Errorf("%s: probe: %v", url, err)
		}
	}
}

// counted is a service that answers, and counts the connections on which it was asked.
type counted struct {
	weirv1.UnimplementedRateLimiterServer
	mu   sync.Mutex
	asks map[string]int
}

func (c *counted) count(ctx context.Context) {
	from, _ := peer.FromContext(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asks[from.Addr.String()]++
}

func (c *counted) CheckRateLimit(ctx context.Context, _ *weirv1.CheckRequest) (*weirv1.CheckResponse, error) {
	c.count(ctx)
	return &weirv1.CheckResponse{Allowed: true}, nil
}

func (c *counted) GetRemainingQuota(ctx context.Context, _ *weirv1.QuotaRequest) (*weirv1.QuotaResponse, error) {
	c.count(ctx)
	return &weirv1.QuotaResponse{}, nil
}

// TestConnectionsOverGRPCTakeTurns, and are all there before the load begins.
func TestConnectionsOverGRPCTakeTurns(t *testing.T) {
	for connections, want := range map[int]int{0: 1, 1: 1, 3: 3} {
		at, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		service, server := &counted{asks: map[string]int{}}, grpc.NewServer()
		weirv1.RegisterRateLimiterServer(server, service)
		go server.Serve(at)
		t.Cleanup(server.Stop)
		to := open(t, Service{Endpoint: "/", Dimension: "USER", Timeout: time.Minute, Connections: connections}, "grpc://"+at.Addr().String())
		if err := to.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(service.asks) != want {
			t.Errorf("%d connections after the probe, want %d", len(service.asks), want)
		}
		for range 4 * want {
			if answer := to.Ask(t.Context(), "key"); answer != (load.Answer{Allowed: true}) {
				t.Errorf("%+v", answer)
			}
		}
		for from, n := range service.asks {
			if n != 5 {
				t.Errorf("%d of %d connections: %d requests over %s, want 5", len(service.asks), want, n, from)
			}
		}
	}
}

func TestURLsOfServices(t *testing.T) {
	for text, allowed := range map[string]bool{
		"http://localhost": true, "https://[::1]:8080/limits/api/v1/check": true, "grpc://localhost:8081": true, "grpcs://localhost:443": true,
		"http://": false, "http://user:secret@localhost": false, "http://localhost?a=b": false, "http://localhost#a": false, "http://local host": false,
		"grpc://localhost": false, "grpc://localhost:80/path": false, "grpc://:80": false,
	} {
		_, err := ParseService(text)
		if (err == nil) != allowed || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestNoProxyIsAsked: only the address that the user names is sent to.
func TestNoProxyIsAsked(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	u, err := url.Parse("http://limits.example")
	if err != nil {
		t.Fatal(err)
	}
	to := (&Service{Timeout: time.Second}).openHTTP(u).(*httpTarget)
	if to.client.Transport.(*http.Transport).Proxy != nil {
		t.Error("the target uses a proxy")
	}
}
