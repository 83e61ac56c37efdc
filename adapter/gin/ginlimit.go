// Package ginlimit puts a httplimit.Middleware in front of gin handlers.
//
//	router.Use(ginlimit.New(limited))
package ginlimit

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/weirgo/weir/httplimit"
)

// New returns middleware that asks m, and aborts where the request is not allowed: the
// answer is written then, by Options.Denied of m. The parameters of the route are path
// values (httplimit.PathValue), and its method and full path are the pattern
// (httplimit.Pattern). c.Request is not changed. It allocates three times besides what
// m does.
func New(m *httplimit.Middleware) gin.HandlerFunc {
	return func(c *gin.Context) {
		if m.Admit(c.Writer, requestOf(c)) {
			c.Next()
		} else {
			c.Abort()
		}
	}
}

type contextKey struct{}

// requestOf returns a copy of the request that a Key can find everything in.
func requestOf(c *gin.Context) *http.Request {
	r := c.Request.WithContext(context.WithValue(c.Request.Context(), contextKey{}, c))
	for _, p := range c.Params {
		r.SetPathValue(p.Key, p.Value)
	}
	if path := c.FullPath(); path != "" {
		r.Pattern = r.Method + " " + path
	}
	return r
}

// Key returns a httplimit.Key from what is known of a gin.Context, such as the user that
// an earlier handler has put there. It is absent for requests that do not come through
// New.
func Key(of func(c *gin.Context) (key string, ok bool)) httplimit.Key {
	return func(r *http.Request) (string, bool) {
		c, ok := r.Context().Value(contextKey{}).(*gin.Context)
		if !ok {
			return "", false
		}
		return of(c)
	}
}
