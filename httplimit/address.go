package httplimit

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// AddressOptions are the settings of a ClientAddress. nil trusts nobody: the client is
// the peer of the connection.
type AddressOptions struct {
	// Trusted are the proxies whose headers are believed: addresses and CIDR
	// prefixes, such as "127.0.0.1" and "2001:db8::/32". Empty trusts nobody.
	Trusted []string
	// TrustUnixSocket believes the headers of peers that have no address because
	// they connect to a Unix socket.
	TrustUnixSocket bool
	// Header is where trusted proxies write the client. "" is X-Forwarded-For.
	// X-Forwarded-For and Forwarded (RFC 7239) are lists, read from right to left
	// over all lines. Any other name, such as CF-Connecting-IP, is a header with one
	// address that the proxy must overwrite; the last line counts.
	Header string
	// IPv6Prefix is the length of the prefix that IPv6 clients are counted by. 0 is
	// 64, the least that a customer is given; at most 128.
	IPv6Prefix int
}

// ClientAddress finds the address of the client of a request. It is safe for
// concurrent use, and keeps nothing of a request.
//
// The peer of the connection is the client unless it is trusted. Where it is, the
// header is walked from right to left: trusted addresses are skipped, and the first
// that is not trusted is the client. There is no client where a hop cannot be read, as
// in "unknown" and the obfuscated names of RFC 7239, where every hop is trusted, and
// where a trusted peer sends no header: what stands to the left may be a lie of the
// client, and the address of a proxy would be one key for everybody.
//
// Ports and zones are dropped, and IPv4 addresses written as IPv6 are IPv4 addresses.
type ClientAddress struct {
	trusted   []netip.Prefix
	trustUnix bool
	header    string // canonical
	walk      func(line string, visit func(netip.Addr) (more bool)) bool
	ipv6      int
}

const (
	forwardedFor = "X-Forwarded-For"
	forwarded    = "Forwarded"
)

// NewClientAddress returns a ClientAddress. The errors name the option, its value and
// what is allowed.
func NewClientAddress(o *AddressOptions) (*ClientAddress, error) {
	if o == nil {
		o = &AddressOptions{}
	}
	c := &ClientAddress{
		trustUnix: o.TrustUnixSocket,
		header:    http.CanonicalHeaderKey(o.Header),
		ipv6:      o.IPv6Prefix,
	}
	var err error
	if c.trusted, err = parsePrefixes("AddressOptions.Trusted", o.Trusted); err != nil {
		return nil, err
	}
	if o.Header != "" && len(c.trusted) == 0 && !o.TrustUnixSocket {
		return nil, refuse("AddressOptions.Header", fmt.Sprintf("%q", o.Header), `"" where nobody is trusted`)
	}
	if c.ipv6 == 0 {
		c.ipv6 = 64
	}
	if c.ipv6 < 0 || c.ipv6 > 128 {
		return nil, refuse("AddressOptions.IPv6Prefix", fmt.Sprint(o.IPv6Prefix), "0 (64) to 128")
	}
	switch c.header {
	case "", forwardedFor:
		c.header, c.walk = forwardedFor, walkForwardedFor
	case forwarded:
		c.walk = walkForwarded
	}
	return c, nil
}

// refuse is the error of an option.
func refuse(field, value, allowed string) error {
	return fmt.Errorf("httplimit: %s is %s; allowed: %s", field, value, allowed)
}

// parsePrefixes reads addresses and CIDR prefixes; field is their name in an error.
func parsePrefixes(field string, texts []string) ([]netip.Prefix, error) {
	prefixes := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		var ok bool
		if prefixes[i], ok = parsePrefix(text); !ok {
			return nil, refuse(fmt.Sprintf("%s[%d]", field, i), fmt.Sprintf("%q", text),
				"an address or a CIDR prefix; 96 bits or more of IPv4 written as IPv6")
		}
	}
	return prefixes, nil
}

// parsePrefix reads an address or a prefix. An IPv4 prefix written as IPv6 is an IPv4
// prefix, since the addresses are.
func parsePrefix(text string) (prefix netip.Prefix, ok bool) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		addr, err := netip.ParseAddr(text)
		if err != nil || addr.Zone() != "" {
			return netip.Prefix{}, false
		}
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	if addr := prefix.Addr(); addr.Is4In6() {
		if prefix.Bits() < 96 {
			return netip.Prefix{}, false
		}
		prefix = netip.PrefixFrom(addr.Unmap(), prefix.Bits()-96)
	}
	return prefix.Masked(), true
}

// contains reports whether an address is in one of the prefixes.
func contains(prefixes []netip.Prefix, addr netip.Addr) bool {
	for _, prefix := range prefixes {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// defaultAddress trusts nobody.
var defaultAddress = &ClientAddress{ipv6: 64}

// RemoteAddress is a Key: the peer of the connection, for servers without a proxy in
// front. IPv6 clients are counted by /64. It is absent on Unix sockets. Behind a proxy
// it is the proxy, and so one key for everybody: see NewClientAddress.
func RemoteAddress(r *http.Request) (string, bool) { return defaultAddress.Key(r) }

// Key is a Key: the client as text, "203.0.113.7" or "2001:db8:1:2::/64". It is
// absent where Find finds nothing. An IPv4 client without a proxy costs no allocation,
// any other one.
func (c *ClientAddress) Key(r *http.Request) (string, bool) {
	client, text, ok := c.find(r.RemoteAddr, r.Header)
	if !ok {
		return "", false
	}
	if client.Is4() && text != "" && !strings.Contains(text, ":") {
		return text, true // as it stands in RemoteAddr
	}
	return c.text(client), true
}

// Find returns the client of a request with this peer and these headers. ok is false
// where there is none; see ClientAddress. The address has no zone, and is IPv4 where
// it can be; it is not cut to a prefix.
func (c *ClientAddress) Find(remoteAddr string, h http.Header) (client netip.Addr, ok bool) {
	client, _, ok = c.find(remoteAddr, h)
	return client, ok
}

// find is Find; text is what stands in remoteAddr where the client is the peer, else "".
func (c *ClientAddress) find(remoteAddr string, h http.Header) (client netip.Addr, text string, ok bool) {
	text, peer, ok := peerOf(remoteAddr)
	if ok && !contains(c.trusted, peer) {
		return peer, text, true
	}
	if !ok && !c.trustsSocket(remoteAddr) {
		return netip.Addr{}, "", false
	}
	client, ok = c.behind(h)
	return client, "", ok
}

// text is the key of a client.
func (c *ClientAddress) text(client netip.Addr) string {
	if client.Is4() || c.ipv6 == 128 {
		return client.String()
	}
	var buffer [48]byte
	return string(netip.PrefixFrom(client, c.ipv6).Masked().AppendTo(buffer[:0]))
}

// behind finds the client behind a trusted peer.
func (c *ClientAddress) behind(h http.Header) (client netip.Addr, ok bool) {
	lines := h[c.header]
	if c.walk == nil { // one address, the last counts
		if len(lines) == 0 {
			return netip.Addr{}, false
		}
		return parseNode(strings.Trim(lines[len(lines)-1], " \t"))
	}
	visit := func(hop netip.Addr) (more bool) {
		if contains(c.trusted, hop) {
			return true
		}
		client, ok = hop, hop.IsValid()
		return false
	}
	for i := len(lines) - 1; i >= 0; i-- {
		if !c.walk(lines[i], visit) {
			break
		}
	}
	return client, ok
}

// trustsSocket reports whether a peer without an address may be believed: net/http
// shows the peer of a Unix socket as "", "@", or its path.
func (c *ClientAddress) trustsSocket(remoteAddr string) bool {
	return c.trustUnix && (remoteAddr == "" || remoteAddr[0] == '@' || remoteAddr[0] == '/')
}

// peerOf reads http.Request.RemoteAddr: an address, mostly with a port. host is the
// text of the address.
func peerOf(remoteAddr string) (host string, peer netip.Addr, ok bool) {
	host = remoteAddr
	if colon := strings.LastIndexByte(host, ':'); colon >= 0 {
		if strings.IndexByte(host, ':') == colon {
			host = host[:colon] // IPv4 with a port
		} else if host[0] == '[' && host[colon-1] == ']' {
			host = host[1 : colon-1]
		}
	}
	peer, ok = parseAddr(host)
	return host, peer, ok
}

// parseAddr reads an address that can be a client: not one without a value, such as
// 0.0.0.0.
func parseAddr(text string) (addr netip.Addr, ok bool) {
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}, false
	}
	if addr = addr.WithZone("").Unmap(); addr.IsUnspecified() {
		return netip.Addr{}, false
	}
	return addr, true
}
