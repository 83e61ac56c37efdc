package httplimit

import (
	"math/bits"
	"strconv"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
)

// appendPolicy appends an item of RateLimit-Policy.
func appendPolicy(text []byte, limit *weir.Limit) []byte {
	_, fresh := limit.Algorithm.Step(algorithm.State{}, 0, algorithm.Request{})
	text = appendString(text, limit.Name)
	text = append(text, ";q="...)
	text = strconv.AppendInt(text, fresh.Limit, 10)
	if window, ok := fillTime(limit.Algorithm.Spec(), fresh.Limit); ok && window >= time.Second && window%time.Second == 0 {
		text = append(text, ";w="...)
		text = strconv.AppendInt(text, int64(window/time.Second), 10)
	}
	return text
}

// appendQuota appends an item of RateLimit.
func appendQuota(text []byte, limit *weir.Limit, d *weir.Decision) []byte {
	text = appendString(text, limit.Name)
	text = append(text, ";r="...)
	text = strconv.AppendInt(text, d.Remaining, 10)
	if wait := untilMore(limit, d); wait > 0 && wait != weir.Never {
		text = append(text, ";t="...)
		text = strconv.AppendInt(text, ceilSeconds(wait), 10)
	}
	return text
}

// families are the families of package algorithm by their kind.
var families = func() map[string]*algorithm.Family {
	kinds := map[string]*algorithm.Family{}
	for _, f := range algorithm.Families() {
		kinds[f.Kind] = &f
	}
	return kinds
}()

// fills reports whether the algorithms of a family of package algorithm fill by single
// units. The others count in windows.
func fills(f *algorithm.Family) bool { return f != nil && f.Option != "" }

// fillTime returns the time in which n units come back, where it is whole µs and the
// algorithm is one of package algorithm.
func fillTime(s algorithm.Spec, n int64) (time.Duration, bool) {
	f := families[s.Kind]
	if f == nil {
		return 0, false
	}
	r, _ := f.Parameters(s)
	if !fills(f) {
		return r.Per, !f.Calendar // whose windows differ in length
	}
	micros, rest := unitsTime(r, n)
	return time.Duration(micros) * time.Microsecond, rest == 0
}

// unitsTime returns the time in which n units come back in whole µs, rounded down, and what
// is left.
func unitsTime(r algorithm.Rate, n int64) (micros int64, rest uint64) {
	hi, lo := bits.Mul64(uint64(n), uint64(r.Per/time.Microsecond))
	quotient, rest := bits.Div64(hi, lo, uint64(r.Units)) // n is at most the capacity: it fits
	return int64(quotient), rest
}

// untilMore returns the wait until more units can be had, 0 where nothing is missing.
// It is never too short.
func untilMore(limit *weir.Limit, d *weir.Decision) time.Duration {
	if !d.Allowed && d.RetryAfter != weir.Never {
		return d.RetryAfter
	}
	spec := limit.Algorithm.Spec()
	f := families[spec.Kind]
	if !fills(f) || d.ResetAfter <= 0 || d.ResetAfter == weir.Never || d.Remaining >= d.Limit {
		return d.ResetAfter
	}
	// All but one of the missing units come after the next one.
	r, _ := f.Parameters(spec)
	later, _ := unitsTime(r, d.Limit-d.Remaining-1)
	return max(d.ResetAfter-time.Duration(later)*time.Microsecond, time.Microsecond)
}

// appendString appends a String of structured fields (RFC 9651). The bytes that no such
// String can hold are percent-encoded.
func appendString(text []byte, s string) []byte {
	text = append(text, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c > '~':
			text = append(text, '%', hexDigits[c>>4], hexDigits[c&15])
		case c == '"' || c == '\\':
			text = append(text, '\\', c)
		default:
			text = append(text, c)
		}
	}
	return append(text, '"')
}

const hexDigits = "0123456789ABCDEF"
