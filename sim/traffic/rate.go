package traffic

import (
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// Rate is an exact fraction: Units per Per, in text "100/1s". Units run from 1 to
// algorithm.MaxUnits; Per is whole microseconds from 1 µs to algorithm.MaxPeriod;
// together they make at most 1000 per µs. The zero Rate is one that was not given.
type Rate struct {
	Units int64
	Per   time.Duration
}

// ParseRate reads a rate such as "100/1s" or "7/90s".
func ParseRate(text string) (Rate, error) {
	units, per, found := strings.Cut(text, "/")
	n, errUnits := strconv.ParseInt(units, 10, 64)
	d, errPer := time.ParseDuration(per)
	if !found || errUnits != nil || errPer != nil {
		return Rate{}, refuse("rate", "rate", text, "UNITS/DURATION, such as 100/1s")
	}
	r := Rate{n, d}
	if err := r.check("rate", "rate"); err != nil {
		return Rate{}, err
	}
	return r, nil
}

// String returns the rate as ParseRate reads it.
func (r Rate) String() string { return algorithm.Rate{Units: r.Units, Per: r.Per}.String() }

// IsZero says that no rate was given.
func (r Rate) IsZero() bool { return r == Rate{} }

// MarshalText is String; a rate that was not given is the empty text.
func (r Rate) MarshalText() ([]byte, error) {
	if r.IsZero() {
		return nil, nil
	}
	return []byte(r.String()), nil
}

// UnmarshalText is ParseRate.
func (r *Rate) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRate(string(text))
	return err
}

// maxUnitsPerMicro bounds a rate, so that gaps keep their digits.
const maxUnitsPerMicro = 1000

func (r Rate) check(of, field string) error {
	micros := r.micros()
	if r.Units < 1 || r.Units > algorithm.MaxUnits || r.Per > algorithm.MaxPeriod ||
		micros < 1 || r.Per%time.Microsecond != 0 || r.Units > micros*maxUnitsPerMicro {
		return refuse(of, field, r.String(), "1 to 1000000000000 units per whole µs up to 9600h (400 days), and at most 1000 per µs")
	}
	return nil
}

func (r Rate) micros() int64 { return int64(r.Per / time.Microsecond) }

// perMicro is the rate as a number, for draws.
func (r Rate) perMicro() float64 { return float64(r.Units) / float64(r.micros()) }
