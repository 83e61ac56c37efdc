package httplimit_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/httplimit"
)

// server is a base that answers from a list, and keeps what it got.
type server struct {
	mu      sync.Mutex
	answers []http.Header // by attempt; "Status" is the status, 200 else
	at      []time.Duration
	bodies  []string
	start   time.Time
	open    int // bodies of requests and answers that nobody has closed
}

type closing struct {
	io.Reader
	s    *server
	once sync.Once
}

func (c *closing) Close() error {
	c.once.Do(func() { c.s.mu.Lock(); c.s.open--; c.s.mu.Unlock() })
	return nil
}

func (s *server) body(text string) io.ReadCloser {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	return &closing{Reader: strings.NewReader(text), s: s}
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	text := ""
	if r.Body != nil {
		all, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		text = string(all)
		_ = r.Body.Close()
	}
	body := s.body("answer")
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := http.Header{}
	if n := len(s.at); n < len(s.answers) {
		answer = s.answers[n]
	}
	s.at = append(s.at, time.Since(s.start))
	s.bodies = append(s.bodies, text)
	status := http.StatusOK
	switch answer.Get("Status") {
	case "429":
		status = 429
	case "503":
		status = 503
	}
	return &http.Response{StatusCode: status, Header: answer, Body: body, Request: r}, nil
}

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

// transport runs a test in a bubble.
func transport(t *testing.T, o httplimit.TransportOptions, answers []http.Header, run func(t *testing.T, client *http.Client, s *server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &server{answers: answers, start: time.Now()}
		o.Base = s
		transport, err := httplimit.NewTransport(&o)
		if err != nil {
			t.Fatal(err)
		}
		run(t, &http.Client{Transport: transport}, s)
		if s.open != 0 {
			t.Errorf("%d bodies are open", s.open)
		}
	})
}

func call(t *testing.T, client *http.Client, url string) (status int) {
	t.Helper()
	response, err := client.Get(url)
	if err != nil {
		t.Error(err)
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func TestTransportKeepsThePauseOfAHost(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.Header
		second time.Duration // when the second request is sent
	}{
		"seconds":                         {header("Status", "429", "Retry-After", "7"), 7 * time.Second},
		"503":                             {header("Status", "503", "Retry-After", " 7 "), 7 * time.Second},
		"a date":                          {header("Status", "429", "Date", "Sat, 28 Nov 2026 20:00:00 GMT", "Retry-After", "Sat, 28 Nov 2026 20:00:09 GMT"), 9 * time.Second},
		"a date that is over":             {header("Status", "429", "Retry-After", "Sat, 01 Jan 2000 00:00:00 GMT"), 0},
		"nothing left":                    {header("RateLimit", `"a";r=0;t=3, "b";r=0;t=5;pk=:YQ==:, "c";r=1;t=9`), 5 * time.Second},
		"several lines":                   {header("RateLimit", `"a";r=0;t=3`, "RateLimit", `"b";r=0;t=4`), 4 * time.Second},
		"Retry-After counts":              {header("Status", "429", "Retry-After", "2", "RateLimit", `"a";r=0;t=9`), 2 * time.Second},
		"something left":                  {header("RateLimit", `"a";r=1;t=3`), 0},
		"an answer from a cache":          {header("Age", "60", "RateLimit", `"a";r=0;t=3`), 0},
		"an answer that a cache has got":  {header("Age", "0", "RateLimit", `"a";r=0;t=3`), 3 * time.Second},
		"no t":                            {header("RateLimit", `"a";r=0`), 0},
		"Retry-After of another status":   {header("Retry-After", "7"), 0},
		"429 that says nothing":           {header("Status", "429"), 0},
		"rubbish":                         {header("Status", "429", "Retry-After", "soon", "RateLimit", `"a";r=0;t=3,`), 0},
		"an older draft":                  {header("RateLimit", `limit=1, remaining=0, reset=9`), 0},
		"a number that is no Integer":     {header("RateLimit", `"a";r=0;t=3.5`), 0},
		"negative":                        {header("Status", "429", "Retry-After", "-7"), 0},
		"the last parameter counts":       {header("RateLimit", `"a";r=0;t=9;t=3`), 3 * time.Second},
		"values of every kind are passed": {header("RateLimit", `"a\"b\\";a;b=?1;c=tok/en:*;d="s";e=-1.5;f=@17;r=0;t=3`), 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			transport(t, httplimit.TransportOptions{}, []http.Header{test.answer}, func(t *testing.T, client *http.Client, s *server) {
				call(t, client, "http://Example.org/a")
				call(t, client, "http://other.example.org/")
				call(t, client, "http://example.org/b")
				if s.at[1] != 0 || s.at[2] != test.second {
					t.Errorf("sent at %v, want %v", s.at, test.second)
				}
			})
		})
	}
}

func TestTransportRepeats(t *testing.T) {
	refused := header("Status", "429", "Retry-After", "2")
	unavailable := header("Status", "503", "Retry-After", "2")
	for name, test := range map[string]struct {
		method  string
		body    string
		rewinds bool
		answers []http.Header
		status  int
		sent    int
	}{
		"until it is done":             {"GET", "", true, []http.Header{refused, refused}, 200, 3},
		"at most Repeat times":         {"GET", "", true, []http.Header{refused, refused, refused, refused}, 429, 3},
		"a body":                       {"POST", "text", true, []http.Header{refused}, 200, 2},
		"not a body that is gone":      {"POST", "text", false, []http.Header{refused}, 429, 1},
		"not what may have been done":  {"POST", "text", true, []http.Header{unavailable}, 503, 1},
		"what may be done twice":       {"PUT", "text", true, []http.Header{unavailable}, 200, 2},
		"not without a Retry-After":    {"GET", "", true, []http.Header{header("Status", "429")}, 429, 1},
		"not where MaxWait is shorter": {"GET", "", true, []http.Header{header("Status", "429", "Retry-After", "31")}, 429, 1},
		"not what was answered":        {"GET", "", true, []http.Header{header("RateLimit", `"a";r=0;t=1`)}, 200, 1},
	} {
		t.Run(name, func(t *testing.T) {
			transport(t, httplimit.TransportOptions{Repeat: 2}, test.answers, func(t *testing.T, client *http.Client, s *server) {
				r, err := http.NewRequest(test.method, "http://example.org", nil)
				if err != nil {
					t.Fatal(err)
				}
				if test.body != "" {
					r.Body = s.body(test.body)
				}
				if test.rewinds && test.body != "" {
					r.GetBody = func() (io.ReadCloser, error) { return s.body(test.body), nil }
				}
				response, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				_ = response.Body.Close()
				if response.StatusCode != test.status || len(s.at) != test.sent {
					t.Errorf("status %d after %d requests", response.StatusCode, len(s.at))
				}
				for i, at := range s.at {
					if s.bodies[i] != test.body || at != time.Duration(i)*2*time.Second {
						t.Errorf("request %d: at %v, %q", i, at, s.bodies[i])
					}
				}
			})
		})
	}
}

func TestTransportWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiterOn(t, newMemory(t, wall{}), "gcra:2/1s,burst=1", nil)
		s := &server{start: time.Now()}
		transport, err := httplimit.NewTransport(&httplimit.TransportOptions{Base: s, Limiter: l})
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: transport}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { call(t, client, "http://example.org") })
		}
		all.Wait()
		for i, at := range s.at {
			if at != time.Duration(i)*500*time.Millisecond {
				t.Errorf("request %d at %v", i, at)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, "POST", "http://example.org", s.body("text"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Do(r)
		var late *weir.WaitError
		if !errors.As(err, &late) || len(s.at) != 4 || s.open != 0 {
			t.Errorf("%v; %d requests sent, %d bodies open", err, len(s.at), s.open)
		}
	})
}

// TestTransportReturnsTheAnswerWhereTheDeadlineIsBeforeTheRepetition: an error would hide
// what the server has said.
func TestTransportReturnsTheAnswerWhereTheDeadlineIsBeforeTheRepetition(t *testing.T) {
	refused := []http.Header{header("Status", "429", "Retry-After", "20")}
	transport(t, httplimit.TransportOptions{Repeat: 2}, refused, func(t *testing.T, client *http.Client, s *server) {
		client.Timeout = 10 * time.Second
		if status := call(t, client, "http://example.org"); status != 429 || len(s.at) != 1 {
			t.Errorf("status %d after %d requests", status, len(s.at))
		}
	})
}

// TestTransportKeepsAPauseThatBeginsWhileWaiting: the requests that wait for the limiter
// are not sent during the pause, and not all together after it.
func TestTransportKeepsAPauseThatBeginsWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiterOn(t, newMemory(t, wall{}), "gcra:1/1s", nil)
		s := &server{start: time.Now(), answers: []http.Header{header(), header("Status", "429", "Retry-After", "10")}}
		transport, err := httplimit.NewTransport(&httplimit.TransportOptions{Base: s, Limiter: l})
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: transport}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { call(t, client, "http://example.org") })
		}
		all.Wait()
		if want := []time.Duration{0, time.Second, 11 * time.Second, 12 * time.Second}; !slices.Equal(s.at, want) {
			t.Errorf("sent at %v, want %v", s.at, want)
		}
	})
}

func TestTransportRefusesPausesThatAreTooLong(t *testing.T) {
	long := []http.Header{header("Status", "429", "Retry-After", "99999999999999999999")}
	transport(t, httplimit.TransportOptions{MaxWait: time.Hour}, long, func(t *testing.T, client *http.Client, s *server) {
		call(t, client, "http://example.org")
		_, err := client.Get("http://example.org")
		var paused *httplimit.PausedError
		if !errors.As(err, &paused) || paused.Wait != 24*time.Hour || !strings.Contains(err.Error(), "24h0m0s are left") {
			t.Errorf("error %v", err)
		}
		time.Sleep(24 * time.Hour)
		if status := call(t, client, "http://example.org"); status != 200 {
			t.Errorf("status %d", status)
		}
	})
	transport(t, httplimit.TransportOptions{}, []http.Header{header("Status", "429", "Retry-After", "20")}, func(t *testing.T, client *http.Client, s *server) {
		call(t, client, "http://example.org")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, "GET", "http://example.org", nil)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		var paused *httplimit.PausedError
		if _, err := client.Do(r); !errors.As(err, &paused) || time.Since(start) != 0 {
			t.Errorf("a deadline before the end of the pause: %v after %v", err, time.Since(start))
		}
	})
}

func TestTransportOptionsAreChecked(t *testing.T) {
	if _, err := httplimit.NewTransport(&httplimit.TransportOptions{Repeat: -1}); err == nil || !strings.Contains(err.Error(), "TransportOptions.Repeat is -1") {
		t.Errorf("error %v", err)
	}
	if transport, err := httplimit.NewTransport(nil); err != nil || transport == nil {
		t.Errorf("no options: %v", err)
	}
}

// idleCloser is a Transport that can close its connections.
type idleCloser struct {
	http.RoundTripper
	closed int
}

func (c *idleCloser) CloseIdleConnections() { c.closed++ }

func TestClientClosesTheConnectionsOfTheBase(t *testing.T) {
	base := &idleCloser{}
	for _, test := range []struct {
		base http.RoundTripper
		want int
	}{{base, 1}, {struct{ http.RoundTripper }{base}, 1}} { // the second has no such method
		transport, err := httplimit.NewTransport(&httplimit.TransportOptions{Base: test.base})
		if err != nil {
			t.Fatal(err)
		}
		(&http.Client{Transport: transport}).CloseIdleConnections()
		if base.closed != test.want {
			t.Errorf("%T: closed %d times", test.base, base.closed)
		}
	}
}
