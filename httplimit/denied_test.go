package httplimit_test

import (
	"bufio"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/weirgo/weir/httplimit"
)

// takeable is a ResponseWriter whose connection can be taken. Its Code is 0 until a
// status is written.
type takeable struct{ *httptest.ResponseRecorder }

func (takeable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, other := net.Pipe()
	return conn, bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn)), other.Close()
}

// TestDeniedHasAResponseController: it may stream its answer, and take the connection.
func TestDeniedHasAResponseController(t *testing.T) {
	for name, test := range map[string]struct {
		use     func(c *http.ResponseController) error
		status  int
		flushed bool
	}{
		"flush": {func(c *http.ResponseController) error { return c.Flush() }, 403, true},
		"hijack": {func(c *http.ResponseController) error {
			conn, _, err := c.Hijack()
			if err == nil {
				err = conn.Close()
			}
			return err
		}, 0, false},
	} {
		var err error
		l, _ := newLimiter(t, "gcra:1/1h")
		h := newMiddleware(t, l, httplimit.Header("X-User"), &httplimit.Options{Denied: func(w http.ResponseWriter, _ *http.Request, _ *httplimit.Verdict) {
			err = test.use(http.NewResponseController(w))
		}}).Handler(hello)
		w := takeable{httptest.NewRecorder()}
		w.Code = 0
		h.ServeHTTP(w, get("203.0.113.7:1")) // without a user
		if err != nil || w.Code != test.status || w.Flushed != test.flushed {
			t.Errorf("%s: %v; status %d, flushed %v", name, err, w.Code, w.Flushed)
		}
	}
}
