package trace

import (
	"net/netip"
	"strings"
	"unicode"
)

// hostOf returns the key of a client, the same one however a server or a proxy wrote the client: an address in its usual form
// without brackets, port or the IPv6 form of an IPv4 address, or a name in lower case without its port. "-" and "unix:", which
// servers write where there is no address, are keys too. Anything else shows that this is not the field of the client, such as a list, a word with a
// colon or control bytes.
func hostOf(text string) (key []byte, fault string) {
	if text == "unix:" {
		return []byte(text), ""
	}
	if address, ok := addressOf(text); ok && inName(address.Zone()) {
		return []byte(address.Unmap().String()), ""
	}
	name, port, hasPort := strings.Cut(text, ":")
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	switch {
	case strings.IndexFunc(text, unicode.IsControl) >= 0:
		return nil, " holds control bytes"
	case strings.Contains(text, ","):
		return nil, " is a list, not one address"
	case name == "" || !inName(name) || strings.Trim(name, ".0123456789") == "" || hasPort && !areDigits([]byte(port)):
		return nil, " is neither an address nor a name" // digits and points are no name, but an address that is none: 192.0.2.007
	}
	return []byte(name), ""
}

// inName reports whether a text holds only what is in names.
func inName(text string) bool {
	return strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == ""
}

// addressOf reads an address, also in brackets or with a port.
func addressOf(text string) (netip.Addr, bool) {
	inside := text
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		inside = text[1 : len(text)-1]
	}
	if address, err := netip.ParseAddr(inside); err == nil {
		return address, true
	}
	both, err := netip.ParseAddrPort(text)
	return both.Addr(), err == nil
}
