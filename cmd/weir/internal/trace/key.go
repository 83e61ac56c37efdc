package trace

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Key says which part of an access log line is the key of its event.
//
// A part is decoded first, in the way its format encodes it: the key is made of the bytes that the server received. A line of
// which the part is missing (no request line of the form "METHOD target PROTOCOL", an empty user agent) or holds
// an escape that no server writes is a bad line for that key only. A host or user agent that the server logs as "-" is
// the key "-".
type Key uint8

const (
	// KeyDefault is KeyHost for an access log. It is the only Key for JSON Lines, whose events carry their own, and for
	// CSV, where a column is the key.
	KeyDefault Key = iota

	// KeyHost is the client's address or name, as it is written: the first field of Common and Combined, the address that the
	// other formats name for the client. Never with its port.
	KeyHost

	// KeyPath is the request target without the query string: what stands between the method and the protocol, up to the first
	// "?". Nothing is folded: /a, //a and /%61 are three keys.
	KeyPath

	// KeyHostPath is the host, one space and the path. Two different pairs never give one key: a host with a space
	// in it is refused here, so that the first space of the key is always the one between the two.
	KeyHostPath

	// KeyUserAgent is the user agent, which all access logs but Common have.
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
	reasonSpace    = "the host holds a space, so it cannot be told from the path"
)

// parts are what the key of an access log line is made of. Each is returned decoded, or with the reason why the line has none.
type parts interface {
	host() (text []byte, reason string)
	path() (text []byte, reason string)
	agent() (text []byte, reason string)
}

// keyOf makes the key of a line, in buf where it does not stand in the line as it is.
func keyOf(k Key, line parts, buf *[]byte) (key []byte, reason string) {
	switch k {
	case KeyPath:
		return line.path()
	case KeyUserAgent:
		return line.agent()
	}
	host, reason := line.host()
	if k != KeyHostPath || reason != "" {
		return host, reason
	}
	if bytes.IndexByte(host, ' ') >= 0 {
		return nil, reasonSpace
	}
	path, reason := line.path()
	*buf = append(append(append((*buf)[:0], host...), ' '), path...)
	return *buf, reason
}

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
