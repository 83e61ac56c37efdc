package echolimit_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"testing"

	"github.com/labstack/echo/v4"
	echolimit "github.com/weirgo/weir/adapter/echo"
	"github.com/weirgo/weir/httplimit"
)

func TestOutcomeOfTheHandlerIsSettled(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		handler echo.HandlerFunc
		status  int
		bytes   int64
		err     error
	}{
		"nothing":      {func(echo.Context) error { return nil }, 200, 0, nil},
		"a body":       {func(c echo.Context) error { return c.String(201, "hello") }, 201, 5, nil},
		"an HTTPError": {func(echo.Context) error { return echo.NewHTTPError(401, "no") }, 401, 0, nil},
		"an error":     {func(echo.Context) error { return broken }, 500, 0, broken},
		"written":      {func(c echo.Context) error { _ = c.String(202, "hello"); return broken }, 202, 5, broken},
		"a panic":      {func(echo.Context) error { panic("x") }, 500, 0, httplimit.ErrPanicked},
	} {
		var seen []httplimit.Outcome
		e := echo.New()
		e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
			return func(c echo.Context) (err error) {
				defer func() {
					if recover() != nil {
						err = echo.NewHTTPError(500, "panic")
					}
				}()
				return next(c)
			}
		})
		e.Use(echolimit.New(middleware(t, httplimit.Everyone, &httplimit.Options{Settle: func(_ *http.Request, o *httplimit.Outcome) int64 {
			seen = append(seen, *o)
			return 0
		}})))
		e.GET("/", test.handler)
		for range 2 { // of 1: the unit is given back
			if w := get(e, "/"); w.Code != test.status {
				t.Errorf("%s: status %d", name, w.Code)
			}
		}
		if len(seen) != 2 || seen[1].Status != test.status || seen[1].Bytes != test.bytes || test.err != nil && !errors.Is(seen[1].Err, test.err) {
			t.Errorf("%s: %+v", name, seen)
		}
		if (test.err == nil && test.status < 400) != (seen[1].Err == nil) {
			t.Errorf("%s: %v", name, seen[1].Err)
		}
	}
}

// TestPathValuesOfTheOuterRouterStay: the parameters of a route do not reach the request
// of a ServeMux that echo is mounted on.
func TestPathValuesOfTheOuterRouterStay(t *testing.T) {
	e := echo.New()
	outer := ""
	e.Use(echolimit.New(middleware(t, httplimit.Join(httplimit.PathValue("id"), httplimit.PathValue("kind")), nil)))
	e.GET("/a/:id", func(c echo.Context) error {
		outer = c.Request().PathValue("id") + c.Request().PathValue("kind")
		return nil
	})
	mux := http.NewServeMux()
	mux.HandleFunc("/{kind}/{id}", func(w http.ResponseWriter, r *http.Request) {
		r.SetPathValue("id", "outer")
		e.ServeHTTP(w, r)
	})
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/a/7", nil))
	if w.Code != 200 || outer != "outera" {
		t.Errorf("%d %q", w.Code, outer)
	}
}

// TestDeniedMaySendEarlyHints: they are no answer.
func TestDeniedMaySendEarlyHints(t *testing.T) {
	e := echo.New()
	e.Use(echolimit.New(middleware(t, httplimit.Header("X-None"), &httplimit.Options{Denied: func(w http.ResponseWriter, r *http.Request, v *httplimit.Verdict) {
		w.WriteHeader(http.StatusEarlyHints)
		httplimit.WriteProblem(w, r, v)
	}})))
	server := httptest.NewServer(e)
	defer server.Close()
	hints := 0
	r, err := http.NewRequest("GET", server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r = r.WithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error {
		hints++
		return nil
	}}))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != 403 || hints != 1 || len(body) == 0 {
		t.Errorf("%d %q, %d hints, %v", response.StatusCode, body, hints, err)
	}
}
