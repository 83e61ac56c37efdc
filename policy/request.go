package policy

import "time"

// Request is what a policy sees of a request. A request that is not HTTP has Attributes
// only, and meets the rules without endpoints.
type Request struct {
	// Method is the method as it was sent. Methods are compared byte by byte; a pattern
	// with GET also matches HEAD.
	Method string
	// Host is the host as it was sent, with or without a port.
	Host string
	// Path is the path in its escaped form, without the query: what (*url.URL).EscapedPath
	// returns. It is cleaned and decoded once, as net/http.ServeMux does. "" is "/" where
	// there is a Method. A path that cannot be decoded meets the rules without endpoints
	// only.
	Path string
	// Attributes are what is known of who asks. An empty value is as if absent.
	Attributes Attributes
	// MaxDelay bounds how long the request may have to wait for its turn in leaky buckets:
	// see weir.Ask. 0 is no bound. It decides which limits admit the request, not which
	// limits it meets.
	MaxDelay time.Duration
}

// Attributes are values by the name of an attribute. Those that the policy does not name
// are ignored.
type Attributes map[string]string
