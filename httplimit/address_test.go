package httplimit

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// find asks a ClientAddress about a request.
func find(t *testing.T, o *AddressOptions, remote string, name string, lines ...string) string {
	t.Helper()
	c, err := NewClientAddress(o)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = remote
	for _, line := range lines {
		r.Header.Add(name, line)
	}
	addr, found := c.Find(remote, r.Header)
	key, ok := c.Key(r)
	if ok != found || ok != (key != "") {
		t.Errorf("Find says %v, %v; Key says %q, %v", addr, found, key, ok)
	}
	if found && (addr.Is4In6() || addr.Zone() != "" || addr.IsUnspecified()) {
		t.Errorf("Find returned %v", addr)
	}
	return key
}

func TestAddressWithoutTrustIsThePeer(t *testing.T) {
	for remote, want := range map[string]string{
		"203.0.113.7:1234":              "203.0.113.7",
		"203.0.113.7:1":                 "203.0.113.7", // another port is no other client
		"203.0.113.7":                   "203.0.113.7",
		"[2001:db8:1:2::1]:80":          "2001:db8:1:2::/64",
		"[2001:db8:1:2:ffff::9]:80":     "2001:db8:1:2::/64",
		"2001:db8:1:2::1":               "2001:db8:1:2::/64",
		"[::ffff:203.0.113.7]:80":       "203.0.113.7",
		"[fe80::1%eth0]:80":             "fe80::/64",
		"":                              "",
		"@":                             "",
		"/run/api.sock":                 "",
		"0.0.0.0:80":                    "",
		"[::]:80":                       "",
		"[]:80":                         "",
		":80":                           "",
		"]:80":                          "",
		"localhost:80":                  "",
		"203.0.113.07:80":               "",
		"[203.0.113.7]:80":              "",
		strings.Repeat("1", 5000):       "",
		"[2001:db8::1]x:80":             "",
		"[::ffff:0.0.0.0]:80":           "",
		"[0:0:0:0:0:ffff:cb00:7107]:80": "203.0.113.7",
	} {
		if got := find(t, nil, remote, "X-Forwarded-For", "198.51.100.1"); got != want {
			t.Errorf("%q: key %q, want %q", remote, got, want)
		}
	}
}

func TestAddressIPv6Prefix(t *testing.T) {
	for bits, want := range map[int]string{0: "2001:db8:1:2::/64", 48: "2001:db8:1::/48", 56: "2001:db8:1::/56", 128: "2001:db8:1:2::1"} {
		if got := find(t, &AddressOptions{IPv6Prefix: bits}, "[2001:db8:1:2::1]:80", "X"); got != want {
			t.Errorf("/%d: %q, want %q", bits, got, want)
		}
	}
}

func TestAddressWalksFromTheRight(t *testing.T) {
	trusted := &AddressOptions{Trusted: []string{"10.0.0.0/8", "2001:db8:ffff::/48", "127.0.0.1"}}
	tests := []struct {
		name, remote, want string
		lines              []string
	}{
		{"peer is not trusted", "198.51.100.1:5", "198.51.100.1", []string{"6.6.6.6"}},
		{"one hop", "10.0.0.1:5", "203.0.113.9", []string{"203.0.113.9"}},
		{"the client lies", "10.0.0.1:5", "203.0.113.9", []string{"6.6.6.6, 203.0.113.9"}},
		{"several lines are one list", "10.0.0.1:5", "203.0.113.9", []string{"6.6.6.6", "203.0.113.9"}},
		{"trusted hops are skipped", "10.0.0.1:5", "203.0.113.9", []string{"6.6.6.6, 203.0.113.9, 10.2.3.4", "127.0.0.1"}},
		{"spaces and empty elements", "10.0.0.1:5", "203.0.113.9", []string{"6.6.6.6,, 203.0.113.9\t, ,", ""}},
		{"mapped addresses are folded", "[::ffff:10.0.0.1]:5", "203.0.113.9", []string{"6.6.6.6, ::ffff:203.0.113.9, ::ffff:10.9.9.9"}},
		{"a zone hides no trusted hop", "10.0.0.1:5", "203.0.113.9", []string{"203.0.113.9, 2001:db8:ffff::1%eth0"}},
		{"ports are dropped", "10.0.0.1:5", "203.0.113.9", []string{"203.0.113.9:4711, [2001:db8:ffff::1]:9"}},
		{"IPv6 by prefix", "10.0.0.1:5", "2001:db8:1:2::/64", []string{"[2001:db8:1:2::77]"}},
		{"rubbish stops the walk", "10.0.0.1:5", "", []string{"203.0.113.9, rubbish, 10.0.0.2"}},
		{"unknown stops the walk", "10.0.0.1:5", "", []string{"203.0.113.9, unknown"}},
		{"rubbish beyond the client is not looked at", "10.0.0.1:5", "203.0.113.9", []string{"rubbish, 203.0.113.9"}},
		{"no header", "10.0.0.1:5", "", nil},
		{"an empty header", "10.0.0.1:5", "", []string{""}},
		{"trusted hops only", "10.0.0.1:5", "", []string{"10.0.0.9, 10.0.0.2"}},
		{"an unspecified address is no client", "10.0.0.1:5", "", []string{"203.0.113.9, 0.0.0.0"}},
		{"a port that is none", "10.0.0.1:5", "", []string{"203.0.113.9:x"}},
		{"a port without a colon", "10.0.0.1:5", "", []string{"[2001:db8:1:2::77]x80"}},
		{"a socket is not trusted", "@", "", []string{"203.0.113.9"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := find(t, trusted, test.remote, "X-Forwarded-For", test.lines...); got != test.want {
				t.Errorf("key %q, want %q", got, test.want)
			}
		})
	}
}

func TestAddressReadsForwarded(t *testing.T) {
	trusted := &AddressOptions{Trusted: []string{"10.0.0.0/8", "::ffff:192.168.0.0/112"}, Header: "forwarded"}
	tests := []struct{ line, want string }{
		{`for=203.0.113.9`, "203.0.113.9"},
		{`For="203.0.113.9:4711";proto=https;by=10.0.0.1`, "203.0.113.9"},
		{`for="[2001:db8:1:2::17]:4711"`, "2001:db8:1:2::/64"},
		{`for="[2001:db8:1:2::17]:_port"`, "2001:db8:1:2::/64"},
		{`for=[2001:db8:1:2::17]`, "2001:db8:1:2::/64"}, // should be quoted
		{`for=6.6.6.6, for=203.0.113.9;host="a,b;for=7.7.7.7" , for=10.1.1.1`, "203.0.113.9"},
		{`for="203\.0.113.9"`, "203.0.113.9"},
		{`for=203.0.113.9, for="192.168.0.1"`, "203.0.113.9"},
		{`for=203.0.113.9,,;`, "203.0.113.9"},
		{`for=203.0.113.9, for=unknown`, ""},
		{`for=203.0.113.9, for=_hidden`, ""},
		{`for=203.0.113.9, for="_hidden:80"`, ""},
		{`for=203.0.113.9, proto=https`, ""},
		{`for=6.6.6.6;for=203.0.113.9`, ""},
		{`for="203.0.113.9`, ""},
		{`for="203.0.113.9\`, ""},
		{`for=203.0.113.9 10.0.0.1`, ""},
		{`for = 203.0.113.9`, ""},
		{`203.0.113.9`, ""},
		{`for=`, ""},
		{`=203.0.113.9`, ""},
		{`for="[2001:db8::1"`, ""},
		{`for="[2001:db8::1]x"`, ""},
		{`for="[2001:db8::1]]80"`, ""},
		{`for="[203.0.113.9]"`, ""},
		{`for="203.0.113.9:123456"`, ""},
		{`for="203.0.113.9:"`, ""},
		{`for="203.0.113.9:_"`, ""},
		{`for="203.0.113.9:_a b"`, ""},
		// A client opens a quoted string, and the proxy appends its element.
		{`for="6.6.6.6, for="[2001:db8:1:2::17]"`, ""},
		{`for=6.6.6.6;x=", for=203.0.113.9`, ""},
	}
	for _, test := range tests {
		if got := find(t, trusted, "10.0.0.1:5", "Forwarded", test.line); got != test.want {
			t.Errorf("%s: key %q, want %q", test.line, got, test.want)
		}
	}
	if got := find(t, trusted, "10.0.0.1:5", "Forwarded", `for="rubbish`, `for=203.0.113.9`, `for=10.0.0.2`); got != "203.0.113.9" {
		t.Errorf("several lines: key %q", got)
	}
	if got := find(t, trusted, "10.0.0.1:5", "X-Forwarded-For", `203.0.113.9`); got != "" {
		t.Errorf("another header is believed: key %q", got)
	}
}

func TestAddressReadsOneAddressOfTrustedPeersOnly(t *testing.T) {
	cloud := &AddressOptions{Trusted: []string{"10.0.0.1"}, Header: "CF-Connecting-IP"}
	for _, test := range []struct {
		remote, want string
		lines        []string
	}{
		{"10.0.0.1:5", "203.0.113.9", []string{"203.0.113.9"}},
		{"10.0.0.1:5", "203.0.113.9", []string{"6.6.6.6", " 203.0.113.9 "}}, // the last line counts
		{"10.0.0.1:5", "10.0.0.1", []string{"10.0.0.1"}},                    // the proxy says so
		{"10.0.0.1:5", "", []string{"6.6.6.6, 203.0.113.9"}},
		{"10.0.0.1:5", "", []string{"203.0.113.9", "rubbish"}},
		{"10.0.0.1:5", "", nil},
		{"10.0.0.2:5", "10.0.0.2", []string{"203.0.113.9"}},
	} {
		if got := find(t, cloud, test.remote, "CF-Connecting-IP", test.lines...); got != test.want {
			t.Errorf("%s %q: key %q, want %q", test.remote, test.lines, got, test.want)
		}
	}
}

func TestAddressTrustsSocketsWhereTold(t *testing.T) {
	socket := &AddressOptions{TrustUnixSocket: true}
	for _, remote := range []string{"", "@", "@abstract", "/run/api.sock"} {
		if got := find(t, socket, remote, "X-Forwarded-For", "6.6.6.6, 203.0.113.9"); got != "203.0.113.9" {
			t.Errorf("%q: key %q", remote, got)
		}
	}
	if got := find(t, socket, "rubbish", "X-Forwarded-For", "203.0.113.9"); got != "" {
		t.Errorf("a peer that cannot be read is believed: key %q", got)
	}
	if got := find(t, socket, "198.51.100.1:5", "X-Forwarded-For", "203.0.113.9"); got != "198.51.100.1" {
		t.Errorf("a peer with an address is believed: key %q", got)
	}
}

func TestAddressOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]*AddressOptions{
		`AddressOptions.Trusted[1] is "10.0.0.0/33"`:                        {Trusted: []string{"10.0.0.1", "10.0.0.0/33"}},
		`is "::ffff:0:0/90"; allowed: an address or a CIDR prefix; 96 bits`: {Trusted: []string{"::ffff:0:0/90"}},
		`AddressOptions.Trusted[0] is "fe80::1%eth0"`:                       {Trusted: []string{"fe80::1%eth0"}},
		`AddressOptions.Trusted[0] is "proxy"`:                              {Trusted: []string{"proxy"}},
		`AddressOptions.Header is "X-Real-Ip"`:                              {Header: "X-Real-Ip"},
		`AddressOptions.IPv6Prefix is 129; allowed: 0 (`:                    {IPv6Prefix: 129},
		`AddressOptions.IPv6Prefix is -1`:                                   {IPv6Prefix: -1},
	} {
		if _, err := NewClientAddress(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// FuzzAddress: what a client sends never makes it somebody whom a proxy did not see.
func FuzzAddress(f *testing.F) {
	f.Add("203.0.113.9, 10.0.0.1", `for="[2001:db8::1]:80";proto=https, for=10.0.0.1`)
	f.Add("rubbish,", `for=";x="`)
	xff, err := NewClientAddress(&AddressOptions{Trusted: []string{"10.0.0.0/8"}})
	if err != nil {
		f.Fatal(err)
	}
	rfc, err := NewClientAddress(&AddressOptions{Trusted: []string{"10.0.0.0/8"}, Header: "Forwarded"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, xffLine, rfcLine string) {
		// The proxy appends the client that it sees to what that client has sent.
		for _, test := range []struct {
			c    *ClientAddress
			h    http.Header
			open bool // must be found whatever was sent
		}{
			{xff, http.Header{"X-Forwarded-For": {xffLine + ", 203.0.113.9"}}, true},
			{xff, http.Header{"X-Forwarded-For": {xffLine, "203.0.113.9"}}, true},
			{rfc, http.Header{"Forwarded": {rfcLine, "for=203.0.113.9"}}, true},
			{rfc, http.Header{"Forwarded": {rfcLine + ", for=203.0.113.9"}}, false},
			{rfc, http.Header{"Forwarded": {rfcLine + `, for="203.0.113.9:80";by="10.0.0.1:90"`}}, false},
		} {
			got, ok := test.c.Find("10.0.0.1:1", test.h)
			if ok && got.String() != "203.0.113.9" || test.open && !ok {
				t.Errorf("%q: %v, %v", test.h, got, ok)
			}
		}
	})
}
