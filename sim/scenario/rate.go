package scenario

import (
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// Rate is an exact fraction: Units per Per, in text "100/1s". Units run from 1 to
// algorithm.MaxUnits; Per is whole microseconds from 1 µs to algorithm.MaxPeriod;
// together they make at most 1000 per µs. The zero Rate is a rate that was left out.
type Rate struct {
	Units int64
	Per   time.Duration
}

const (
	allowedRate     = "1 to 1000000000000 units per whole µs up to 9600h (400 days), and at most 1000 per µs"
	allowedRateText = "UNITS/DURATION, such as 100/1s"
	// maxUnitsPerMicro bounds a rate, so that gaps keep their digits.
	maxUnitsPerMicro = 1000
)

func (r Rate) valid() bool {
	micros := int64(r.Per / time.Microsecond)
	return r.Units >= 1 && r.Units <= algorithm.MaxUnits && r.Per <= algorithm.MaxPeriod &&
		micros >= 1 && r.Per%time.Microsecond == 0 && r.Units <= micros*maxUnitsPerMicro
}

// String returns the rate as UnmarshalText reads it.
func (r Rate) String() string { return algorithm.Rate{Units: r.Units, Per: r.Per}.String() }

// IsZero reports whether the rate was left out.
func (r Rate) IsZero() bool { return r == Rate{} }

// MarshalText returns String, and the empty text for a rate that was left out.
func (r Rate) MarshalText() ([]byte, error) {
	if r.IsZero() {
		return nil, nil
	}
	return []byte(r.String()), nil
}

// UnmarshalText reads a rate such as "100/1s" or "7/90s". The error is an *Error.
func (r *Rate) UnmarshalText(text []byte) error {
	units, per, found := strings.Cut(string(text), "/")
	n, errUnits := strconv.ParseInt(units, 10, 64)
	d, errPer := time.ParseDuration(per)
	if !found || errUnits != nil || errPer != nil {
		return refuse("rate", strconv.Quote(string(text)), allowedRateText)
	}
	if *r = (Rate{n, d}); !r.valid() {
		return refuse("rate", r.String(), allowedRate)
	}
	return nil
}
