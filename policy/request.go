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
	// Times multiplies the cost that each rule has for the request: a batch of n requests
	// costs n times as much as one. 0 is 1; a product above 2^62 counts as 2^62, which no
	// limit admits. Below 0 the Enforcer returns an error.
	Times int64
	// Look asks how the limits stand: all costs are 0, so nothing is charged and no limit
	// denies.
	Look bool
	// ID, where it is not "", names the request, so that it is charged once however often
	// Decide gets it: see weir.Ask.ID, of which the limits that are enforced share one, and
	// each rule in shadow has its own. At most 100 bytes. A policy that asks other limits for
	// the request, or the same with other parameters, gives store.ErrIDReused.
	ID string
}

// Attributes are values by the name of an attribute. Those that the policy does not name
// are ignored.
type Attributes map[string]string
