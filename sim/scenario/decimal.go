package scenario

import (
	"math"
	"strconv"
	"strings"
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

// Float returns the number.
func (d Decimal) Float() float64 { return float64(d) / float64(one) }
