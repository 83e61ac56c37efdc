package trace

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
)

const (
	reasonNotJSON   = "not JSON"
	reasonNotObject = "not a JSON object"

	reasonAtMissing  = "at_us is missing"
	reasonAtTwice    = "at_us stands there twice"
	reasonAtKind     = "at_us is not a number"
	reasonAtFraction = "at_us is not written as a whole number"
	reasonAtNegative = "at_us is negative"
	reasonAtLate     = "at_us is above 7000000000000000"

	reasonKeyMissing   = "key" + faultMissing
	reasonKeyTwice     = "key" + faultTwice
	reasonKeyKind      = "key" + faultKind
	reasonKeyEmpty     = "key" + faultEmpty
	reasonKeyUTF8      = "key" + faultUTF8
	reasonKeySurrogate = "key" + faultSurrogate

	reasonCostTwice    = "cost stands there twice"
	reasonCostKind     = "cost is not a number"
	reasonCostFraction = "cost is not written as a whole number"
	reasonCostNegative = "cost is negative"
	reasonCostLarge    = "cost is above 9223372036854775807"
)

var (
	atReasons   = numberReasons{reasonAtKind, reasonAtFraction, reasonAtNegative, reasonAtLate}
	costReasons = numberReasons{reasonCostKind, reasonCostFraction, reasonCostNegative, reasonCostLarge}
)

// slow reads any line and gives the first reason against it.
func slow(b []byte, f *fields) (reason string) {
	if reason = checkObject(b); reason != "" {
		return reason
	}
	f.cost = 1
	seen := 0
	for m := membersOf(b); m.next(); {
		field, twice := 0, ""
		switch string(m.name) {
		case "at_us":
			field, twice = hasAt, reasonAtTwice
			f.at, reason = number(m.value, MaxAt, &atReasons)
		case "key":
			field, twice = hasKeyField, reasonKeyTwice
			f.key, reason = keyText(m.value)
		case "cost":
			field, twice = hasCost, reasonCostTwice
			f.cost, reason = number(m.value, math.MaxInt64, &costReasons)
		}
		if seen&field != 0 {
			reason = twice
		}
		if reason != "" {
			return reason
		}
		seen |= field
	}
	switch {
	case seen&hasAt == 0:
		return reasonAtMissing
	case seen&hasKeyField == 0:
		return reasonKeyMissing
	}
	return ""
}

// passValue returns the index behind the value that starts at i.
func passValue(b []byte, i int) int {
	switch b[i] {
	case '"':
		return passString(b, i)
	case '{', '[':
		depth := 0
		for {
			switch b[i] {
			case '"':
				i = passString(b, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			i++
			if depth == 0 {
				return i
			}
		}
	}
	if n := bytes.IndexAny(b[i:], ",]} \t\r\n"); n >= 0 {
		return i + n
	}
	return len(b)
}

func passString(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// unquote decodes a JSON string. Only where that holds escapes, half a surrogate pair in it becomes U+FFFD.
func unquote(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		panic("trace: encoding/json refuses a string that it found valid")
	}
	return []byte(s)
}

// numberReasons are the reasons against a field that should be a whole number.
type numberReasons struct{ kind, fraction, negative, large string }

// number reads a JSON value as a whole number from 0 to bound. -0 is 0.
func number(value []byte, bound int64, why *numberReasons) (int64, string) {
	if c := value[0]; c != '-' && c-'0' > 9 {
		return 0, why.kind
	}
	if bytes.ContainsAny(value, ".eE") {
		return 0, why.fraction
	}
	if value[0] == '-' && string(value) != "-0" {
		return 0, why.negative
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || n > bound {
		return 0, why.large
	}
	return n, ""
}

// keyText decodes the value of a key.
func keyText(value []byte) ([]byte, string) {
	text, fault := decodeString(value)
	if fault == "" && len(text) == 0 {
		fault = faultEmpty
	}
	if fault != "" {
		return nil, "key" + fault
	}
	return text, ""
}

// halfSurrogate reports whether a JSON string holds a \u escape of one half of a surrogate pair without the other.
func halfSurrogate(quoted []byte) bool {
	for i := 0; i < len(quoted); i++ {
		if quoted[i] != '\\' {
			continue
		}
		i++
		if quoted[i] != 'u' {
			continue
		}
		c := hex4(quoted[i+1:])
		i += 4
		if c < 0xd800 || c > 0xdfff {
			continue
		}
		low := quoted[i+1:]
		if c >= 0xdc00 || len(low) < 6 || low[0] != '\\' || low[1] != 'u' || hex4(low[2:])&^0x3ff != 0xdc00 {
			return true
		}
		i += 6
	}
	return false
}

// hex4 reads the four hexadecimal digits of a \u escape.
func hex4(b []byte) (c uint32) {
	for _, x := range b[:4] {
		d, _ := hexDigit(x)
		c = c<<4 | uint32(d)
	}
	return c
}

func hexDigit(x byte) (d byte, ok bool) {
	switch {
	case x-'0' <= 9:
		return x - '0', true
	case x|0x20-'a' <= 5:
		return x | 0x20 - 'a' + 10, true
	}
	return 0, false
}
