package trace

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

const (
	reasonNotJSON   = "not JSON"
	reasonNotObject = "not a JSON object"
)

// What may be wrong with a field. The name of the field stands before it.
const (
	faultMissing   = " is missing"
	faultTwice     = " stands there twice"
	faultKind      = " is not a string"
	faultEmpty     = " is empty"
	faultUTF8      = " is not valid UTF-8"
	faultSurrogate = " holds half a surrogate pair"
)

// object cuts a JSON object into its members. A field is a member, or with dots between the names a member of a member, such as
// request.uri.
//
// encoding/json decides what is JSON and decodes the strings. Three things are stricter than there:
//
//   - Names are matched exactly, and a field that stands there twice is refused: programs do not agree on which one counts.
//   - A string that is no text (broken UTF-8, half a surrogate pair) is refused: a decoder would replace the broken part by
//     U+FFFD, and so make one key of several.
//   - Numbers stay as they are written.
type object struct{ wanted []string }

func (o *object) want(names []string) error {
	o.wanted = names
	return nil
}

func (o *object) cut(line []byte, values [][]byte) (reason string) {
	if !json.Valid(line) {
		return reasonNotJSON
	}
	if line[skipSpace(line, 0)] != '{' {
		return reasonNotObject
	}
	return collect(line, o.wanted, 0, values)
}

// collect puts the wanted members of an object into values. The names are read from a byte on: what is before it has led to
// the object.
func collect(object []byte, wanted []string, from int, values [][]byte) (reason string) {
	var seen [maxFields]bool
	for i := skipSpace(object, skipSpace(object, 0)+1); object[i] != '}'; {
		end := passValue(object, i)
		name := unquote(object[i:end])
		start := skipSpace(object, skipSpace(object, end)+1)
		end = passValue(object, start)
		value := object[start:end]
		if i = skipSpace(object, end); object[i] == ',' {
			i = skipSpace(object, i+1)
		}
		for n := range wanted {
			want := wanted[n][from:]
			if len(want) < len(name) || want[:len(name)] != string(name) {
				continue
			}
			below := want[len(name):]
			if below != "" && below[0] != '.' {
				continue
			}
			if seen[n] {
				return string(name) + faultTwice
			}
			seen[n] = true
			if below == "" {
				values[n] = value
			} else if value[0] == '{' {
				if reason = collect(value, wanted[n:n+1], from+len(name)+1, values[n:n+1]); reason != "" {
					return reason
				}
			}
		}
	}
	return ""
}

// text decodes a string, or the first of an array of strings.
func (o *object) text(value []byte) (text []byte, fault string) {
	if value[0] == '[' {
		first := skipSpace(value, 1)
		if value[first] == ']' {
			return nil, faultEmpty
		}
		value = value[first:passValue(value, first)]
	}
	switch {
	case value[0] != '"':
		return nil, faultKind
	case !utf8.Valid(value):
		return nil, faultUTF8
	case halfSurrogate(value):
		return nil, faultSurrogate
	}
	return unquote(value), ""
}

// quotedOr returns a form that also takes the text in the quotes of JSON. With an escape in it, it is no time.
func quotedOr(form timeForm) timeForm {
	return func(value []byte) (exact, string) {
		if value[0] == '"' {
			value = value[1 : len(value)-1]
		}
		return form(value)
	}
}

// The functions below walk what encoding/json has found valid, and do not look for mistakes.

// skipSpace returns the index of the first byte at or after i that is no JSON white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// passValue returns the index behind the value that starts at i.
func passValue(b []byte, i int) int {
	switch b[i] {
	case '"':
		for i++; b[i] != '"'; i++ {
			if b[i] == '\\' {
				i++
			}
		}
		return i + 1
	case '{', '[':
		for depth := 0; ; {
			switch b[i] {
			case '"':
				i = passValue(b, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			if i++; depth == 0 {
				return i
			}
		}
	}
	for i < len(b) && bytes.IndexByte([]byte(",]} \t\r\n"), b[i]) < 0 {
		i++
	}
	return i
}

// unquote decodes a JSON string. Where that holds escapes, half a surrogate pair in it becomes U+FFFD.
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

// halfSurrogate reports whether a JSON string holds a \u escape of one half of a surrogate pair without the other.
func halfSurrogate(quoted []byte) bool {
	high := false
	for i := 0; i < len(quoted); i++ {
		escape, code := false, 0
		if quoted[i] == '\\' {
			if i++; quoted[i] == 'u' {
				escape, code = true, hexValue(quoted[i+1:i+5])
				i += 4
			}
		}
		low := escape && code&^0x3ff == 0xdc00
		if high != low {
			return true
		}
		high = escape && code&^0x3ff == 0xd800
	}
	return high
}

// hexValue returns the value of hexadecimal digits, or -1 where one is none.
func hexValue(digits []byte) int {
	value, err := strconv.ParseUint(string(digits), 16, 32)
	if err != nil {
		return -1
	}
	return int(value)
}
