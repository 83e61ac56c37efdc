package trace

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// Key says which part of an access log line is the key of its event.
//
// A quoted field is decoded first: \", \\, \n and \xHH stand for the bytes that the server received. A line of which
// the part is missing (no request line of the form "METHOD target PROTOCOL", an empty user agent) or holds an escape that no
// server writes is a bad line for that key only. A host or user agent that the server logs as "-" is the key "-".
type Key uint8

const (
	// KeyDefault is KeyHost for an access log. It is the only Key for JSON Lines, whose events carry their own.
	KeyDefault Key = iota

	// KeyHost is the first field: the client's address or name, as it is written.
	KeyHost

	// KeyPath is the request target without the query string: what stands between the method and the protocol, up to the first
	// "?". Nothing is folded: /a, //a and /%61 are three keys.
	KeyPath

	// KeyHostPath is the host, one space and the path. Two different pairs never give one key: a host ends at the first
	// space of its line, so it holds none, and the first space of the key is always the one between the two.
	KeyHostPath

	// KeyUserAgent is the last field of the combined format.
	KeyUserAgent
)

// The names are those of the --key flag.
var keyNames = [...]string{KeyDefault: "", KeyHost: "host", KeyPath: "path", KeyHostPath: "host+path", KeyUserAgent: "user-agent"}

// KeyNames returns the names that ParseKey knows, in the order in which help should show them.
func KeyNames() []string { return append([]string(nil), keyNames[KeyHost:]...) }

// String returns the name, and "" for KeyDefault.
func (k Key) String() string {
	if int(k) < len(keyNames) {
		return keyNames[k]
	}
	return fmt.Sprintf("Key(%d)", uint8(k))
}

// ParseKey returns the Key of a name. The empty name is KeyDefault.
func ParseKey(name string) (Key, error) {
	for k, n := range keyNames {
		if n == name {
			return Key(k), nil
		}
	}
	return 0, fmt.Errorf("trace: key: %q is not one of %s", name, strings.Join(KeyNames(), ", "))
}

const (
	reasonNoPath   = `the request is not "METHOD target PROTOCOL", so it has no path`
	reasonNoAgent  = "the user agent is empty"
	reasonRequest  = "the request holds an unknown escape"
	reasonAgent    = "the user agent holds an unknown escape"
	reasonPathNone = "the path is empty"
)

// interner keeps one string for each distinct key.
type interner struct {
	byName map[string]uint32
	names  []string
}

func (t *interner) index(key []byte) (uint32, error) {
	if i, ok := t.byName[string(key)]; ok { // does not allocate
		return i, nil
	}
	if uint64(len(t.names)) > math.MaxUint32 {
		return 0, errors.New("trace: more than 2^32 distinct keys")
	}
	i, name := uint32(len(t.names)), string(key)
	t.byName[name] = i
	t.names = append(t.names, name)
	return i, nil
}
