package trace

import (
	"math"
	"unicode/utf8"
)

// jsonl reads the JSON Lines format: one object a line, spaces around it allowed.
//
//   - "at_us" and "cost" are written in digits. A fraction or an exponent is refused even where the value is whole (1.0,
//     1e3): it shows that the number went through a float, which may have rounded it. Numbers in quotes are refused.
//   - "cost" is 1 where absent. null is not absent: it is refused.
//   - "key" is a string that is not empty. One that is no text (broken UTF-8, half a surrogate pair) is refused, because
//     a decoder replaces the broken part by U+FFFD and so makes one key of several.
//   - Any of the three written twice is refused: programs do not agree on which one counts.
//   - Names are matched exactly. All other fields are ignored, whatever they hold, if the line as a whole is JSON.
//
// The usual line is read by fast, which allocates nothing. It only ever accepts: whatever it does not know goes to slow, which
// leaves the JSON to encoding/json and has all the reasons.
type jsonl struct{}

func (jsonl) parse(line []byte, f *fields) (reason string) {
	if fast(line, f) {
		return ""
	}
	return slow(line, f)
}

// looksJSONL reports whether a line begins like an object, unless it was meant for another format of objects.
func looksJSONL(line []byte) bool {
	return looksObject(line) && !looksNginx(line) && !looksCaddy(line)
}

func looksObject(line []byte) bool {
	i := skipSpace(line, 0)
	return i < len(line) && line[i] == '{'
}

// The fields seen so far.
const (
	hasAt = 1 << iota
	hasKeyField
	hasCost
)

// fast reads an object whose names and strings hold no escapes and whose values are strings, numbers, true, false and null.
func fast(b []byte, f *fields) bool {
	i := skipSpace(b, 0)
	if i == len(b) || b[i] != '{' {
		return false
	}
	f.cost = 1
	seen := 0
	for {
		start, end, _ := plainString(b, skipSpace(b, i+1))
		if end < 0 {
			return false
		}
		name := b[start:end]
		i = skipSpace(b, end+1)
		if i == len(b) || b[i] != ':' {
			return false
		}
		i = skipSpace(b, i+1)
		field := 0
		switch string(name) {
		case "at_us":
			field = hasAt
			f.at, i = digits(b, i)
			if i < 0 || f.at > MaxAt {
				return false
			}
		case "key":
			field = hasKeyField
			var ascii bool
			start, end, ascii = plainString(b, i)
			if end <= start {
				return false
			}
			f.key, i = b[start:end], end+1
			if !ascii && !utf8.Valid(f.key) {
				return false
			}
		case "cost":
			field = hasCost
			f.cost, i = digits(b, i)
			if i < 0 {
				return false
			}
		default:
			if i = passPlain(b, i); i < 0 {
				return false
			}
		}
		if seen&field != 0 {
			return false
		}
		seen |= field
		i = skipSpace(b, i)
		if i == len(b) {
			return false
		}
		if b[i] == '}' {
			return seen&(hasAt|hasKeyField) == hasAt|hasKeyField && skipSpace(b, i+1) == len(b)
		}
		if b[i] != ',' {
			return false
		}
	}
}

// skipSpace returns the index of the first byte at or after i that is no JSON white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// plainString finds a string without escapes and control characters, whose opening quote is at i. It returns the
// bounds of its content and whether that is all ASCII; end is -1, which is below start, where there is none.
func plainString(b []byte, i int) (start, end int, ascii bool) {
	if i >= len(b) || b[i] != '"' {
		return 0, -1, false
	}
	var all byte
	for j := i + 1; j < len(b); j++ {
		c := b[j]
		if c == '"' {
			return i + 1, j, all < utf8.RuneSelf
		}
		if c == '\\' || c < ' ' {
			break
		}
		all |= c
	}
	return 0, -1, false
}

// digits reads a whole number without sign at i and returns the index behind it, or -1 where there is none or where it
// passes int64. A fraction or an exponent is left behind, and is not what a value ends in.
func digits(b []byte, i int) (n int64, next int) {
	first := i
	var u uint64
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		u = 10*u + uint64(b[i]-'0')
	}
	if i == first || i-first > 19 || b[first] == '0' && i > first+1 || u > math.MaxInt64 { // 19 digits fit in u
		return 0, -1
	}
	return int64(u), i
}

// passPlain returns the index behind the value at i, or -1 where that is not a plain string, a number or a literal.
func passPlain(b []byte, i int) int {
	if i == len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		if _, end, _ := plainString(b, i); end >= 0 {
			return end + 1
		}
		return -1
	case 't':
		return passWord(b, i, "true")
	case 'f':
		return passWord(b, i, "false")
	case 'n':
		return passWord(b, i, "null")
	}
	return passNumber(b, i)
}

func passWord(b []byte, i int, word string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

// passNumber passes -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func passNumber(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	first := i
	i = passDigits(b, i)
	if i == first || b[first] == '0' && i > first+1 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		first = i + 1
		if i = passDigits(b, first); i == first {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		first = i
		if i = passDigits(b, first); i == first {
			return -1
		}
	}
	return i
}

func passDigits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}
