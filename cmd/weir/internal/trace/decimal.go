package trace

import "bytes"

const (
	reasonEarly = "the time is before 1970"
	reasonLate  = "the time is after the last usable instant"
)

// exact is an instant, or a span of time, with every digit that was written: no number of a log goes through a float, which
// would round it.
type exact struct {
	micros int64
	below  []byte // the digits after the whole µs, without zeros at the end
}

// far stands for every number of µs from there on: far above MaxAt, and yet ten times as much is an int64.
const far = 100 * MaxAt

// decimalMicros reads digits, or digits, a point and digits, as a number in units of 10^shift µs. It cuts off what is below
// one µs. A sign or an exponent is refused.
func decimalMicros(text []byte, shift int) (micros int64, ok bool) {
	whole, fraction, point := bytes.Cut(text, []byte("."))
	if !areDigits(whole) || point && !areDigits(fraction) {
		return 0, false
	}
	for i := range max(0, len(whole)+shift) {
		digit := byte('0')
		if i < len(whole) {
			digit = whole[i]
		} else if i -= len(whole); i < len(fraction) {
			digit = fraction[i]
		}
		if micros = 10*micros + int64(digit-'0'); micros >= far {
			return far, true
		}
	}
	return micros, true
}

// seconds reads a number of seconds, in the form of decimalMicros.
func seconds(text []byte) (e exact, ok bool) {
	e.micros, ok = decimalMicros(text, 6)
	_, fraction, _ := bytes.Cut(text, []byte("."))
	e.below = belowMicros(fraction)
	return e, ok
}

// belowMicros returns what follows the sixth digit of a fraction of a second.
func belowMicros(fraction []byte) []byte {
	return bytes.TrimRight(fraction[min(6, len(fraction)):], "0")
}

// at returns the instant in whole µs, cut down.
func (e exact) at() (at int64, reason string) { return e.before(exact{}) }

// before returns the instant that lies a span before this one. Only the result is cut down to whole µs.
func (e exact) before(span exact) (at int64, reason string) {
	if e.micros > MaxAt {
		return 0, reasonLate
	}
	at = e.micros - span.micros
	if bytes.Compare(e.below, span.below) < 0 { // right, since neither ends in a zero
		at--
	}
	if at < 0 {
		return 0, reasonEarly
	}
	return at, ""
}

func areDigits(b []byte) bool { return len(b) > 0 && passDigits(b, 0) == len(b) }
