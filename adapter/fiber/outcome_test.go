package fiberlimit_test

import (
	"bufio"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/recover"
	fiberlimit "github.com/weirgo/weir/adapter/fiber"
	"github.com/weirgo/weir/httplimit"
)

func TestOutcomeOfTheHandlerIsSettled(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		handler fiber.Handler
		status  int
		bytes   int64
		err     error
	}{
		"nothing":      {func(fiber.Ctx) error { return nil }, 200, 0, nil},
		"a body":       {func(c fiber.Ctx) error { return c.Status(201).SendString("hello") }, 201, 5, nil},
		"an Error":     {func(fiber.Ctx) error { return fiber.ErrUnauthorized }, 401, 0, fiber.ErrUnauthorized},
		"an error":     {func(fiber.Ctx) error { return broken }, 500, 0, broken},
		"not sent":     {func(c fiber.Ctx) error { _ = c.SendString("hello"); return broken }, 500, 5, broken},
		"a panic":      {func(fiber.Ctx) error { panic("x") }, 500, 0, httplimit.ErrPanicked},
		"a late panic": {func(c fiber.Ctx) error { _ = c.SendString("hello"); panic("x") }, 500, 5, httplimit.ErrPanicked},
		"a stream": {func(c fiber.Ctx) error {
			return c.SendStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString("hello") })
		}, 200, 0, nil},
		"a sized stream": {func(c fiber.Ctx) error { return c.SendStream(strings.NewReader("hello"), 5) }, 200, 5, nil},
	} {
		var seen []httplimit.Outcome
		app := fiber.New()
		app.Use(recover.New())
		app.Use(fiberlimit.New(middleware(t, httplimit.Everyone, &httplimit.Options{Settle: func(_ *http.Request, o *httplimit.Outcome) int64 {
			seen = append(seen, *o)
			return 0
		}})))
		app.Get("/", test.handler)
		for range 2 { // of 1: the unit is given back
			if w, body := get(t, app, "/"); w.StatusCode != test.status || strings.HasSuffix(name, "stream") && body != "hello" {
				t.Errorf("%s: status %d, %q", name, w.StatusCode, body)
			}
		}
		if len(seen) != 2 || seen[1].Status != test.status || seen[1].Bytes != test.bytes || !errors.Is(seen[1].Err, test.err) {
			t.Errorf("%s: %+v", name, seen)
		}
	}
}

// TestSpellingThatFiberRoutesIsNoWayAroundAPolicy: the path is the one that fiber compares.
func TestSpellingThatFiberRoutesIsNoWayAroundAPolicy(t *testing.T) {
	for _, test := range []struct {
		config     fiber.Config
		sent, seen string
	}{
		{fiber.Config{}, "/API/Items/", "/api/items"},
		{fiber.Config{}, "/api/items", "/api/items"},
		{fiber.Config{}, "/", "/"},
		{fiber.Config{CaseSensitive: true}, "/api/items/", "/api/items"},
		{fiber.Config{StrictRouting: true}, "/API/items/", "/api/items/"},
		{fiber.Config{CaseSensitive: true, StrictRouting: true}, "/API/items/", "/API/items/"},
		{fiber.Config{}, "/api/a%2FB/", "/api/a%2fb"},
	} {
		seen := ""
		app := fiber.New(test.config)
		app.Use(fiberlimit.New(middleware(t, func(r *http.Request) (string, bool) {
			seen = r.URL.EscapedPath()
			return "x", true
		}, nil)))
		if get(t, app, test.sent); seen != test.seen {
			t.Errorf("%+v: %s is seen as %s, want %s", test.config.CaseSensitive, test.sent, seen, test.seen)
		}
	}
}
