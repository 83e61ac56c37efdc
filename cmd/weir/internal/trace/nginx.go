package trace

import "bytes"

// nginxJSON reads an nginx log whose log_format is a JSON object made with escape=json. Its members may have any order. They
// are named like the variables that they hold:
//
//   - msec and request_time: when the request ended and how long it took, in seconds, as numbers or as strings. The
//     difference is when it started, exactly. Both are wanted: without the time it took, the end of a request would pass as its
//     start.
//   - remote_addr: the host.
//   - request_uri, or uri where there is no request_uri: the path. $request_uri is what the client asked for; $uri is decoded
//     and rewritten by nginx.
//   - http_user_agent: the user agent. nginx writes "" for none.
//
// All others are ignored.
type nginxJSON struct {
	key    Key
	text   []byte // scratch for a key that does not stand in the line as it is
	wanted [6]member
}

const (
	nginxEnd = iota
	nginxTook
	nginxHost
	nginxTarget
	nginxURI
	nginxAgent
)

func newNginx(k Key) *nginxJSON {
	return &nginxJSON{key: k, wanted: [...]member{
		nginxEnd:    {name: "msec"},
		nginxTook:   {name: "request_time"},
		nginxHost:   {name: "remote_addr"},
		nginxTarget: {name: "request_uri"},
		nginxURI:    {name: "uri"},
		nginxAgent:  {name: "http_user_agent"},
	}}
}

func (n *nginxJSON) parse(line []byte, f *fields) (reason string) {
	if reason = checkObject(line); reason != "" {
		return reason
	}
	if reason = collect(line, n.wanted[:]); reason != "" {
		return reason
	}
	end, reason := n.wanted[nginxEnd].seconds()
	if reason != "" {
		return reason
	}
	took, reason := n.wanted[nginxTook].seconds()
	if reason != "" {
		return reason
	}
	f.cost = 1
	if f.at, reason = end.before(took); reason != "" {
		return reason
	}
	f.key, reason = keyOf(n.key, n, &n.text)
	return reason
}

func (n *nginxJSON) host() ([]byte, string) { return n.wanted[nginxHost].filled() }

func (n *nginxJSON) path() ([]byte, string) {
	target := &n.wanted[nginxTarget]
	if target.value == nil && n.wanted[nginxURI].value != nil {
		target = &n.wanted[nginxURI]
	}
	text, reason := target.text()
	if reason != "" {
		return nil, reason
	}
	return cutQuery(text)
}

func (n *nginxJSON) agent() ([]byte, string) {
	text, reason := n.wanted[nginxAgent].text()
	if reason == "" && len(text) == 0 {
		return nil, reasonNoAgent
	}
	return text, reason
}

func looksNginx(line []byte) bool {
	return looksObject(line) && bytes.Contains(line, []byte(`"msec"`))
}
