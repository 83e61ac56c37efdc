// Package echolimit puts a httplimit.Middleware in front of the handlers of echo v5.
// For echo v4 there is adapter/echo.
//
//	e.Use(echolimit.New(limited))
package echolimit

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v5"
	"github.com/weirgo/weir/httplimit"
)

// New returns middleware that asks m, and does not call the next handler where the
// request is not allowed: the answer is written then, by Options.Denied of m. The
// parameters of the route are path values (httplimit.PathValue), and its method and path
// are the pattern (httplimit.Pattern); both need middleware that runs behind the router,
// as Use adds it. c.Request() is not changed.
func New(m *httplimit.Middleware) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			if !m.Admit(c.Response(), requestOf(c)) {
				return nil
			}
			return next(c)
		}
	}
}

type contextKey struct{}

// requestOf returns a copy of the request that a Key can find everything in.
func requestOf(c *echo.Context) *http.Request {
	r := c.Request().WithContext(context.WithValue(c.Request().Context(), contextKey{}, c))
	for _, value := range c.PathValues() {
		r.SetPathValue(value.Name, value.Value)
	}
	if path := c.Path(); path != "" {
		r.Pattern = r.Method + " " + path
	}
	return r
}

// Key returns a httplimit.Key from what is known of an echo.Context, such as the user
// that an earlier handler has put there. It is absent for requests that do not come
// through New.
func Key(of func(c *echo.Context) (key string, ok bool)) httplimit.Key {
	return func(r *http.Request) (string, bool) {
		c, ok := r.Context().Value(contextKey{}).(*echo.Context)
		if !ok {
			return "", false
		}
		return of(c)
	}
}
