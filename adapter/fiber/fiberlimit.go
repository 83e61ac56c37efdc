// Package fiberlimit puts a httplimit.Middleware in front of the handlers of fiber v3.
//
//	app.Use(fiberlimit.New(limited))
package fiberlimit

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v3"
	"github.com/weirgo/weir/httplimit"
	"github.com/weirgo/weir/internal/adapter"
)

// New returns middleware that asks m, and does not call the next handler where the
// request is not allowed: the answer of Options.Denied of m is sent then. A request is
// shown to m as one of net/http without its body. The parameters of the route are path
// values (httplimit.PathValue), and its method and path are the pattern
// (httplimit.Pattern), where the middleware is given to a route. What m keeps of a
// request is copied.
//
// The path is the one that fiber routes by, so that no spelling of it passes by a policy:
// in lower case unless fiber.Config has CaseSensitive, and without a slash at the end
// unless it has StrictRouting. Write the paths of a policy like that.
//
// For Options.Settle of m, the status of an error of the handler is that of its
// *fiber.Error, or 500: what an ErrorHandler of your own does with it comes later. Of a
// body that is a stream only a size that was given counts.
func New(m *httplimit.Middleware) fiber.Handler {
	return func(c fiber.Ctx) error {
		h := &c.Response().Header
		before := headerOf(h.All())
		w := &answer{header: before.Clone()}
		end, allowed := m.Admit(w, requestOf(c))
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
		if !allowed {
			return c.Status(w.status).Send(w.body.Bytes())
		}
		return adapter.Call(end, c.Next, func(err error) httplimit.Outcome { return outcomeOf(c, err) })
	}
}

func outcomeOf(c fiber.Ctx, err error) httplimit.Outcome {
	response := c.Response()
	o := httplimit.Outcome{Status: response.StatusCode(), Header: headerOf(response.Header.All())}
	if response.IsBodyStream() {
		o.Bytes = int64(max(response.Header.ContentLength(), 0))
	} else {
		o.Bytes = int64(len(response.Body()))
	}
	var coded *fiber.Error
	switch {
	case errors.As(err, &coded):
		o.Status = coded.Code
	case err != nil:
		o.Status = fiber.StatusInternalServerError
	case o.Status == fiber.StatusOK && o.Bytes == 0:
		o.Status = 0 // it is what fiber begins with
	}
	return o
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
	r.URL.Path, r.URL.RawPath = routed(c, r.URL.Path), routed(c, r.URL.RawPath)
	route := c.Route()
	r.Pattern = r.Method + " " + strings.Clone(route.Path)
	r = r.WithContext(context.WithValue(c.Context(), contextKey{}, c))
	for _, name := range route.Params {
		r.SetPathValue(strings.Clone(name), strings.Clone(c.Params(name)))
	}
	return r
}

// routed returns a path as fiber compares it with routes.
func routed(c fiber.Ctx, path string) string {
	config := c.App().Config()
	if !config.CaseSensitive {
		path = strings.ToLower(path)
	}
	if !config.StrictRouting && len(path) > 1 {
		path = path[:1] + strings.TrimRight(path[1:], "/")
	}
	return path
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
