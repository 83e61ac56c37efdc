package trace

import (
	"bytes"
	"errors"
	"math"
)

// The parts of an access log line that Options.Key may name. A part is decoded first, in the way its format encodes it: the key is made of
// the bytes that the server received. A line of which the part is missing (no request line of the form "METHOD target
// PROTOCOL", an empty user agent) or holds an escape that no server writes is a bad line for that key only. A host or user agent
// that the server logs as "-" is the key "-".
const (
	// KeyHost is the client's address or name: the first field of Common and Combined, the address that the other formats name for
	// the client. One client is one key however it is written, see hostOf.
	KeyHost = "host"

	// KeyPath is the request target without the query string: what stands between the method and the protocol, up to the first
	// "?". Nothing is folded: /a, //a and /%61 are three keys.
	KeyPath = "path"

	// KeyHostPath is the host, one space and the path. Two different pairs never give one key, since no host holds a space.
	KeyHostPath = "host+path"

	// KeyUserAgent is the user agent, which all access logs but Common have.
	KeyUserAgent = "user-agent"
)

// Keys returns the parts of an access log line that may be a key, in the order in which help should show them.
func Keys() []string { return []string{KeyHost, KeyPath, KeyHostPath, KeyUserAgent} }

const (
	reasonNoPath   = `the request is not "METHOD target PROTOCOL", so it has no path`
	reasonPathNone = "the path is empty"
	reasonPort     = "the client is not address:port"
)

var allKey = []byte("all")

// key makes the key of a line, in a buffer of its own where it does not stand in the line as it is.
func (p *parser) key() (key []byte, reason string) {
	if p.record {
		return p.fields(), ""
	}
	if len(p.keys) == 0 {
		return allKey, ""
	}
	key, reason = p.part(p.keys[0])
	if len(p.keys) == 1 || reason != "" {
		return key, reason
	}
	path, reason := p.part(p.keys[1])
	p.text = append(append(append(p.text[:0], key...), ' '), path...)
	return p.text, reason
}

func (p *parser) part(k keyPart) (text []byte, reason string) {
	place := k.from
	for i := k.to - 1; i >= k.from; i-- { // the first that is not empty, else the first that is there
		if p.values[i] != nil && (!isEmpty(p.values[i]) || p.values[place] == nil) {
			place = i
		}
	}
	if p.values[place] == nil {
		return nil, p.labels[place] + faultMissing
	}
	text, fault := p.cutter.text(p.values[place])
	if fault == "" && len(text) == 0 {
		fault = faultEmpty
	}
	if fault != "" {
		return nil, p.labels[place] + fault
	}
	if k.form != nil {
		if text, reason = k.form(text); reason != "" {
			return nil, reason
		}
	}
	if !k.host {
		return text, ""
	}
	if text, fault = hostOf(string(text)); fault != "" {
		return nil, p.labels[place] + fault
	}
	return text, ""
}

// isEmpty reports whether a value is absent, or says so.
func isEmpty(value []byte) bool {
	switch string(value) {
	case "", "-", `""`, `"-"`, "null":
		return true
	}
	return false
}

// requestPath returns the target of "METHOD target PROTOCOL" up to its query string. Exactly two spaces are wanted: with fewer a
// request cannot be told from one that was cut off, and with more it is not HTTP.
func requestPath(request []byte) (path []byte, reason string) {
	method, rest, ok1 := bytes.Cut(request, []byte(" "))
	target, protocol, ok2 := bytes.Cut(rest, []byte(" "))
	if !ok1 || !ok2 || len(method) == 0 || len(target) == 0 || string(target) == "-" ||
		!bytes.HasPrefix(protocol, []byte("HTTP/")) || bytes.IndexByte(protocol, ' ') >= 0 {
		return nil, reasonNoPath
	}
	return cutQuery(target)
}

// urlPath returns the path of a request whose target is a URL.
func urlPath(request []byte) (path []byte, reason string) {
	path, reason = requestPath(request)
	if _, behind, isURL := bytes.Cut(path, []byte("://")); isURL {
		slash := bytes.IndexByte(behind, '/')
		if slash < 0 {
			return nil, reasonPathNone
		}
		path = behind[slash:]
	}
	return path, reason
}

// cutQuery returns a request target up to its query string.
func cutQuery(target []byte) (path []byte, reason string) {
	if path, _, _ = bytes.Cut(target, []byte("?")); len(path) == 0 {
		return nil, reasonPathNone
	}
	return path, ""
}

// lastOf returns the last of a list of addresses.
func lastOf(list []byte) (address []byte, reason string) {
	address = bytes.Trim(list[bytes.LastIndexByte(list, ',')+1:], " \t")
	if len(address) == 0 {
		return nil, "the last address of x-forwarded-for is empty"
	}
	return address, ""
}

// cutPort returns the address of address:port, out of its brackets.
func cutPort(client []byte) (address []byte, reason string) {
	colon := bytes.LastIndexByte(client, ':')
	if colon <= 0 || !areDigits(client[colon+1:]) {
		return nil, reasonPort
	}
	address = client[:colon]
	if address[0] == '[' {
		if address = bytes.TrimSuffix(address[1:], []byte("]")); len(address) == 0 || len(address) == colon-1 {
			return nil, reasonPort
		}
	}
	return address, ""
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
