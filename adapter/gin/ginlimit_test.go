package ginlimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/weirgo/weir"
	ginlimit "github.com/weirgo/weir/adapter/gin"
	"github.com/weirgo/weir/httplimit"
	memorystore "github.com/weirgo/weir/store/memory"
)

func init() { gin.SetMode(gin.TestMode) }

func middleware(t *testing.T, spec string, key httplimit.Key, opts *httplimit.Options) *httplimit.Middleware {
	t.Helper()
	states := weir.Must(memorystore.New(nil))
	t.Cleanup(func() { _ = states.Close() })
	limiter := weir.Must(weir.New(states, weir.Must(weir.ParseLimit("api", spec)), nil))
	m, err := httplimit.New(limiter, key, opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w
}

func TestDeniedRequestIsAbortedWithOneAnswer(t *testing.T) {
	router := gin.New()
	served := 0
	router.Use(ginlimit.New(middleware(t, "gcra:2/1h", httplimit.RemoteAddress, nil)))
	router.GET("/", func(c *gin.Context) { served++; c.String(http.StatusOK, "hello") })
	for i := range 3 {
		w := get(router, "/")
		if i < 2 && (w.Code != 200 || w.Body.String() != "hello" || w.Header().Get("RateLimit") != fmt.Sprintf(`"api";r=%d;t=1800`, 1-i)) {
			t.Errorf("request %d: %d %s %v", i, w.Code, w.Body, w.Header())
		}
		if i == 2 && (w.Code != 429 || w.Header().Get("Retry-After") != "1800" || !strings.HasPrefix(w.Body.String(), "{") || strings.Contains(w.Body.String(), "hello")) {
			t.Errorf("denied: %d %s %v", w.Code, w.Body, w.Header())
		}
	}
	if served != 2 {
		t.Errorf("served %d", served)
	}
}

func TestEmptyAnswerHasItsStatus(t *testing.T) {
	router := gin.New()
	router.Use(ginlimit.New(middleware(t, "gcra:1/1h", httplimit.RemoteAddress, &httplimit.Options{
		Denied: func(http.ResponseWriter, *http.Request, *httplimit.Verdict) {},
	})))
	router.GET("/", func(c *gin.Context) {})
	get(router, "/")
	if w := get(router, "/"); w.Code != 429 || w.Body.Len() != 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestKeysOfRouteAndContext(t *testing.T) {
	user := ginlimit.Key(func(c *gin.Context) (string, bool) { return c.GetString("user"), true })
	for name, key := range map[string]httplimit.Key{
		"path value": httplimit.PathValue("tenant"),
		"pattern":    httplimit.Join(httplimit.Pattern, httplimit.PathValue("tenant")),
		"context":    user,
	} {
		router := gin.New()
		router.Use(func(c *gin.Context) { c.Set("user", c.Param("tenant")) })
		router.GET("/tenants/:tenant/items", ginlimit.New(middleware(t, "gcra:1/1h", key, nil)), func(c *gin.Context) {
			if c.Request.PathValue("tenant") != "" {
				t.Error("c.Request has changed")
			}
		})
		for path, want := range map[string]int{"/tenants/a/items": 200, "/tenants/b/items": 200} {
			if w := get(router, path); w.Code != want {
				t.Errorf("%s: %s: %d", name, path, w.Code)
			}
			if w := get(router, path); w.Code != 429 {
				t.Errorf("%s: %s again: %d", name, path, w.Code)
			}
		}
	}
	if _, ok := user(httptest.NewRequest("GET", "/", nil)); ok {
		t.Error("a request without gin has a user")
	}
}
