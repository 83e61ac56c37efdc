package httplimit

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/policy"
)

// Headers says which headers tell a client how it stands. The zero value is
// RateLimit-Policy and RateLimit of the draft. Retry-After is sent with every denial by
// a limit for which a wait helps, whatever the style: whole seconds, rounded up, at
// least 1.
//
//   - RateLimit-Policy: "api";q=100;w=60: the capacity of each limit, and the whole
//     seconds in which it fills. w is left out where they are not whole.
//   - RateLimit: "api";r=50;t=1: the units left, and the seconds until there are more,
//     rounded up. t is exact for gcra, token-bucket, leaky-bucket and fixed-window; for
//     the other algorithms it is the time until the limit is fresh, which is later or
//     the same. It is left out where nothing is missing. The t of a limit that refused
//     is its own wait: Retry-After is never before it. Where the store has failed and
//     nothing was counted, RateLimit is left out.
//
// RateLimit-Policy and RateLimit are added to fields that are there already, so that
// several Middleware may each tell their limits; the other headers are replaced. A
// browser shows them to a page of another origin only where
// Access-Control-Expose-Headers names them; see ExposedHeaders.
type Headers struct {
	// Style is the version of the standard.
	Style Style
	// Legacy adds X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset of the
	// binding limit.
	Legacy Legacy
	// Jitter is added to Retry-After: a random number of whole seconds up to it, so
	// that clients that were denied together do not come back together. 0 is none.
	// A Jitter below 1 s adds nothing; below 0 is refused.
	Jitter time.Duration
}

// Style is a version of the RateLimit header fields.
type Style int

const (
	// Draft10 is draft-ietf-httpapi-ratelimit-headers-10. The default.
	Draft10 Style = iota
	// NoStyle sends neither RateLimit-Policy nor RateLimit.
	NoStyle
)

// Legacy says what X-RateLimit-Reset counts, where the older headers are wanted. It is
// always the time at which the limit is fresh, in whole seconds, rounded up.
type Legacy int

const (
	// NoLegacy sends no such headers. The default.
	NoLegacy Legacy = iota
	// LegacyEpoch sends the reset as seconds since 1970, as GitHub does, on the clock
	// of the store.
	LegacyEpoch
	// LegacyDelta sends the reset as seconds from now.
	LegacyDelta
)

// ExposedHeaders is the value of Access-Control-Expose-Headers with which a page of
// another origin can read what Headers sends.
const ExposedHeaders = "RateLimit, RateLimit-Policy, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset"

func (o *Headers) check() error {
	if o.Style < Draft10 || o.Style > NoStyle {
		return refuse("Headers.Style", strconv.Itoa(int(o.Style)), "Draft10 or NoStyle")
	}
	if o.Legacy < NoLegacy || o.Legacy > LegacyDelta {
		return refuse("Headers.Legacy", strconv.Itoa(int(o.Legacy)), "NoLegacy, LegacyEpoch or LegacyDelta")
	}
	if o.Jitter < 0 {
		return refuse("Headers.Jitter", o.Jitter.String(), "0 or more")
	}
	return nil
}

// The names as http.Header has them; the case of a name means nothing.
const (
	policyField = "Ratelimit-Policy"
	limitField  = "Ratelimit"
	retryField  = "Retry-After"
)

// Write writes the headers of v into h. With one limit it allocates twice.
func (o Headers) Write(h http.Header, v *Verdict) {
	if len(v.Decisions) > 0 {
		if o.Style == Draft10 {
			writeDraft10(h, v)
		}
		if d := &v.Decisions[v.Binding]; o.Legacy != NoLegacy && isCounted(d) {
			h.Set("X-Ratelimit-Limit", strconv.FormatInt(d.Limit, 10))
			h.Set("X-Ratelimit-Remaining", strconv.FormatInt(d.Remaining, 10))
			h.Del("X-Ratelimit-Reset")
			if reset := d.ResetAt(); !reset.IsZero() {
				seconds := ceilSeconds(d.ResetAfter)
				if o.Legacy == LegacyEpoch {
					seconds = ceilSeconds(time.Duration(reset.UnixMicro()) * time.Microsecond)
				}
				h.Set("X-Ratelimit-Reset", strconv.FormatInt(seconds, 10))
			}
		}
	}
	if seconds, ok := o.retryAfter(v); ok {
		h.Set(retryField, strconv.FormatInt(seconds, 10))
	}
}

// retryAfter returns the seconds of Retry-After.
func (o *Headers) retryAfter(v *Verdict) (seconds int64, ok bool) {
	if v.Allowed || v.Err != nil || v.Blocked != "" || v.RetryAfter == weir.Never {
		return 0, false
	}
	seconds = max(ceilSeconds(v.RetryAfter), 1)
	if jitter := int64(o.Jitter / time.Second); jitter > 0 {
		seconds += rand.Int64N(jitter + 1)
	}
	return seconds, true
}

// ceilSeconds rounds up to whole seconds.
func ceilSeconds(d time.Duration) int64 {
	seconds := int64(d / time.Second)
	if d%time.Second > 0 {
		seconds++
	}
	return seconds
}

// isCounted reports whether the numbers of a decision come from a store. A request
// that was admitted because the store failed was not counted.
func isCounted(d *weir.Decision) bool { return !d.At.IsZero() }

// writeDraft10 adds both fields.
func writeDraft10(h http.Header, v *Verdict) {
	var buffer [256]byte
	known := v.policy
	if known == "" {
		known = policyOf(v.Limits)
	}
	text := buffer[:0]
	for i := range v.Decisions {
		if !isCounted(&v.Decisions[i]) {
			continue
		}
		if len(text) > 0 {
			text = append(text, ", "...)
		}
		text = appendQuota(text, &v.Limits[i], &v.Decisions[i])
		if v.standings != nil && v.standings[i] != policy.Normal {
			text = append(text, ";weir-standing="...)
			text = append(text, v.standings[i].String()...)
		}
	}
	both := make([]string, 2) // one allocation for the values of two fields
	both[0], both[1] = known, string(text)
	add(h, policyField, both[0:1:1])
	if len(text) > 0 {
		add(h, limitField, both[1:2:2])
	}
}

// add adds a value that h may keep.
func add(h http.Header, name string, value []string) {
	if old := h[name]; len(old) > 0 {
		value = append(old, value...)
	}
	h[name] = value
}

// policyOf returns RateLimit-Policy of limits.
func policyOf(limits []weir.Limit) string {
	var text []byte
	for i := range limits {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = appendPolicy(text, &limits[i])
	}
	return string(text)
}
