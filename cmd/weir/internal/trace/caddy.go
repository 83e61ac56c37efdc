package trace

import "bytes"

// caddyJSON reads the JSON access log of Caddy 2:
//
//	{"ts":1646861401.5241024,"request":{"remote_ip":"…","client_ip":"…","uri":"…","headers":{"User-Agent":["…"]}},"duration":0.1}
//
// These members are read, in any order, and all others are ignored:
//
//   - ts: when the request ended, in seconds, or as a string in the form of RFC 3339.
//   - duration: how long it took, in seconds. So duration_format must be the default: no log says what it was.
//   - request.client_ip, or request.remote_ip where that is absent or empty: the host.
//   - request.uri: the path.
//   - request.headers.User-Agent: the user agent, the first where there are several.
//
// ts less duration is when the request started. The decimal text of the two is subtracted, and no float: one of 1646861401.5241024
// steps by 0.24 µs. A line without request, such as Caddy writes of itself, is a bad line.
type caddyJSON struct {
	key     Key
	text    []byte // scratch for a key that does not stand in the line as it is
	line    [3]member
	request [4]member
	headers [1]member
}

const (
	caddyEnd = iota
	caddyTook
	caddyRequest
)

const (
	caddyClient = iota
	caddyRemote
	caddyURI
	caddyHeaders
)

func newCaddy(k Key) *caddyJSON {
	return &caddyJSON{
		key:  k,
		line: [...]member{caddyEnd: {name: "ts"}, caddyTook: {name: "duration"}, caddyRequest: {name: "request"}},
		request: [...]member{
			caddyClient: {name: "client_ip"}, caddyRemote: {name: "remote_ip"},
			caddyURI: {name: "uri"}, caddyHeaders: {name: "headers"},
		},
		headers: [...]member{{name: "User-Agent"}},
	}
}

func (c *caddyJSON) parse(line []byte, f *fields) (reason string) {
	if reason = checkObject(line); reason != "" {
		return reason
	}
	if reason = collect(line, c.line[:]); reason != "" {
		return reason
	}
	if reason = c.line[caddyRequest].members(c.request[:]); reason != "" {
		return reason
	}
	end, reason := c.end()
	if reason != "" {
		return reason
	}
	took, reason := c.line[caddyTook].seconds()
	if reason != "" {
		return reason
	}
	f.cost = 1
	if f.at, reason = end.before(took); reason != "" {
		return reason
	}
	f.key, reason = keyOf(c.key, c, &c.text)
	return reason
}

func (c *caddyJSON) end() (exact, string) {
	if ts := c.line[caddyEnd].value; len(ts) > 0 && ts[0] == '"' && looksStamp(ts[1:]) {
		return parseStamp(ts[1 : len(ts)-1])
	}
	return c.line[caddyEnd].seconds()
}

func (c *caddyJSON) host() ([]byte, string) {
	if client := c.request[caddyClient].value; client == nil || string(client) == `""` {
		return c.request[caddyRemote].filled()
	}
	return c.request[caddyClient].filled()
}

func (c *caddyJSON) path() ([]byte, string) {
	text, reason := c.request[caddyURI].text()
	if reason != "" {
		return nil, reason
	}
	return cutQuery(text)
}

func (c *caddyJSON) agent() ([]byte, string) {
	if reason := c.request[caddyHeaders].members(c.headers[:]); reason != "" {
		return nil, reason
	}
	text, reason := c.headers[0].first()
	if reason == "" && len(text) == 0 {
		return nil, reasonNoAgent
	}
	return text, reason
}

func looksCaddy(line []byte) bool {
	return looksObject(line) && bytes.Contains(line, []byte(`"ts"`)) && bytes.Contains(line, []byte(`"request"`))
}
