package httplimit

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// pauses are the keys that must not be asked for now.
type pauses struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// maxPauses bounds how many keys are remembered: whoever chooses the hosts that are
// called would choose how much memory that takes.
const maxPauses = 10_000

func (p *pauses) get(key string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.until[key]
}

// set makes a pause longer, and never shorter: an answer that was under way does not
// end it.
func (p *pauses) set(key string, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == nil {
		p.until = map[string]time.Time{}
	}
	if !until.After(p.until[key]) {
		return
	}
	if _, known := p.until[key]; !known && len(p.until) >= maxPauses {
		p.makeRoom(time.Now())
	}
	p.until[key] = until
}

// makeRoom drops what is over, or else the pause that ends first.
func (p *pauses) makeRoom(now time.Time) {
	first, earliest := "", time.Time{}
	for key, until := range p.until {
		if !until.After(now) {
			delete(p.until, key)
		} else if earliest.IsZero() || until.Before(earliest) {
			first, earliest = key, until
		}
	}
	if len(p.until) >= maxPauses {
		delete(p.until, first)
	}
}

// pauseOf returns the pause that an answer asks for.
func pauseOf(response *http.Response, now time.Time) (wait time.Duration, asked bool) {
	if isRefused(response) {
		if wait, ok := parseRetryAfter(response.Header, now); ok {
			return wait, true
		}
	}
	if age := response.Header.Get("Age"); strings.Trim(age, "0") != "" {
		return 0, false // from a cache: what was left then
	}
	seconds, empty := parseExhausted(response.Header.Values(limitField))
	return toSeconds(seconds), empty
}

// toSeconds is a number of seconds of somebody else, cut to what a Duration can hold.
func toSeconds(n int64) time.Duration {
	return time.Duration(min(n, int64(maxPause/time.Second))) * time.Second
}

// parseRetryAfter reads Retry-After: seconds, or a date.
func parseRetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	text := strings.TrimSpace(h.Get(retryField))
	if text == "" {
		return 0, false
	}
	if strings.Trim(text, "0123456789") == "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil { // too large for an int64
			return maxPause, true
		}
		return toSeconds(n), true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	if sent, err := http.ParseTime(h.Get("Date")); err == nil {
		now = sent // the clock that has written the date
	}
	return max(at.Sub(now), 0), true
}
