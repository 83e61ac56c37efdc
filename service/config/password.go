package config

import (
	"errors"
	"net/url"
	"strings"
)

// withPassword returns a store URL with a password for its user.
func withPassword(store, password string) (string, error) {
	scheme, rest, found := strings.Cut(store, "://")
	if !found {
		return "", errors.New("the URL has no scheme")
	}
	end := strings.IndexByte(rest, '/')
	if end < 0 {
		end = len(rest)
	}
	user, servers := "", rest
	if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
		user, servers = rest[:at], rest[at+1:]
	}
	if strings.Contains(user, ":") {
		return "", errors.New("store.url has a password, too")
	}
	// A user without a password is no store URL, so the user stands in a field of its own.
	return scheme + "://" + user + ":" + strings.ReplaceAll(url.QueryEscape(password), "+", "%20") + "@" + servers, nil
}
