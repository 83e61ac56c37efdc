package trace

import (
	"strings"
	"testing"
)

func TestDecimalTimesAreExactAndCutDown(t *testing.T) {
	for _, c := range []struct {
		text  string
		shift int
		want  int64
	}{
		{"0", 6, 0},
		{"1700000000", 6, 1_700_000_000_000_000},
		{"1700000000.123456", 6, 1_700_000_000_123_456},
		{"1700000000.1234569", 6, 1_700_000_000_123_456},
		{"1700000000.5", 6, 1_700_000_000_500_000},
		{"1646861401.5241024", 6, 1_646_861_401_524_102}, // a float64 of it is 1646861401.524102449…
		{"1646861401.999999999999999999999999", 6, 1_646_861_401_999_999},
		{"007.5", 6, 7_500_000},
		{"0.0000009", 6, 0},
		{"1700000000123", 3, 1_700_000_000_123_000},
		{"1700000000123.4567", 3, 1_700_000_000_123_456},
		{"1700000000123456", 0, 1_700_000_000_123_456},
		{"1700000000123456.9", 0, 1_700_000_000_123_456},
		{"1700000000123456789", -3, 1_700_000_000_123_456},
		{"1999", -3, 1},
		{"999.9", -3, 0},
		{"9", -3, 0},
		{"7000000000", 6, MaxAt},
		{"700000000000", 6, far},
		{strings.Repeat("9", 1000), 6, far},
		{strings.Repeat("0", 1000) + "1", 6, 1_000_000},
	} {
		if got, reason := decimal(c.shift, "")([]byte(c.text)); got.micros != c.want || reason != "" {
			t.Errorf("%s shifted by %d = %d, %q, want %d", c.text, c.shift, got.micros, reason, c.want)
		}
	}
}

func TestWhatIsNoDecimalNumberIsRefused(t *testing.T) {
	for _, text := range []string{"", ".", "1.", ".5", "-1", "+1", "1e3", "1.5e3", "0x10", " 1", "1 ", "1,5", "1_000", "1.2.3", "NaN", "Inf", "1.-5", "١"} {
		if got, reason := seconds([]byte(text)); reason != " is not a decimal number of seconds" {
			t.Errorf("%q = %d, %q", text, got.micros, reason)
		}
	}
}

// Neither of the two may be rounded before they are subtracted: the difference would be one µs off.
func TestSpanIsSubtractedBeforeTheCut(t *testing.T) {
	for _, c := range []struct {
		end, span, reason string
		want              int64
	}{
		{"1646861401.5241024", "0.0009297", "", 1_646_861_401_523_172},
		{"1646861401.5241", "0.0010001", "", 1_646_861_401_523_099},
		{"1646861401.5241001", "0.0010001", "", 1_646_861_401_523_100},
		{"1646861401.52410010", "0.0010001", "", 1_646_861_401_523_100},
		{"1646861401.524100009", "0.00100001", "", 1_646_861_401_523_099},
		{"5", "0", "", 5_000_000},
		{"5", "5", "", 0},
		{"5", "5.0000000001", reasonEarly, 0},
		{"5", "1" + strings.Repeat("0", 30), reasonEarly, 0},
		{"7000000000", "0", "", MaxAt},
		{"7000000000.000001", "0.000001", reasonLate, 0},
		{"1" + strings.Repeat("0", 30), "1" + strings.Repeat("0", 30), reasonLate, 0},
	} {
		end, reason1 := seconds([]byte(c.end))
		span, reason2 := seconds([]byte(c.span))
		if got, reason := end.before(span); reason1+reason2 != "" || got != c.want || reason != c.reason {
			t.Errorf("%s less %s = %d, %q, want %d, %q", c.end, c.span, got, reason, c.want, c.reason)
		}
	}
}
