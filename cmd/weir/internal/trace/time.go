package trace

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	reasonEarly = "the time is before 1970"
	reasonLate  = "the time is after the last usable instant"
	reasonZone  = "the time zone is not between -1200 and +1400"
	reasonDate  = "the date is not dd/Mon/yyyy:hh:mm:ss +hhmm, or does not exist"
	reasonLocal = "the date is not dd/Mon/yyyy:hh:mm:ss.sss, or does not exist"
	reasonStamp = "the time is not yyyy-mm-ddThh:mm:ss, with a fraction and a zone or without, or does not exist"
)

// exact is an instant, or a span of time, with every digit that was written: no number of a log goes through a float, which
// would round it.
type exact struct {
	micros int64
	below  []byte // the digits after the whole µs, without zeros at the end
}

// far stands for every number of µs from there on: far above MaxAt, and yet ten times as much is an int64.
const far = 100 * MaxAt

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

// timeForm reads the text of a time. reason is about the text, or begins with a space and is about the field.
type timeForm func(text []byte) (e exact, reason string)

const (
	dateLayout = "02/Jan/2006:15:04:05 -0700"
	dateLength = len(dateLayout)
)

// date reads a time of the Common Log Format, 10/Oct/2000:13:55:36 -0700. Month names are English, written like Oct, as every
// server writes them in any locale. The zone counts. A leap second (:60) does not exist in Unix time.
func date(text []byte) (exact, string) {
	// Package time takes months in any case, hours of one digit, fractions and zones of 60 minutes.
	if len(text) != dateLength || text[3] > 'Z' || text[4] < 'a' || text[5] < 'a' || text[24] > '5' {
		return exact{}, reasonDate
	}
	t, err := time.Parse(dateLayout, string(text))
	if err != nil {
		return exact{}, reasonDate
	}
	return instant(t, nil)
}

const localLayout = "02/Jan/2006:15:04:05.000"

// localDate reads a time without a zone, 06/Feb/2009:12:14:14.655, as UTC.
func localDate(text []byte) (exact, string) {
	if len(text) != len(localLayout) || text[11] != ':' || text[14] != ':' || text[20] != '.' {
		return exact{}, reasonLocal
	}
	t, err := time.Parse(localLayout, string(text))
	if err != nil {
		return exact{}, reasonLocal
	}
	return instant(t, nil)
}

// stamp reads a time in the form of RFC 3339, section 5.6: 2006-01-02T15:04:05, a fraction of any length, and a zone, Z or
// +hh:mm. As many programs write it, there may be a space for the T, no colon in the zone, or no zone at all, which is UTC.
func stamp(text []byte) (exact, string) {
	if !looksStamp(text) {
		return exact{}, reasonStamp
	}
	layout := "2006-01-02T15:04:05Z07:00"
	if text[10] == ' ' {
		layout = "2006-01-02 15:04:05Z07:00"
	}
	var fraction []byte
	zone := text[stampLength:]
	if len(zone) > 0 && zone[0] == '.' {
		end := passDigits(zone, 1)
		fraction, zone = zone[1:end], zone[end:]
	}
	switch {
	case len(zone) == 0:
		layout = layout[:stampLength]
	case len(zone) > 1 && zone[len(zone)-2] > '5':
		return exact{}, reasonStamp
	case len(zone) == len("+hhmm"):
		layout = strings.Replace(layout, "07:00", "0700", 1)
	}
	upper := strings.ToUpper(string(text))
	t, err := time.Parse(layout, upper)
	if err != nil || strings.Contains(upper, ",") { // a comma before the fraction is a point for package time
		return exact{}, reasonStamp
	}
	return instant(t, fraction)
}

// stampLength is the length of a stamp without fraction and zone.
const stampLength = len("2006-01-02T15:04:05")

// looksStamp reports whether b begins like a stamp and not like a number.
func looksStamp(b []byte) bool {
	return len(b) >= stampLength && b[4] == '-' && b[7] == '-' && (b[10]|0x20 == 't' || b[10] == ' ') && b[13] == ':' && b[16] == ':'
}

// instant returns a time with the fraction of its second, of which package time keeps nine digits.
func instant(t time.Time, fraction []byte) (exact, string) {
	if _, zone := t.Zone(); zone < -12*3600 || zone > 14*3600 {
		return exact{}, reasonZone
	}
	if t.Unix() < 0 {
		return exact{}, reasonEarly
	}
	return exact{micros: t.UnixMicro(), below: bytes.TrimRight(fraction[min(6, len(fraction)):], "0")}, ""
}

// stampOr returns a form that also takes a stamp.
func stampOr(form timeForm) timeForm {
	return func(text []byte) (exact, string) {
		if looksStamp(text) {
			return stamp(text)
		}
		return form(text)
	}
}

// decimal returns the form of a number in units of 10^shift µs, such as seconds with 6.
func decimal(shift int, unit string) timeForm {
	reason := fmt.Sprintf(" is not a decimal number of %s", unit)
	return func(text []byte) (e exact, _ string) {
		whole, fraction, point := bytes.Cut(text, []byte("."))
		if !areDigits(whole) || point && !areDigits(fraction) {
			return e, reason
		}
		e.micros = shiftDecimal(whole, fraction, shift)
		if e.below = fraction[min(max(0, shift), len(fraction)):]; shift < 0 {
			cut := max(0, len(whole)+shift)
			e.below = slices.Concat(bytes.Repeat([]byte("0"), cut-len(whole)-shift), whole[cut:], fraction)
		}
		e.below = bytes.TrimRight(e.below, "0")
		return e, ""
	}
}

// shiftDecimal returns whole.fraction times 10^shift, cut down to a whole number, or far.
func shiftDecimal(whole, fraction []byte, shift int) (micros int64) {
	for i := range max(0, len(whole)+shift) {
		digit := byte('0')
		if i < len(whole) {
			digit = whole[i]
		} else if i -= len(whole); i < len(fraction) {
			digit = fraction[i]
		}
		if micros = 10*micros + int64(digit-'0'); micros >= far {
			return far
		}
	}
	return micros
}

func areDigits(b []byte) bool { return len(b) > 0 && passDigits(b, 0) == len(b) }

func passDigits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}
