package keyhash

import "testing"

// TestHashesTellKeysAndSecretsApart: and are the same in every process.
func TestHashesTellKeysAndSecretsApart(t *testing.T) {
	// printf %s user=ann | openssl dgst -sha256 -hmac secret
	const want = "8409c499401f9489"
	if got := Of([]byte("secret"), "user=ann"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if Of([]byte("secret"), "user=bob") == want || Of([]byte("other"), "user=ann") == want {
		t.Error("another key, or another secret, has the same hash")
	}
}
