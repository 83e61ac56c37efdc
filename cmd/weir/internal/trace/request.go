package trace

import "bytes"

// requestPath returns the target of "METHOD target PROTOCOL" up to its query string. Exactly two spaces are wanted: with fewer a
// request cannot be told from one that was cut off, and with more it is not HTTP.
func requestPath(request []byte) (path []byte, reason string) {
	method, rest, ok1 := bytes.Cut(request, []byte(" "))
	target, protocol, ok2 := bytes.Cut(rest, []byte(" "))
	if !ok1 || !ok2 || len(method) == 0 || len(target) == 0 ||
		!bytes.HasPrefix(protocol, []byte("HTTP/")) || bytes.IndexByte(protocol, ' ') >= 0 {
		return nil, reasonNoPath
	}
	return cutQuery(target)
}

// cutQuery returns a request target up to its query string.
func cutQuery(target []byte) (path []byte, reason string) {
	if path, _, _ = bytes.Cut(target, []byte("?")); len(path) == 0 {
		return nil, reasonPathNone
	}
	return path, ""
}
