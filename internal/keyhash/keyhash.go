// Package keyhash hashes keys of limits for pages and logs, so that one can be looked up in
// the other.
package keyhash

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// Of returns 16 hex digits of the HMAC-SHA256 of a key under a secret: enough to tell the
// keys of a service apart. With the secret one can check whether a hash belongs to a guessed key.
// An empty secret is allowed, and then everybody can.
func Of(secret []byte, key string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(key))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}
