package ginlimit_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
	ginlimit "github.com/weirgo/weir/adapter/gin"
	"github.com/weirgo/weir/httplimit"
)

func TestOutcomeOfTheHandlerIsSettled(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		handler gin.HandlerFunc
		status  int
		bytes   int64
		err     error
	}{
		"nothing":  {func(*gin.Context) {}, 200, 0, nil},
		"a body":   {func(c *gin.Context) { c.String(201, "hello") }, 201, 5, nil},
		"a status": {func(c *gin.Context) { c.Status(404) }, 404, 0, nil},
		"an error": {func(c *gin.Context) { _ = c.AbortWithError(502, broken) }, 502, 0, broken},
		"a panic":  {func(*gin.Context) { panic("x") }, 500, 0, httplimit.ErrPanicked},
	} {
		var seen []httplimit.Outcome
		router := gin.New()
		router.Use(gin.CustomRecovery(func(c *gin.Context, _ any) { c.AbortWithStatus(500) }))
		router.Use(ginlimit.New(middleware(t, "gcra:1/1h", httplimit.Everyone, &httplimit.Options{Settle: func(_ *http.Request, o *httplimit.Outcome) int64 {
			seen = append(seen, *o)
			return 0
		}})))
		router.GET("/", test.handler)
		for range 2 { // of 1: the unit is given back
			if w := get(router, "/"); w.Code != test.status {
				t.Errorf("%s: status %d", name, w.Code)
			}
		}
		if len(seen) != 2 || seen[1].Status != test.status || seen[1].Bytes != test.bytes || !errors.Is(seen[1].Err, test.err) {
			t.Errorf("%s: %+v", name, seen)
		}
	}
}

// TestPathValuesOfTheOuterRouterStay: the parameters of a route do not reach the request
// of a ServeMux that gin is mounted on.
func TestPathValuesOfTheOuterRouterStay(t *testing.T) {
	router := gin.New()
	outer := ""
	router.Use(ginlimit.New(middleware(t, "gcra:9/1h", httplimit.Join(httplimit.PathValue("id"), httplimit.PathValue("kind")), nil)))
	router.GET("/a/:id", func(c *gin.Context) { outer = c.Request.PathValue("id") + c.Request.PathValue("kind") })
	mux := http.NewServeMux()
	mux.HandleFunc("/{kind}/{id}", func(w http.ResponseWriter, r *http.Request) {
		r.SetPathValue("id", "outer")
		router.ServeHTTP(w, r)
	})
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/a/7", nil))
	if w.Code != 200 || outer != "outera" {
		t.Errorf("%d %q", w.Code, outer)
	}
}
