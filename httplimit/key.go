package httplimit

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
)

// Key returns whom a request is counted for. ok is false where the request does not
// say; what happens then is for Absent to decide. The key of a Key that returns "" is
// absent, too. It is called concurrently, once for each request.
//
// Put the limiter behind what authenticates, and count by an identity that was
// verified: a client may choose a header, a cookie and a user name anew for every
// request, and so meet a fresh limit each time, or use up the limit of somebody else.
type Key func(r *http.Request) (key string, ok bool)

// Absent says what happens to a request without a key.
type Absent int

const (
	// AbsentDeny refuses the request, with status 403. The default.
	AbsentDeny Absent = iota + 1
	// AbsentSkip lets the request pass this limit uncounted.
	AbsentSkip
	// AbsentShared counts all such requests together, by one key that no request
	// can have otherwise.
	AbsentShared
)

// sharedKey is the key of AbsentShared. Where it is, a key that begins with NUL gets
// another one.
const sharedKey = "\x00shared"

// Everyone is a Key with one key for all requests, for a limit on the whole service.
func Everyone(*http.Request) (string, bool) { return "everyone", true }

// Header returns a Key: the value of a header, without spaces around it. It is absent
// where the header is absent or empty. Where there are several lines the first counts,
// as for http.Header.Get.
func Header(name string) Key {
	name = http.CanonicalHeaderKey(name)
	return func(r *http.Request) (string, bool) {
		value := strings.TrimSpace(r.Header.Get(name))
		return value, value != ""
	}
}

// APIKey is Header for a secret: the key is the SHA-256 of the value, in hex, so that
// neither a store nor a log sees the secret. The scheme of an Authorization header,
// such as "Bearer", is cut off. A secret that is short enough to guess can be guessed
// from its digest, too.
func APIKey(header string) Key {
	header = http.CanonicalHeaderKey(header)
	return func(r *http.Request) (string, bool) {
		value := strings.TrimSpace(r.Header.Get(header))
		if header == "Authorization" {
			if _, credentials, hasScheme := strings.Cut(value, " "); hasScheme {
				value = strings.TrimSpace(credentials)
			}
		}
		return digest(value), value != ""
	}
}

// Cookie returns a Key: the SHA-256 of the value of a cookie, in hex, since a cookie is
// often a secret. It is absent where the cookie is absent or empty.
func Cookie(name string) Key {
	return func(r *http.Request) (string, bool) {
		cookie, err := r.Cookie(name)
		if err != nil || cookie.Value == "" {
			return "", false
		}
		return digest(cookie.Value), true
	}
}

func digest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// BasicUser is a Key: the user name of HTTP basic authentication. Nothing has checked
// it unless something in front of the limiter did.
func BasicUser(r *http.Request) (string, bool) {
	user, _, ok := r.BasicAuth()
	return user, ok && user != ""
}

// PathValue returns a Key: the value of a wildcard of the pattern that has matched,
// such as "tenant" of "/tenants/{tenant}/". The limiter must stand behind the router:
// mux.Handle("/tenants/{tenant}/", limited.Handler(h)).
func PathValue(name string) Key {
	return func(r *http.Request) (string, bool) {
		value := r.PathValue(name)
		return value, value != ""
	}
}

// Pattern is a Key: the pattern that has matched, such as "GET /items/{id}", so that
// all spellings of a path are one key. The limiter must stand behind the router.
func Pattern(r *http.Request) (string, bool) { return r.Pattern, r.Pattern != "" }

// Join returns a Key for the combination of several: two requests have the same key
// where they have the same key for each. It is absent where one of them is.
func Join(keys ...Key) Key {
	return func(r *http.Request) (string, bool) {
		var joined strings.Builder
		for _, key := range keys {
			part, ok := key(r)
			if !ok || part == "" {
				return "", false
			}
			joined.WriteString(strconv.Itoa(len(part))) // "1:a1:b": no two combinations collide
			joined.WriteByte(':')
			joined.WriteString(part)
		}
		return joined.String(), joined.Len() > 0
	}
}

// First returns a Key: the first of several that is present, such as the API key, or
// else the address. Keys of different places in the list never collide.
func First(keys ...Key) Key {
	return func(r *http.Request) (string, bool) {
		for i, key := range keys {
			if found, ok := key(r); ok && found != "" {
				return strconv.Itoa(i) + ":" + found, true
			}
		}
		return "", false
	}
}
