package algorithm

import (
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/internal/exact"
)

// Bounds within which every decision is exact. Constructors refuse the rest.
const (
	// MaxUnits is the largest limit, burst or capacity.
	MaxUnits int64 = 1_000_000_000_000
	// MaxPeriod is the longest period; the shortest is 1 µs.
	MaxPeriod = 400 * 24 * time.Hour
	// MaxTimeToFull is the longest burst × period / limit.
	MaxTimeToFull = 18_250 * 24 * time.Hour
)

// Rate is an exact fraction: Units per Per. 7 per 3 s stays 7/3, so that no
// number of requests makes it drift. For the window algorithms it is the limit
// and the length of the window. Units run from 1 to MaxUnits, Per is whole
// microseconds from 1 µs to MaxPeriod; a Rate outside is refused by the
// constructor that it is given to. The zero Rate is refused: it never means
// "unlimited".
type Rate struct {
	Units int64
	Per   time.Duration
}

// PerSecond is n units per second.
func PerSecond(n int64) Rate { return Rate{n, time.Second} }

// PerMinute is n units per minute.
func PerMinute(n int64) Rate { return Rate{n, time.Minute} }

// PerHour is n units per hour.
func PerHour(n int64) Rate { return Rate{n, time.Hour} }

// PerDay is n units per 24 hours. Windows of a day are aligned to UTC.
func PerDay(n int64) Rate { return Rate{n, 24 * time.Hour} }

// Every is one unit per interval.
func Every(interval time.Duration) Rate { return Rate{1, interval} }

// String returns the rate as in a spec, such as "100/1m".
func (r Rate) String() string {
	return strconv.FormatInt(r.Units, 10) + "/" + formatPeriod(r.Per)
}

// formatPeriod is Duration.String without the zero parts at its end: 1m, not 1m0s.
func formatPeriod(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// check refuses a rate outside the bounds, in the name of the algorithm of.
func (r Rate) check(of string) error {
	if r.Units < 1 || r.Units > MaxUnits {
		return refuseInt(of, "limit", r.Units, "1 to "+strconv.FormatInt(MaxUnits, 10))
	}
	const allowed = "whole microseconds from 1µs to 9600h (400 days)"
	if r.Per < time.Microsecond || r.Per > MaxPeriod || r.Per%time.Microsecond != 0 {
		return &ParameterError{Of: of, Field: "period", Value: formatPeriod(r.Per), Allowed: allowed}
	}
	return nil
}

// checkBurst refuses a burst or capacity that is out of bounds by itself or
// that takes longer than MaxTimeToFull to fill at rate r.
func (r Rate) checkBurst(of, field string, burst int64) error {
	if burst < 1 || burst > MaxUnits {
		return refuseInt(of, field, burst, "1 to "+strconv.FormatInt(MaxUnits, 10))
	}
	hi, lo := bits.Mul64(uint64(burst), uint64(r.Per/time.Microsecond))
	maxHi, maxLo := bits.Mul64(uint64(MaxTimeToFull/time.Microsecond), uint64(r.Units))
	if hi > maxHi || hi == maxHi && lo > maxLo {
		most, _ := bits.Div64(maxHi, maxLo, uint64(r.Per/time.Microsecond))
		return refuseInt(of, field, burst, "1 to "+strconv.FormatUint(most, 10)+
			" at "+r.String()+", so that it fills within 438000h (18250 days)")
	}
	return nil
}

// reduced returns the rate in lowest terms: units and µs without common factor.
func (r Rate) reduced() (units, per int64) {
	return exact.Lowest(r.Units, int64(r.Per/time.Microsecond))
}
