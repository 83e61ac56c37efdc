package httplimit

import "net/http"

// IsPreflight reports whether a request is the one that a browser sends before a
// request to another origin (CORS). As Options.Skip it keeps such requests from using
// up the limit of their user.
func IsPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// SkipAddresses returns a function for Options.Skip: it is true for clients with one of
// these addresses or prefixes, such as "10.0.0.0/8". c says who the client is; nil
// trusts no proxy.
func SkipAddresses(c *ClientAddress, addresses ...string) (func(*http.Request) bool, error) {
	if c == nil {
		c = defaultAddress
	}
	prefixes, err := parsePrefixes("addresses", addresses)
	if err != nil {
		return nil, err
	}
	return func(r *http.Request) bool {
		client, ok := c.Find(r.RemoteAddr, r.Header)
		return ok && contains(prefixes, client)
	}, nil
}

// SkipAny returns a function for Options.Skip that is true where one of several is.
func SkipAny(all ...func(*http.Request) bool) func(*http.Request) bool {
	return func(r *http.Request) bool {
		for _, skip := range all {
			if skip(r) {
				return true
			}
		}
		return false
	}
}
