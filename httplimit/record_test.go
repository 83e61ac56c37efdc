package httplimit_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weirgo/weir/httplimit"
)

// TestOptionalInterfacesStay: a handler sees those of the ResponseWriter, and no others.
func TestOptionalInterfacesStay(t *testing.T) {
	type interfaces struct{ flush, hijack, push bool }
	of := func(w http.ResponseWriter) (i interfaces) {
		_, i.flush = w.(http.Flusher)
		_, i.hijack = w.(http.Hijacker)
		_, i.push = w.(http.Pusher)
		return i
	}
	plain := &sink{http.Header{}}
	recorder := httptest.NewRecorder()
	takeable := takeable{recorder}
	l, _ := newLimiter(t, "gcra:1000/24h")
	for _, w := range []http.ResponseWriter{
		plain, recorder, takeable,
		struct {
			*sink
			http.Pusher
		}{plain, nil},
		struct {
			*sink
			http.Hijacker
		}{plain, takeable},
		struct {
			*httptest.ResponseRecorder
			http.Pusher
		}{recorder, nil},
		struct {
			*sink
			http.Hijacker
			http.Pusher
		}{plain, takeable, nil},
		struct {
			*httptest.ResponseRecorder
			http.Hijacker
			http.Pusher
		}{recorder, takeable, nil},
	} {
		var got interfaces
		m := newMiddleware(t, l, httplimit.Everyone, &httplimit.Options{Settle: httplimit.BodyBytes})
		m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { got = of(w) })).ServeHTTP(w, get("203.0.113.7:1"))
		if want := of(w); got != want {
			t.Errorf("%T: %+v, want %+v", w, got, want)
		}
	}
}

// TestSettledStreamsAndTakenConnections: they work, and what is written is counted.
func TestSettledStreamsAndTakenConnections(t *testing.T) {
	l, _ := newLimiter(t, "gcra:1000/24h")
	outcomes := make(chan *httplimit.Outcome, 1)
	m := newMiddleware(t, l, httplimit.Everyone, &httplimit.Options{Settle: func(_ *http.Request, o *httplimit.Outcome) int64 {
		outcomes <- o
		return o.Bytes
	}})
	proceed := make(chan bool)
	server := httptest.NewServer(m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		controller := http.NewResponseController(w)
		if r.URL.Path == "/taken" {
			conn, rw, err := controller.Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = rw.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			_ = rw.Flush()
			return
		}
		fmt.Fprint(w, "first")
		if err := controller.Flush(); err != nil {
			t.Error(err)
		}
		<-proceed
		fmt.Fprint(w, "second")
	})))
	defer server.Close()
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	first := make([]byte, 5)
	if _, err := io.ReadFull(response.Body, first); err != nil || string(first) != "first" {
		t.Errorf("%q %v", first, err)
	}
	proceed <- true
	rest, err := io.ReadAll(response.Body)
	if o := <-outcomes; err != nil || string(rest) != "second" || o.Bytes != 11 || o.Status != 200 {
		t.Errorf("%q %v %+v", rest, err, o)
	}
	response, err = http.Get(server.URL + "/taken")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	taken, err := io.ReadAll(response.Body)
	if o := <-outcomes; err != nil || string(taken) != "ok" || o.Status != 101 || o.Bytes != 0 {
		t.Errorf("%q %v %+v", taken, err, o)
	}
}

// unwraps is a ResponseWriter that only http.ResponseController sees through.
type unwraps struct{ below http.ResponseWriter }

func (w unwraps) Header() http.Header         { return w.below.Header() }
func (w unwraps) Write(b []byte) (int, error) { return w.below.Write(b) }
func (w unwraps) WriteHeader(status int)      { w.below.WriteHeader(status) }
func (w unwraps) Unwrap() http.ResponseWriter { return w.below }

// outcomeOf returns the outcome of a request to a server.
func outcomeOf(t *testing.T, http2 bool, method string, wrap func(http.ResponseWriter) http.ResponseWriter, h http.HandlerFunc) *httplimit.Outcome {
	t.Helper()
	l, _ := newLimiter(t, "gcra:1000/24h")
	outcomes := make(chan *httplimit.Outcome, 1)
	limited := newMiddleware(t, l, httplimit.Everyone, &httplimit.Options{Settle: func(_ *http.Request, o *httplimit.Outcome) int64 {
		outcomes <- o
		return 1
	}}).Handler(h)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { limited.ServeHTTP(wrap(w), r) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.EnableHTTP2 = http2
	if http2 {
		server.StartTLS()
	} else {
		server.Start()
	}
	defer server.Close()
	r, err := http.NewRequest(method, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return <-outcomes
}

// TestTakenConnectionHasItsStatus: also where the ResponseWriter is no http.Hijacker itself,
// and where the handler answers with a status afterwards, which nobody gets.
func TestTakenConnectionHasItsStatus(t *testing.T) {
	for name, wrap := range map[string]func(http.ResponseWriter) http.ResponseWriter{
		"a hijacker":       func(w http.ResponseWriter) http.ResponseWriter { return w },
		"below another":    func(w http.ResponseWriter) http.ResponseWriter { return unwraps{w} },
		"below two others": func(w http.ResponseWriter) http.ResponseWriter { return unwraps{unwraps{w}} },
	} {
		o := outcomeOf(t, false, "GET", wrap, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
			http.Error(w, "too late", http.StatusInternalServerError)
		})
		if o.Status != 101 || o.Bytes != 0 || o.Err != nil {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// TestHEADOverHTTP2HasTheStatusThatWasSent: its stream ends with the header, so that
// writing a body, and flushing, are errors.
func TestHEADOverHTTP2HasTheStatusThatWasSent(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"copied": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, io.LimitReader(strings.NewReader(strings.Repeat("x", 1<<17)), 1<<16))
		},
		"flushed": func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
			w.WriteHeader(http.StatusInternalServerError)
		},
	} {
		if o := outcomeOf(t, true, "HEAD", func(w http.ResponseWriter) http.ResponseWriter { return w }, h); o.Status != 200 || o.Err != nil {
			t.Errorf("%s: %+v", name, o)
		}
	}
}
