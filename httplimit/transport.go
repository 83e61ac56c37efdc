package httplimit

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/deadline"
)

// TransportOptions are the settings of a Transport. nil means all defaults.
type TransportOptions struct {
	// Base sends the requests. nil is http.DefaultTransport.
	Base http.RoundTripper
	// Limiter, where it is not nil, makes each request wait for its turn, by
	// Limiter.Wait. It is asked again before a request is repeated, and where a server
	// has asked for a pause meanwhile.
	Limiter *weir.Limiter
	// Key says what a request is counted for, and what a server that asks for a pause
	// means. nil is the host with its port. A request without a key is sent without
	// waiting.
	Key Key
	// MaxWait is the longest that a request is held back by what a server has said: a
	// longer pause is a *PausedError. 0 is 30 s; below 0, every pause is.
	MaxWait time.Duration
	// Repeat is how often a request is sent again that a server has refused with
	// status 429 or 503 and Retry-After. 0 is never: the answer is returned. A
	// request with a body is repeated only where it has GetBody, and with status 503
	// only where its method is idempotent. Below 0 is refused.
	Repeat int
}

// Transport is an http.RoundTripper that respects limits: its own, and those that a
// server tells. It is safe for concurrent use, starts no goroutine, and never changes a
// request.
//
// An answer with status 429 or 503 and Retry-After, and one whose RateLimit says that
// nothing is left, makes later requests for the same key wait until that time is over;
// where there are both, Retry-After counts. An answer that says neither changes
// nothing, and neither does the RateLimit of an answer from a cache, which has an Age.
// A pause is at most 24 h. Pauses count on the clock of this process; a Retry-After
// that is a date is compared with the Date of the answer, where it has one. At most
// 10,000 pauses are kept; above that, the one that ends first is dropped.
type Transport struct {
	base    http.RoundTripper
	limiter *weir.Limiter
	key     Key
	maxWait time.Duration
	repeat  int
	pauses  pauses
}

var _ http.RoundTripper = (*Transport)(nil)

// PausedError says that a server has asked for a pause that is longer than MaxWait, or
// than the deadline of the request. The request was not sent.
type PausedError struct {
	// Until is when the pause ends.
	Until time.Time
	// Wait is how long that was from when the request came.
	Wait time.Duration
}

func (e *PausedError) Error() string {
	return fmt.Sprintf("httplimit: the server asked for a pause: %v are left", e.Wait.Round(time.Millisecond))
}

const (
	defaultMaxWait = 30 * time.Second
	maxPause       = 24 * time.Hour
)

// NewTransport returns a Transport. The Limiter stays the caller's.
func NewTransport(opts *TransportOptions) (*Transport, error) {
	if opts == nil {
		opts = &TransportOptions{}
	}
	if opts.Repeat < 0 {
		return nil, refuse("TransportOptions.Repeat", fmt.Sprint(opts.Repeat), "0 or more")
	}
	t := &Transport{base: opts.Base, limiter: opts.Limiter, key: opts.Key, maxWait: opts.MaxWait, repeat: opts.Repeat}
	if t.base == nil {
		t.base = http.DefaultTransport
	}
	if t.key == nil {
		t.key = hostOf
	}
	if t.maxWait == 0 {
		t.maxWait = defaultMaxWait
	}
	return t, nil
}

func hostOf(r *http.Request) (string, bool) {
	return strings.ToLower(r.URL.Host), r.URL.Host != ""
}

// RoundTrip implements http.RoundTripper. The errors are those of the base, a
// *PausedError, a *weir.WaitError where the turn of the request cannot come in time,
// and what the Limiter returns else.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	key, hasKey := t.key(r)
	if !hasKey || key == "" {
		return t.base.RoundTrip(r)
	}
	for sent := 0; ; sent++ {
		if err := t.waitTurn(r, key); err != nil {
			closeBody(r)
			return nil, err
		}
		response, err := t.base.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		wait, paused := pauseOf(response, time.Now())
		if paused {
			t.pauses.set(key, time.Now().Add(min(wait, maxPause)))
		}
		if !paused || sent == t.repeat || !t.canHold(r, max(wait, time.Until(t.pauses.get(key)))) || !isRefused(response) || !canRepeat(r, response) {
			return response, nil
		}
		again, err := rewound(r)
		if err != nil {
			return response, nil // the body is gone: the answer is what there is
		}
		_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection can be used again
		_ = response.Body.Close()
		r = again
	}
}

// CloseIdleConnections closes those of Base, where it has such a method: it is for
// http.Client.CloseIdleConnections.
func (t *Transport) CloseIdleConnections() {
	if base, has := t.base.(interface{ CloseIdleConnections() }); has {
		base.CloseIdleConnections()
	}
}

// waitTurn waits for the end of a pause, and then for the Limiter, until there is no
// pause when the turn comes.
func (t *Transport) waitTurn(r *http.Request, key string) error {
	for {
		if err := t.waitPause(r, key); err != nil || t.limiter == nil {
			return err
		}
		if _, err := t.limiter.Wait(r.Context(), key); err != nil {
			return err
		}
		if !t.pauses.get(key).After(time.Now()) {
			return nil
		}
	}
}

// waitPause waits for the end of a pause.
func (t *Transport) waitPause(r *http.Request, key string) error {
	for {
		until := t.pauses.get(key)
		wait := time.Until(until)
		if wait <= 0 {
			return nil
		}
		if !t.canHold(r, wait) {
			return &PausedError{Until: until, Wait: wait}
		}
		if err := deadline.Sleep(r.Context(), wait, nil); err != nil {
			return err
		}
	}
}

// canHold reports whether a request may be held back so long.
func (t *Transport) canHold(r *http.Request, wait time.Duration) bool {
	deadline, has := r.Context().Deadline()
	return wait <= t.maxWait && (!has || wait <= time.Until(deadline))
}

// isRefused reports whether a server did not do what a request asked for.
func isRefused(response *http.Response) bool {
	return response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable
}

// canRepeat reports whether a request that was refused may be sent again.
func canRepeat(r *http.Request, response *http.Response) bool {
	if r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
		return false
	}
	if response.StatusCode == http.StatusTooManyRequests {
		return true // it was not done
	}
	switch r.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPut, http.MethodDelete, http.MethodTrace:
		return true
	}
	return false
}

// rewound returns a copy of a request with its body at the start.
func rewound(r *http.Request) (*http.Request, error) {
	again := r.Clone(r.Context())
	if r.GetBody == nil {
		return again, nil
	}
	body, err := r.GetBody()
	again.Body = body
	return again, err
}

// closeBody does what a RoundTripper must do also where it sends nothing.
func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}
