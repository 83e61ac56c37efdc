// Package fiberlimit puts a httplimit.Middleware in front of the handlers of fiber v3.
//
//	app.Use(fiberlimit.New(limited))
package fiberlimit

import (
	"bytes"
	"context"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v3"
	"github.com/weirgo/weir/httplimit"
)

// New returns middleware that asks m, and does not call the next handler where the
// request is not allowed: the answer of Options.Denied of m is sent then. A request is
// shown to m as one of net/http without its body. The parameters of the route are path
// values (httplimit.PathValue), and its method and path are the pattern
// (httplimit.Pattern), where the middleware is given to a route. What m keeps of a
// request is copied.
func New(m *httplimit.Middleware) fiber.Handler {
	return func(c fiber.Ctx) error {
		h := &c.Response().Header
		before := headerOf(h.All())
		w := &answer{header: before.Clone()}
		allowed := m.Admit(w, requestOf(c))
		for name := range before {
			if len(w.header[name]) == 0 {
				h.Del(name)
			}
		}
		for name, values := range w.header {
			if slices.Equal(values, before[name]) {
				continue
			}
			h.Del(name)
			for _, value := range values {
				h.Add(name, value)
			}
		}
		if allowed {
			return c.Next()
		}
		return c.Status(w.status).Send(w.body.Bytes())
	}
}

// headerOf returns a copy of the headers of fiber.
func headerOf(all iter.Seq2[[]byte, []byte]) http.Header {
	h := http.Header{}
	for name, value := range all {
		h.Add(string(name), string(value))
	}
	return h
}

// answer is a ResponseWriter that keeps what is written.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *answer) Header() http.Header         { return w.header }
func (w *answer) Write(b []byte) (int, error) { return w.body.Write(b) }
func (w *answer) WriteHeader(status int)      { w.status = status }

type contextKey struct{}

// requestOf returns a request of net/http. fiber uses its buffers again for the next
// request, so every text is a copy.
func requestOf(c fiber.Ctx) *http.Request {
	r := &http.Request{
		Method: strings.Clone(c.Method()), URL: &url.URL{}, Header: headerOf(c.Request().Header.All()),
		Host: strings.Clone(c.Host()), RemoteAddr: c.RequestCtx().RemoteAddr().String(),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if u, err := url.ParseRequestURI(strings.Clone(c.OriginalURL())); err == nil {
		r.URL = u
	} else { // net/http refuses such a request, but fiber routes it by this path
		sent := c.Request().URI()
		r.URL.Path, r.URL.RawQuery = string(sent.PathOriginal()), string(sent.QueryString())
	}
	route := c.Route()
	r.Pattern = r.Method + " " + strings.Clone(route.Path)
	r = r.WithContext(context.WithValue(c.Context(), contextKey{}, c))
	for _, name := range route.Params {
		r.SetPathValue(strings.Clone(name), strings.Clone(c.Params(name)))
	}
	return r
}

// Key returns a httplimit.Key from what is known of a fiber.Ctx, such as the user that an
// earlier handler has put there. The key is copied. It is absent for requests that do not
// come through New.
func Key(of func(c fiber.Ctx) (key string, ok bool)) httplimit.Key {
	return func(r *http.Request) (string, bool) {
		c, ok := r.Context().Value(contextKey{}).(fiber.Ctx)
		if !ok {
			return "", false
		}
		key, ok := of(c)
		return strings.Clone(key), ok
	}
}
