// Package echolimit puts a httplimit.Middleware in front of the handlers of echo v4.
// For echo v5 there is adapter/echo5.
//
//	e.Use(echolimit.New(limited))
package echolimit

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/weirgo/weir/httplimit"
	"github.com/weirgo/weir/internal/adapter"
)

// New returns middleware that asks m, and does not call the next handler where the
// request is not allowed: the answer is written then, by Options.Denied of m. The
// parameters of the route are path values (httplimit.PathValue), and its method and path
// are the pattern (httplimit.Pattern); both need middleware that runs behind the router,
// as Use adds it. c.Request() is not changed.
//
// For Options.Settle of m, the status of an error of the handler is that of its
// *echo.HTTPError, or 500: what an HTTPErrorHandler of your own does with it comes later.
func New(m *httplimit.Middleware) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			end, allowed := m.Admit(early{c.Response()}, requestOf(c))
			if !allowed {
				return nil
			}
			return adapter.Call(end, func() error { return next(c) }, func(err error) httplimit.Outcome {
				return outcomeOf(c.Response(), err)
			})
		}
	}
}

// early is a Response for which a status such as 103 is no answer.
type early struct{ *echo.Response }

func (w early) WriteHeader(status int) {
	if status < 200 && status != http.StatusSwitchingProtocols {
		w.Response.Writer.WriteHeader(status)
		return
	}
	w.Response.WriteHeader(status)
}

func outcomeOf(w *echo.Response, err error) httplimit.Outcome {
	o := httplimit.Outcome{Bytes: w.Size, Header: w.Header()}
	var coded *echo.HTTPError
	switch {
	case w.Committed:
		o.Status = w.Status
	case errors.As(err, &coded):
		var inner *echo.HTTPError
		if errors.As(coded.Internal, &inner) { // as echo answers
			coded = inner
		}
		o.Status = coded.Code
	}
	return o
}

type contextKey struct{}

// requestOf returns a copy of the request that a Key can find everything in.
func requestOf(c echo.Context) *http.Request {
	r, pattern := c.Request(), c.Path()
	if pattern != "" {
		pattern = r.Method + " " + pattern
	}
	ctx := context.WithValue(r.Context(), contextKey{}, c)
	return adapter.Request(r, ctx, pattern, func(set func(name, value string)) {
		values := c.ParamValues()
		for i, name := range c.ParamNames() {
			if i < len(values) {
				set(name, values[i])
			}
		}
	})
}

// Key returns a httplimit.Key from what is known of an echo.Context, such as the user
// that an earlier handler has put there. It is absent for requests that do not come
// through New.
func Key(of func(c echo.Context) (key string, ok bool)) httplimit.Key {
	return func(r *http.Request) (string, bool) {
		c, ok := r.Context().Value(contextKey{}).(echo.Context)
		if !ok {
			return "", false
		}
		return of(c)
	}
}
