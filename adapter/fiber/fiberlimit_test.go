package fiberlimit_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v3"
	"github.com/weirgo/weir"
	fiberlimit "github.com/weirgo/weir/adapter/fiber"
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

func get(t *testing.T, app *fiber.App, path string, headers ...string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequest("GET", path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	response, err := app.Test(r, fiber.TestConfig{}) // without a time-out
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

func TestDeniedRequestHasOneAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		opts        *httplimit.Options
		contentType string
	}{
		"problem":         {nil, "application/problem+json"},
		"nothing written": {&httplimit.Options{Denied: func(http.ResponseWriter, *http.Request, *httplimit.Verdict) {}}, ""},
	} {
		app := fiber.New()
		app.Use(fiberlimit.New(middleware(t, httplimit.Everyone, test.opts)))
		app.Get("/", func(c fiber.Ctx) error { return c.SendString("hello") })
		if w, body := get(t, app, "/"); w.StatusCode != 200 || body != "hello" || w.Header.Get("RateLimit") != `"api";r=0;t=3600` {
			t.Errorf("%s: %d %s %v", name, w.StatusCode, body, w.Header)
		}
		w, body := get(t, app, "/")
		if w.StatusCode != 429 || w.Header.Get("Retry-After") != "3600" || strings.Contains(body, "hello") || test.contentType != "" && w.Header.Get("Content-Type") != test.contentType {
			t.Errorf("%s: %d %s %v", name, w.StatusCode, body, w.Header)
		}
	}
}

func TestErrorsOfTheHandlerAreReturned(t *testing.T) {
	app := fiber.New()
	app.Use(fiberlimit.New(middleware(t, httplimit.Everyone, nil)))
	app.Get("/", func(c fiber.Ctx) error { return fiber.ErrTeapot })
	if w, _ := get(t, app, "/"); w.StatusCode != 418 || w.Header.Get("RateLimit") == "" {
		t.Errorf("%d %v", w.StatusCode, w.Header)
	}
}

func TestKeysOfRouteAndContext(t *testing.T) {
	user := fiberlimit.Key(func(c fiber.Ctx) (string, bool) { return c.Params("tenant"), true })
	for name, key := range map[string]httplimit.Key{
		"path value": httplimit.PathValue("tenant"),
		"pattern":    httplimit.Join(httplimit.Pattern, httplimit.PathValue("tenant")),
		"context":    user,
	} {
		app := fiber.New()
		app.Get("/tenants/:tenant/items", fiberlimit.New(middleware(t, key, nil)), func(c fiber.Ctx) error { return nil })
		for _, path := range []string{"/tenants/a/items", "/tenants/b/items"} {
			if w, _ := get(t, app, path); w.StatusCode != 200 {
				t.Errorf("%s: %s: %d", name, path, w.StatusCode)
			}
			if w, _ := get(t, app, path); w.StatusCode != 429 {
				t.Errorf("%s: %s again: %d", name, path, w.StatusCode)
			}
		}
	}
	if _, ok := user(httptest.NewRequest("GET", "/", nil)); ok {
		t.Error("a request without fiber has a user")
	}
}

// TestKeysOutliveTheirRequest: fiber uses its buffers again for the next request.
func TestKeysOutliveTheirRequest(t *testing.T) {
	var kept []string
	header := httplimit.Header("X-User")
	key := func(r *http.Request) (string, bool) {
		user, ok := header(r)
		kept = append(kept, user+" "+r.Method+" "+r.URL.Path+" "+r.Host+" "+r.PathValue("id"))
		return user, ok
	}
	app := fiber.New()
	app.Get("/:id", fiberlimit.New(middleware(t, key, nil)), func(c fiber.Ctx) error { return nil })
	for i := range 50 {
		get(t, app, fmt.Sprintf("/%02d", i), "X-User", fmt.Sprintf("u%02d", i))
	}
	for i, got := range kept {
		if want := fmt.Sprintf("u%02d GET /%02d example.com %02d", i, i, i); got != want {
			t.Errorf("request %d: %q, want %q", i, got, want)
		}
	}
}

// TestPathThatIsNoURLIsSeen: fiber routes it, so a limit must see the same path.
func TestPathThatIsNoURLIsSeen(t *testing.T) {
	var seen []string
	key := func(r *http.Request) (string, bool) {
		seen = append(seen, r.URL.Path+" "+r.URL.EscapedPath()+" "+r.URL.RawQuery)
		return "", false
	}
	app := fiber.New()
	app.Use(fiberlimit.New(middleware(t, key, &httplimit.Options{Absent: httplimit.AbsentSkip})))
	app.Get("/items/*", func(c fiber.Ctx) error { return nil })
	for _, path := range []string{"/items/%zz?a=b", "/items/%2fx?a=b", "http://example.com/items/%zz", "/items/a%"} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RequestURI = path                              // sent as it is
		response, err := app.Test(r, fiber.TestConfig{}) // without a time-out
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != 200 {
			t.Errorf("%s: status %d", path, response.StatusCode)
		}
	}
	want := []string{"/items/%zz /items/%25zz a=b", "/items//x /items/%2fx a=b", "/items/%zz /items/%25zz ", "/items/a% /items/a%25 "}
	if !slices.Equal(seen, want) {
		t.Errorf("seen %q, want %q", seen, want)
	}
}

// TestHeadersOfOthersAreReplacedNotRepeated: as with net/http.
func TestHeadersOfOthersAreReplacedNotRepeated(t *testing.T) {
	legacy := &httplimit.Options{Headers: httplimit.Headers{Legacy: httplimit.LegacyDelta}}
	app := fiber.New()
	app.Use(func(c fiber.Ctx) error {
		c.Set("Cache-Control", "public")
		c.Set("ETag", `"1"`)
		c.Set("X-Other", "stays")
		c.Cookie(&fiber.Cookie{Name: "a", Value: "1"})
		c.Cookie(&fiber.Cookie{Name: "b", Value: "2"})
		return c.Next()
	})
	app.Use(fiberlimit.New(middleware(t, httplimit.Header("X-User"), legacy)), fiberlimit.New(middleware(t, httplimit.Everyone, legacy)))
	app.Get("/", func(c fiber.Ctx) error { return nil })
	for i, user := range []string{"a", "b"} { // the inner one denies b
		w, _ := get(t, app, "/", "X-User", user)
		h := w.Header
		if len(h.Values("X-RateLimit-Limit")) != 1 || len(h.Values("RateLimit")) != 2 || h.Get("X-Other") != "stays" || len(h.Values("Set-Cookie")) != 2 {
			t.Errorf("%s: %v", user, h)
		}
		if cache := strings.Join(h.Values("Cache-Control"), ","); w.StatusCode != []int{200, 429}[i] || cache != []string{"public", "no-store"}[i] || (h.Get("ETag") == "") != (i == 1) {
			t.Errorf("%s: %d %v", user, w.StatusCode, h)
		}
	}
}
