package scenario

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// Decimal is a number in millionths: an exact decimal with up to six places. In
// text it is "0.9", "90%" or "20".
type Decimal int64

// one is the number 1.
const one Decimal = 1_000_000

const allowedDecimalText = "a decimal of up to six places such as 0.9, or a percentage of up to four such as 90%"

// UnmarshalText reads a decimal of at most six places, or of four and a percent
// sign. There is no sign and no exponent. The error is an *Error.
func (d *Decimal) UnmarshalText(text []byte) error {
	digits, places := string(text), 6
	if cut, found := strings.CutSuffix(digits, "%"); found {
		digits, places = cut, 4
	}
	whole, fraction, dot := strings.Cut(digits, ".")
	n, err := strconv.ParseUint(whole+fraction, 10, 63)
	scale := places - len(fraction)
	if err != nil || strings.ContainsAny(digits, "+_") || whole == "" || dot && fraction == "" || scale < 0 {
		return refuse("decimal", strconv.Quote(string(text)), allowedDecimalText)
	}
	for ; scale > 0; scale-- {
		if n > math.MaxInt64/10 {
			return refuse("decimal", strconv.Quote(string(text)), "at most "+Decimal(math.MaxInt64).String())
		}
		n *= 10
	}
	*d = Decimal(n)
	return nil
}

// String returns the shortest text that UnmarshalText reads as d.
func (d Decimal) String() string {
	sign, n := "", uint64(d)
	if d < 0 { // no text gives one; an error may show one
		sign, n = "-", -n
	}
	text := sign + strconv.FormatUint(n/uint64(one), 10)
	if rest := n % uint64(one); rest != 0 {
		places := strconv.FormatUint(uint64(one)+rest, 10)[1:]
		text += "." + strings.TrimRight(places, "0")
	}
	return text
}

// MarshalText returns String.
func (d Decimal) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// float returns the number.
func (d Decimal) float() float64 { return float64(d) / float64(one) }

// Rate is units per length of time, in text "100/1s": 1 to algorithm.MaxUnits per whole
// µs up to algorithm.MaxPeriod, and at most 1000 per µs. The zero Rate is a rate that was
// left out.
type Rate = algorithm.Rate

const (
	allowedRate     = "1 to 1000000000000 units per whole µs up to 9600h (400 days), and at most 1000 per µs"
	allowedRateText = "UNITS/DURATION, such as 100/1s"
	// maxUnitsPerMicro bounds a rate, so that gaps keep their digits.
	maxUnitsPerMicro = 1000
)

func validRate(r Rate) bool {
	micros := int64(r.Per / time.Microsecond)
	return r.Units >= 1 && r.Units <= algorithm.MaxUnits && r.Per <= algorithm.MaxPeriod &&
		micros >= 1 && r.Per%time.Microsecond == 0 && r.Units <= micros*maxUnitsPerMicro
}

func parseRate(text string) (r Rate, err error) {
	units, per, found := strings.Cut(text, "/")
	n, errUnits := strconv.ParseInt(units, 10, 64)
	d, errPer := time.ParseDuration(per)
	if !found || errUnits != nil || errPer != nil {
		return r, refuse("rate", strconv.Quote(text), allowedRateText)
	}
	if r = (Rate{Units: n, Per: d}); !validRate(r) {
		return r, refuse("rate", r, allowedRate)
	}
	return r, nil
}
