package algorithm

import (
	"strconv"
	"time"
)

// Instant is a point in time: whole microseconds since the Unix epoch, from 0
// to MaxInstant. Microseconds because that is what Redis and Valkey answer to
// TIME, and because a Lua number holds them exactly.
type Instant int64

// MaxInstant is the latest instant that decisions are exact for, in the year
// 2191. With the longest time-to-full added it stays below 2^53.
const MaxInstant Instant = 7_000_000_000_000_000

// InstantOf cuts t down to whole microseconds. It refuses what lies before 1970
// or after MaxInstant with a *ParameterError.
func InstantOf(t time.Time) (Instant, error) {
	seconds := t.Unix()
	if seconds < 0 || seconds > int64(MaxInstant)/1_000_000 {
		return 0, outsideInstants(t)
	}
	i := Instant(seconds*1_000_000 + int64(t.Nanosecond())/1_000)
	if i > MaxInstant {
		return 0, outsideInstants(t)
	}
	return i, nil
}

func outsideInstants(t time.Time) error {
	return &ParameterError{
		Of: "instant", Field: "time", Value: t.UTC().Format(time.RFC3339Nano),
		Allowed: "1970-01-01T00:00:00Z to " + MaxInstant.Time().Format(time.RFC3339Nano),
	}
}

// Time returns i as a time in UTC.
func (i Instant) Time() time.Time { return time.UnixMicro(int64(i)).UTC() }

// String returns i as a decimal number of microseconds.
func (i Instant) String() string { return strconv.FormatInt(int64(i), 10) }

// bounded returns i, moved to the nearest bound where a caller broke the
// contract of Step, so that no arithmetic below it can overflow.
func (i Instant) bounded() Instant { return min(max(i, 0), MaxInstant) }

// micros turns a count of whole microseconds into a Duration. The longest wait
// there is, from 0 to MaxInstant and a time-to-full beyond, is 8.6·10^15 µs;
// a Duration ends at 9.2·10^15.
func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
