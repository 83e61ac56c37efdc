package trace

import (
	"bytes"
	"math/big"
	"testing"
	"time"
)

// FuzzDecimal compares the decimal numbers with fractions of any size.
func FuzzDecimal(f *testing.F) {
	f.Fuzz(func(t *testing.T, text, span []byte) {
		if len(text) > 100 || len(span) > 100 {
			return
		}
		a, refused := seconds(text)
		if got := rational(text); (got != nil) != (refused == "") {
			t.Fatalf("%q: %q, a number %v", text, refused, got)
		}
		b, also := seconds(span)
		if refused+also != "" {
			return
		}
		at, reason := a.before(b)
		want := floorMicros(new(big.Rat).Sub(rational(text), rational(span)))
		end := floorMicros(rational(text))
		switch {
		case end.Cmp(big.NewInt(MaxAt)) > 0:
			if reason != reasonLate {
				t.Fatalf("%q less %q = %d, %q, want late", text, span, at, reason)
			}
		case want.Sign() < 0:
			if reason != reasonEarly {
				t.Fatalf("%q less %q = %d, %q, want early", text, span, at, reason)
			}
		case reason != "" || want.Cmp(big.NewInt(at)) != 0:
			t.Fatalf("%q less %q = %d, %q, want %v", text, span, at, reason, want)
		}
		for shift, unit := range map[int]int64{6: 1_000_000, 3: 1000, 0: 1} {
			want := new(big.Rat).Mul(rational(text), new(big.Rat).SetInt64(unit))
			checkMicros(t, text, shift, floor(want))
		}
		checkMicros(t, text, -3, floor(new(big.Rat).Quo(rational(text), new(big.Rat).SetInt64(1000))))
	})
}

func checkMicros(t *testing.T, text []byte, shift int, want *big.Int) {
	got, reason := decimal(shift, "")(text)
	if want.Cmp(big.NewInt(far)) > 0 {
		want = big.NewInt(far)
	}
	if reason != "" || want.Cmp(big.NewInt(got.micros)) != 0 {
		t.Fatalf("%q shifted by %d = %d, %q, want %v", text, shift, got.micros, reason, want)
	}
}

// rational reads digits, with a point and digits or without, or returns nil.
func rational(text []byte) *big.Rat {
	for i, c := range text {
		if c-'0' > 9 && (c != '.' || i == 0 || i == len(text)-1) {
			return nil
		}
	}
	if bytes.Count(text, []byte(".")) > 1 {
		return nil
	}
	r, ok := new(big.Rat).SetString(string(text))
	if !ok {
		return nil
	}
	return r
}

// floorMicros cuts a number of seconds down to whole µs.
func floorMicros(r *big.Rat) *big.Int { return floor(new(big.Rat).Mul(r, big.NewRat(1_000_000, 1))) }

func floor(r *big.Rat) *big.Int { // Euclidean division rounds down where the divisor is positive, as it is
	q, _ := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	return q
}

// FuzzStamp compares the dates with package time.
func FuzzStamp(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte) {
		e, reason := stamp(text)
		want, err := time.Parse(time.RFC3339Nano, string(text))
		if err == nil { // package time reads more than RFC 3339 has, but writes no more than that
			if _, reason := stamp([]byte(want.Format(time.RFC3339Nano))); reason == reasonStamp {
				t.Fatalf("%v is refused", want)
			}
		}
		if reason != "" {
			return
		}
		upper := string(bytes.ToUpper(bytes.Join([][]byte{text[:10], text[11:]}, []byte("T"))))
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999"} {
			if err != nil {
				want, err = time.Parse(layout, upper)
			}
		}
		if err != nil || want.UnixMicro() != e.micros {
			t.Fatalf("%q = %d, and package time says %v, %v", text, e.micros, want, err)
		}
	})
}
