package engine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/policy"
)

// Bounds of requests.
const (
	MaxKey            = 1024 // bytes of an identifier, a key, an attribute's name and its value
	MaxEndpoint       = 4096 // bytes of an endpoint
	MaxAttributes     = 32
	MaxIdempotencyKey = 128
)

// Dimension says what an identifier is: the attribute of the policy that it is the value
// of.
type Dimension string

// The dimensions.
const (
	User   Dimension = "USER"
	IP     Dimension = "IP"
	APIKey Dimension = "API_KEY"
	Org    Dimension = "ORG"
)

var attributeOf = map[Dimension]string{User: "user", IP: "ip", APIKey: "api_key", Org: "org"}

// tenantAttribute is the attribute that has the name of the tenant. No caller sets it.
const tenantAttribute = "tenant"

// Subject is a request as a policy sees it.
type Subject struct {
	// Identifier is who asks: 1 to MaxKey bytes.
	Identifier string
	// Dimension is what the Identifier is; required.
	Dimension Dimension
	// Endpoint is what is asked for: the escaped path of a URL without its query, that
	// begins with a slash; or "*" for a request that is not HTTP, which meets the rules
	// without endpoints only. Required, at most MaxEndpoint bytes.
	Endpoint string
	// Method is the HTTP method. "" matches only patterns without one.
	Method string
	// Attributes are further attributes, at most MaxAttributes. That of the Dimension and
	// "tenant" must not be among them.
	Attributes map[string]string
}

// Request is a request that the policy decides.
type Request struct {
	Subject
	// Cost multiplies the cost that each rule has for the request, which is 1 unless the
	// rule says otherwise. nil is 1; 0 is a look; at most algorithm.MaxUnits.
	Cost *int64
	// Once is the idempotency key; nil for none.
	Once *Once
}

// Once names a call, so that it is charged once; see Engine.Check.
type Once struct {
	// Key is the key that the caller chose: 1 to MaxIdempotencyKey visible ASCII characters.
	Key string
	// Caller is who chose it: a name of the token, the same on all nodes. Keys of different
	// callers are different.
	Caller string
	// Method tells calls that come to the same method of the Engine apart, such as Allow and
	// AllowN. "" is the method of the Engine.
	Method string
}

func (o *Once) check(p *problems) {
	if o == nil {
		return
	}
	visible := !strings.ContainsFunc(o.Key, func(r rune) bool { return r <= ' ' || r > '~' })
	if n := len(o.Key); n < 1 || n > MaxIdempotencyKey || !visible {
		p.add("idempotency_key", strconv.Itoa(n)+" bytes long", "1 to "+strconv.Itoa(MaxIdempotencyKey)+" visible ASCII characters")
	}
}

// check appends what is wrong; at is the path of the subject, with a dot behind it, or "".
func (s *Subject) check(at string, p *problems) {
	checkKey(at+"identifier", s.Identifier, p)
	own, known := attributeOf[s.Dimension]
	if !known {
		p.add(at+"dimension", shown(string(s.Dimension)), "USER, IP, API_KEY or ORG")
	}
	switch {
	case s.Endpoint == "":
		p.add(at+"endpoint", "empty", endpointAllowed)
	case len(s.Endpoint) > MaxEndpoint:
		p.add(at+"endpoint", strconv.Itoa(len(s.Endpoint))+" bytes long", endpointAllowed)
	case s.Endpoint[0] != '/' && s.Endpoint != "*":
		p.add(at+"endpoint", "without a slash before it", endpointAllowed)
	}
	if len(s.Method) > 64 || strings.ContainsFunc(s.Method, func(r rune) bool { return r <= ' ' || r > '~' }) {
		p.add(at+"method", strconv.Itoa(len(s.Method))+" bytes long", "at most 64 visible ASCII characters")
	}
	if n := len(s.Attributes); n > MaxAttributes {
		p.add(at+"attributes", strconv.Itoa(n)+" attributes", "at most "+strconv.Itoa(MaxAttributes))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.Attributes)) {
		path := at + "attributes." + name
		switch {
		case len(name) < 1 || len(name) > MaxKey:
			p.add(at+"attributes", "a name "+strconv.Itoa(len(name))+" bytes long", "of names with 1 to "+strconv.Itoa(MaxKey)+" bytes")
		case name == tenantAttribute:
			p.add(path, "given", "absent: the credentials of the caller say which tenant it is")
		case known && name == own:
			p.add(path, "given", "absent: the identifier has it")
		case len(s.Attributes[name]) > MaxKey:
			p.add(path, strconv.Itoa(len(s.Attributes[name]))+" bytes long", "at most "+strconv.Itoa(MaxKey)+" bytes long")
		}
	}
}

const endpointAllowed = "a path that begins with a slash, or \"*\" for a request without one, at most 4096 bytes long"

func checkKey(path, key string, p *problems) {
	if n := len(key); n == 0 {
		p.add(path, "empty", "1 to "+strconv.Itoa(MaxKey)+" bytes long")
	} else if n > MaxKey {
		p.add(path, strconv.Itoa(n)+" bytes long", "1 to "+strconv.Itoa(MaxKey)+" bytes long")
	}
}

func checkUnits(path string, n int64, p *problems) {
	if n < 0 || n > algorithm.MaxUnits {
		p.add(path, strconv.FormatInt(n, 10), fmt.Sprintf("0 to %d", algorithm.MaxUnits))
	}
}

// shown is a short value that is no key.
func shown(text string) string {
	if text == "" {
		return "missing"
	}
	if len(text) > 32 {
		text = text[:32] + "…"
	}
	return strconv.Quote(text)
}

// request is what the policy sees.
func (s *Subject) request(tenant string) policy.Request {
	r := policy.Request{Method: s.Method, Path: s.Endpoint, Attributes: make(policy.Attributes, len(s.Attributes)+2)}
	if s.Endpoint == "*" {
		r.Path, r.Method = "", ""
	}
	maps.Copy(r.Attributes, s.Attributes)
	r.Attributes[attributeOf[s.Dimension]] = s.Identifier
	if tenant != "" {
		r.Attributes[tenantAttribute] = tenant
	}
	return r
}
