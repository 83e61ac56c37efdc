// Package ginlimit puts a httplimit.Middleware in front of gin handlers.
//
//	router.Use(ginlimit.New(limited))
package ginlimit

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/weirgo/weir/httplimit"
	"github.com/weirgo/weir/internal/adapter"
)

// New returns middleware that asks m, and aborts where the request is not allowed: the
// answer is written then, by Options.Denied of m. The parameters of the route are path
// values (httplimit.PathValue), and its method and full path are the pattern
// (httplimit.Pattern). c.Request is not changed. Options.Settle of m gets the last error
// of c.Errors. It allocates a few times besides what m does.
func New(m *httplimit.Middleware) gin.HandlerFunc {
	return func(c *gin.Context) {
		end, allowed := m.Admit(c.Writer, requestOf(c))
		if !allowed {
			c.Abort()
			return
		}
		_ = adapter.Call(end, func() error { // what it returns is in c.Errors
			c.Next()
			if last := c.Errors.Last(); last != nil {
				return last
			}
			return nil
		}, func(error) httplimit.Outcome { return outcomeOf(c.Writer) })
	}
}

func outcomeOf(w gin.ResponseWriter) httplimit.Outcome {
	o := httplimit.Outcome{Status: w.Status(), Bytes: int64(max(w.Size(), 0)), Header: w.Header()}
	if !w.Written() && o.Status == http.StatusOK {
		o.Status = 0 // it is what gin begins with
	}
	return o
}

type contextKey struct{}

// requestOf returns a copy of the request that a Key can find everything in.
func requestOf(c *gin.Context) *http.Request {
	pattern := c.FullPath()
	if pattern != "" {
		pattern = c.Request.Method + " " + pattern
	}
	ctx := context.WithValue(c.Request.Context(), contextKey{}, c)
	return adapter.Request(c.Request, ctx, pattern, func(set func(name, value string)) {
		for _, p := range c.Params {
			set(p.Key, p.Value)
		}
	})
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
