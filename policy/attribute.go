package policy

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"net/netip"
	"strings"
	"sync"
)

// attribute is an attribute that a policy uses. Its number is its index in
// attributes.all.
type attribute struct {
	name   string
	typ    AttributeType
	bits   int // of an IPv6 address in a key
	secret bool
}

// builtIn are the attributes that are known without a declaration.
var builtIn = map[string]Attribute{
	"ip": {Type: Address}, "user": {}, "api_key": {}, "org": {}, "tenant": {}, tierAttribute: {},
}

// tierAttribute is the attribute that names a tier.
const tierAttribute = "tier"

// attributes are those of a policy.
type attributes struct {
	all    []attribute
	number map[string]int
	secret *secrets // nil: no attribute is secret
}

// value is the value of an attribute in one request, in canonical form. The zero value is
// no value.
type value struct {
	text string     // of a text; not of an address
	addr netip.Addr // of an address; not valid where the text is none
	set  bool
}

// read returns the canonical value of an attribute.
func (a *attributes) read(number int, text string) value {
	text = strings.Trim(text, " \t")
	if text == "" {
		return value{}
	}
	of := &a.all[number]
	switch {
	case of.typ == Address:
		return value{addr: parseAddress(text), set: true}
	case of.secret:
		return value{text: a.secret.replace(text), set: true}
	}
	return value{text: text, set: true}
}

// secrets replaces values by their HMAC.
type secrets struct{ pool sync.Pool }

type secretHash struct {
	hash hash.Hash
	text []byte
	sum  []byte
}

func newSecrets(key []byte) *secrets {
	key = append([]byte(nil), key...)
	s := &secrets{}
	s.pool.New = func() any { return &secretHash{hash: hmac.New(sha256.New, key)} }
	return s
}

// replace returns 32 hex digits, the first half of the HMAC-SHA-256 of a value.
func (s *secrets) replace(text string) string {
	h := s.pool.Get().(*secretHash)
	defer s.pool.Put(h)
	h.hash.Reset()
	h.text = append(h.text[:0], text...)
	h.hash.Write(h.text)
	clear(h.text)
	h.sum = h.hash.Sum(h.sum[:0])
	var digits [32]byte
	hex.Encode(digits[:], h.sum[:16])
	return string(digits[:])
}
