package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
)

// Bounds of a Table. A look-up compares with every caller.
const (
	maxCallers    = 10_000
	maxTableBytes = 4 << 20
	maxToken      = 4096
)

// Table has the callers of a service. It is immutable and safe for concurrent use.
type Table struct {
	callers   []entry
	bySubject map[string]int
	equal     func(a, b []byte) int // subtle.ConstantTimeCompare
}

type entry struct {
	Caller
	hash []byte // of the token; nil where the caller has a subject
}

// file is a table as text.
type file struct {
	Version int          `yaml:"version"`
	Callers []fileCaller `yaml:"callers"`
}

type fileCaller struct {
	Name        string `yaml:"name"`
	TokenSHA256 string `yaml:"token_sha256"`
	Subject     string `yaml:"subject"`
	Role        string `yaml:"role"`
	Tenant      string `yaml:"tenant"`
}

// LoadTable reads a table from a file; see ParseTable.
func LoadTable(name string) (*Table, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("auth: %w", err)
	}
	defer f.Close() // nothing was written
	text, err := io.ReadAll(io.LimitReader(f, maxTableBytes+1))
	if err != nil {
		return nil, fmt.Errorf("auth: %s: %w", name, err)
	}
	t, err := ParseTable(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

// ParseTable reads a table in YAML:
//
//	version: 1
//	callers:
//	  - {name: gateway, token_sha256: 9f86d0…, role: check, tenant: acme}
//	  - {name: ops, subject: "CN=ops,O=Acme", role: write, tenant: acme}
//
// token_sha256 is the SHA-256 of a token in 64 hex digits; subject is the subject of a
// client certificate as RFC 2253 writes it. Each caller has one of the two. A missing
// tenant is DefaultTenant. It is strict: an unknown field, a name or a token that is given
// twice, and a role that does not exist are errors. It has 1 to 10,000 callers and at most
// 4 MiB.
func ParseTable(text []byte) (*Table, error) {
	if len(text) > maxTableBytes {
		return nil, fmt.Errorf("auth: the table has more than %d bytes: must be fewer", maxTableBytes)
	}
	var f file
	if err := yaml.UnmarshalWithOptions(text, &f, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("auth: %s", yaml.FormatError(err, false, false))
	}
	if f.Version != 1 {
		return nil, fmt.Errorf("auth: version %d is not allowed: must be 1", f.Version)
	}
	if len(f.Callers) == 0 || len(f.Callers) > maxCallers {
		return nil, fmt.Errorf("auth: %d callers are not allowed: must be 1 to %d", len(f.Callers), maxCallers)
	}
	t := &Table{bySubject: map[string]int{}, equal: subtle.ConstantTimeCompare}
	names, hashes := map[string]bool{}, map[string]bool{}
	for i, c := range f.Callers {
		e, err := c.entry()
		switch {
		case err != nil:
			return nil, fmt.Errorf("auth: callers[%d].%w", i, err)
		case names[e.Name]:
			return nil, fmt.Errorf("auth: callers[%d].name %q is given twice: must be unique", i, e.Name)
		case e.hash != nil && hashes[string(e.hash)]:
			return nil, fmt.Errorf("auth: callers[%d].token_sha256 is given twice: must be unique", i)
		}
		if _, twice := t.bySubject[c.Subject]; e.hash == nil && twice {
			return nil, fmt.Errorf("auth: callers[%d].subject %q is given twice: must be unique", i, c.Subject)
		}
		names[e.Name] = true
		if e.hash != nil {
			hashes[string(e.hash)] = true
		} else {
			t.bySubject[c.Subject] = i
		}
		t.callers = append(t.callers, e)
	}
	return t, nil
}

func (c fileCaller) entry() (entry, error) {
	e := entry{Caller: Caller{Name: c.Name, Role: Role(c.Role), Tenant: c.Tenant}}
	if !isName(c.Name) {
		return e, fmt.Errorf("name %q is not allowed: must be %s", c.Name, nameAllowed)
	}
	if e.Role != RoleCheck && e.Role != RoleRead && e.Role != RoleWrite {
		return e, fmt.Errorf("role %q is not allowed: must be check, read or write", c.Role)
	}
	if e.Tenant == "" {
		e.Tenant = DefaultTenant
	}
	if e.Tenant != AnyTenant && !isName(e.Tenant) {
		return e, fmt.Errorf("tenant %q is not allowed: must be * or %s", c.Tenant, nameAllowed)
	}
	if (c.TokenSHA256 == "") == (c.Subject == "") {
		return e, errors.New("token_sha256 and subject: must be exactly one of them")
	}
	if c.TokenSHA256 != "" {
		hash, err := hex.DecodeString(c.TokenSHA256)
		if err != nil || len(hash) != sha256.Size {
			return e, errors.New("token_sha256 is not allowed: must be 64 hex digits")
		}
		e.hash = hash
	}
	return e, nil
}

const nameAllowed = "1 to 64 of a-z, A-Z, 0-9, '-', '_', '.', from a letter or a digit on"

// isName reports whether text is the name of a caller or a tenant.
func isName(text string) bool {
	if len(text) < 1 || len(text) > 64 {
		return false
	}
	for i, c := range []byte(text) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || strings.IndexByte("-_.", c) < 0) {
			return false
		}
	}
	return true
}

// byToken returns the caller of a token. It compares with every caller, in constant time
// each: how long it takes says nothing of the token.
func (t *Table) byToken(token string) (Caller, bool) {
	sum := sha256.Sum256([]byte(token))
	found := -1
	for i := range t.callers {
		hash := t.callers[i].hash
		if hash == nil {
			continue
		}
		found = subtle.ConstantTimeSelect(t.equal(hash, sum[:]), i, found)
	}
	if found < 0 {
		return Caller{}, false
	}
	return t.callers[found].Caller, true
}

// bySubjectName returns the caller of a certificate that was verified.
func (t *Table) bySubjectName(subject string) (Caller, bool) {
	i, found := t.bySubject[subject]
	if !found || subject == "" {
		return Caller{}, false
	}
	return t.callers[i].Caller, true
}

// Tenants returns the tenants that the callers have, without AnyTenant, in the order of the
// table.
func (t *Table) Tenants() []string {
	var all []string
	seen := map[string]bool{AnyTenant: true}
	for i := range t.callers {
		if name := t.callers[i].Tenant; !seen[name] {
			seen[name] = true
			all = append(all, name)
		}
	}
	return all
}
