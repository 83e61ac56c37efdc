package echolimit_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/weirgo/weir"
	echolimit "github.com/weirgo/weir/adapter/echo"
	"github.com/weirgo/weir/httplimit"
	memorystore "github.com/weirgo/weir/store/memory"
)

func middleware(t *testing.T, key httplimit.Key, opts *httplimit.Options) *httplimit.Middleware {
	t.Helper()
	states := weir.Must(memorystore.New(nil))
	t.Cleanup(func() { _ = states.Close() })
	limiter := weir.Must(weir.New(states, weir.Must(weir.ParseLimit("api", "gcra:1/1h")), nil))
	return weir.Must(httplimit.New(limiter, key, opts))
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w
}

func TestDeniedRequestHasOneAnswer(t *testing.T) {
	for name, opts := range map[string]*httplimit.Options{
		"problem": nil, "nothing written": {Denied: func(http.ResponseWriter, *http.Request, *httplimit.Verdict) {}},
	} {
		e := echo.New()
		e.Use(echolimit.New(middleware(t, httplimit.RemoteAddress, opts)))
		e.GET("/", func(c echo.Context) error { return c.String(http.StatusOK, "hello") })
		if w := get(e, "/"); w.Code != 200 || w.Body.String() != "hello" || w.Header().Get("RateLimit") != `"api";r=0;t=3600` {
			t.Errorf("%s: %d %s %v", name, w.Code, w.Body, w.Header())
		}
		w := get(e, "/")
		if w.Code != 429 || w.Header().Get("Retry-After") != "3600" || strings.Contains(w.Body.String(), "hello") {
			t.Errorf("%s: %d %s %v", name, w.Code, w.Body, w.Header())
		}
	}
}

func TestErrorsOfTheHandlerAreReturned(t *testing.T) {
	e := echo.New()
	broken := errors.New("broken")
	var seen error
	e.HTTPErrorHandler = func(err error, c echo.Context) { seen = err }
	e.Use(echolimit.New(middleware(t, httplimit.RemoteAddress, nil)))
	e.GET("/", func(c echo.Context) error { return broken })
	get(e, "/")
	if seen != broken {
		t.Errorf("the error handler got %v", seen)
	}
	seen = nil
	get(e, "/")
	if seen != nil {
		t.Errorf("denied: the error handler got %v", seen)
	}
}

func TestKeysOfRouteAndContext(t *testing.T) {
	user := echolimit.Key(func(c echo.Context) (string, bool) { return c.Param("tenant"), true })
	for name, key := range map[string]httplimit.Key{
		"path value": httplimit.PathValue("tenant"),
		"pattern":    httplimit.Join(httplimit.Pattern, httplimit.PathValue("tenant")),
		"context":    user,
	} {
		e := echo.New()
		e.Use(echolimit.New(middleware(t, key, nil)))
		e.GET("/tenants/:tenant/items", func(c echo.Context) error { return nil })
		for _, path := range []string{"/tenants/a/items", "/tenants/b/items"} {
			if w := get(e, path); w.Code != 200 {
				t.Errorf("%s: %s: %d", name, path, w.Code)
			}
			if w := get(e, path); w.Code != 429 {
				t.Errorf("%s: %s again: %d", name, path, w.Code)
			}
		}
	}
	if _, ok := user(httptest.NewRequest("GET", "/", nil)); ok {
		t.Error("a request without echo has a user")
	}
}
