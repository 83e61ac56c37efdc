package trace

import (
	"encoding/json"
	"unicode/utf8"
)

// members walks the members of a JSON object.
type members struct {
	b           []byte
	i           int // where the next member starts, or the brace that closes
	name, value []byte
}

// membersOf returns the walk of an object, which must be known to be one: it does not look for mistakes.
func membersOf(object []byte) members {
	return members{b: object, i: skipSpace(object, skipSpace(object, 0)+1)}
}

// next goes to the next member, if there is one: its name decoded, its value as it is written.
func (m *members) next() bool {
	b := m.b
	if b[m.i] == '}' {
		return false
	}
	end := passValue(b, m.i)
	m.name = unquote(b[m.i:end])
	start := skipSpace(b, skipSpace(b, end)+1)
	end = passValue(b, start)
	m.value = b[start:end]
	if m.i = skipSpace(b, end); b[m.i] == ',' {
		m.i = skipSpace(b, m.i+1)
	}
	return true
}

// checkObject returns why a line is no JSON object, or "".
func checkObject(line []byte) (reason string) {
	if !json.Valid(line) {
		return reasonNotJSON
	}
	if line[skipSpace(line, 0)] != '{' {
		return reasonNotObject
	}
	return ""
}

// member is a member of an object that is wanted: its value is nil where it is absent.
type member struct {
	name  string
	value []byte
}

// collect fills in the values of the wanted members. One that stands there twice is refused: programs do not agree on which one
// counts.
func collect(object []byte, wanted []member) (reason string) {
	for i := range wanted {
		wanted[i].value = nil
	}
	for m := membersOf(object); m.next(); {
		for i := range wanted {
			if string(m.name) != wanted[i].name {
				continue
			}
			if wanted[i].value != nil {
				return wanted[i].name + faultTwice
			}
			wanted[i].value = m.value
		}
	}
	return ""
}

// What may be wrong with a member.
const (
	faultMissing   = " is missing"
	faultTwice     = " stands there twice"
	faultKind      = " is not a string"
	faultEmpty     = " is empty"
	faultUTF8      = " is not valid UTF-8"
	faultSurrogate = " holds half a surrogate pair"
	faultSeconds   = " is not a decimal number of seconds"
	faultObject    = " is not an object"
	faultArray     = " is not an array"
)

// text returns the member decoded, which is a string.
func (m *member) text() (text []byte, reason string) {
	if m.value == nil {
		return nil, m.name + faultMissing
	}
	text, fault := decodeString(m.value)
	if fault != "" {
		return nil, m.name + fault
	}
	return text, ""
}

// filled returns the member decoded, which is a string that is not empty.
func (m *member) filled() (text []byte, reason string) {
	if text, reason = m.text(); reason == "" && len(text) == 0 {
		return nil, m.name + faultEmpty
	}
	return text, reason
}

// members fills in the wanted members of the member, which is an object.
func (m *member) members(wanted []member) (reason string) {
	switch {
	case m.value == nil:
		return m.name + faultMissing
	case m.value[0] != '{':
		return m.name + faultObject
	}
	return collect(m.value, wanted)
}

// first returns the first string of the member, which is an array, decoded.
func (m *member) first() (text []byte, reason string) {
	switch {
	case m.value == nil:
		return nil, m.name + faultMissing
	case m.value[0] != '[':
		return nil, m.name + faultArray
	}
	start := skipSpace(m.value, 1)
	if m.value[start] == ']' {
		return nil, m.name + faultEmpty
	}
	one := member{m.name, m.value[start:passValue(m.value, start)]}
	return one.text()
}

// seconds returns the member as a number of seconds, which may stand in quotes.
func (m *member) seconds() (e exact, reason string) {
	if m.value == nil {
		return e, m.name + faultMissing
	}
	text := m.value
	if text[0] == '"' {
		text = text[1 : len(text)-1] // with an escape in it, it is no number
	}
	e, ok := seconds(text)
	if !ok {
		return e, m.name + faultSeconds
	}
	return e, ""
}

// decodeString decodes a JSON value that is a string, and makes sure that nothing is replaced in it.
func decodeString(value []byte) (text []byte, fault string) {
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
