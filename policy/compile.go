package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/document/words"
	"github.com/weirgo/weir/store"
)

// CompileOptions are the optional settings of Compile. nil means all defaults.
type CompileOptions struct {
	// Registry reads specs. nil reads those of package algorithm.
	Registry *algorithm.Registry
	// SecretKey is the key of the HMAC that stands for secret attributes, 16 bytes or
	// more. All processes that share a store need the same. Required where an attribute
	// is Secret.
	SecretKey []byte
	// NoLeases refuses rules with Rule.Lease that are not off: where EnforcerOptions.Leases is
	// false, so that what compiles is what an Enforcer takes.
	NoLeases bool
	// Version names the policy in verdicts and metrics. "" is the start of the SHA-256 of
	// the policy.
	Version string
}

// minSecretKey is the least length of CompileOptions.SecretKey.
const minSecretKey = 16

// Compiled is a policy that can decide. It is immutable and safe for concurrent use.
type Compiled struct {
	version     string
	registry    *algorithm.Registry
	attributes  attributes
	tiers       []tier
	tierNumbers map[string]int
	defaultTier int  // -1: there is none
	restricted  bool // some tier has Algorithms
	rules       []rule
	leased      map[string]bool // the names of states of limits that are to be leased
	keys        []key
	subjects    list[subject]
	overrides   list[override]
	deny, allow list[entry]

	index     index     // of the rules
	endpoints endpoints // of those that are not in index
	depth     int       // segments of the longest pattern
}

// Compile checks a policy and prepares it. Whatever is wrong is returned together, as an
// *InvalidError; a wrong option is a store.ErrInvalid. The time that it takes grows with
// the size of the policy.
func Compile(p Policy, opts *CompileOptions) (*Compiled, error) {
	if opts == nil {
		opts = &CompileOptions{}
	}
	if n := len(opts.SecretKey); n < minSecretKey && (n > 0 || hasSecret(p)) {
		return nil, &store.InputError{Op: -1, Field: "CompileOptions.SecretKey", Value: strconv.Itoa(n) + " bytes long",
			Allowed: fmt.Sprintf("%d bytes or more, where an attribute is secret", minSecretKey)}
	}
	c := &compiler{policy: &p, registry: opts.Registry, noLeases: opts.NoLeases, specs: map[Spec]*spec{}, zones: map[string]*time.Location{}, to: &Compiled{version: opts.Version, registry: opts.Registry, defaultTier: -1}}
	if p.Version != FormatVersion {
		c.refuse(Path{"version"}, strconv.Itoa(p.Version), strconv.Itoa(FormatVersion), "")
	}
	c.declare(opts.SecretKey)
	c.compileTiers()
	c.compileRules()
	c.compileExceptions()
	if len(c.errors) > 0 {
		return nil, &InvalidError{Fields: c.errors}
	}
	c.makeIndex()
	if c.to.version == "" {
		version, err := digest(p)
		if err != nil {
			return nil, err
		}
		c.to.version = version
	}
	return c.to, nil
}

func hasSecret(p Policy) bool {
	for _, a := range p.Attributes {
		if a.Secret {
			return true
		}
	}
	return false
}

// digest is the first 12 hex digits of the SHA-256 of a policy. Maps have an order in
// JSON.
func digest(p Policy) (string, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("policy: version: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6]), nil
}

// Version returns the version of the policy: CompileOptions.Version, or a digest of 12
// hex digits.
func (c *Compiled) Version() string { return c.version }

// Leased reports whether the limits of a name, such as weir.Limit.Name and store.Slot.Limit
// have it, are of a rule with Rule.Lease. It is a look-up, for resilience.LeaseOptions.Only.
func (c *Compiled) Leased(limit string) bool { return c.leased[limit] }

// compiler makes a Compiled of a policy, and collects what is wrong.
type compiler struct {
	policy   *Policy
	registry *algorithm.Registry
	noLeases bool // CompileOptions.NoLeases
	to       *Compiled
	errors   []*FieldError
	specs    map[Spec]*spec
	zones    map[string]*time.Location // by their names; nil for a name that is refused
	ids      map[string]int            // the positions of rules
	states   map[string][]int          // the names of states of limits (see ruleLimit.state), and the shards of their rules
	asked    map[string][]int          // the limits of tiers that rules ask for, and the shards of these rules

	tierOrder []int // the tiers, each after the one that it extends
}

func (c *compiler) refuse(at Path, value, allowed, problem string) {
	c.add(&FieldError{Path: at, Value: value, Allowed: allowed, Problem: problem})
}

func (c *compiler) add(e *FieldError) { c.errors = append(c.errors, e) }

// mostExplained is how many errors say which names there are, go round in a cycle or
// conflict: the time and the memory for it grow with the errors and with the names.
const mostExplained = 5 * words.MostMistakes

// unknown refuses a name that is none of those that there are.
func (c *compiler) unknown(at Path, name, what string, among iter.Seq[string]) {
	if len(c.errors) >= mostExplained {
		c.refuse(at, name, "", "unknown "+what)
		return
	}
	known := slices.Compact(slices.Sorted(among))
	allowed := "none: there is no " + what
	if len(known) > 0 {
		allowed = "one of " + listed(known)
	}
	c.add(&FieldError{Path: at, Value: name, Problem: "unknown " + what, Allowed: allowed, Suggestion: words.Nearest(name, known)})
}

// cycle says which names lead from one to the next, and the last of them back to one.
func (c *compiler) cycle(names []string, back string) string {
	if len(c.errors) >= mostExplained {
		return "a cycle"
	}
	return "a cycle: " + strings.Join(append(slices.Clone(names), back), " → ")
}

// listed shows the first of many names.
func listed(names []string) string {
	if len(names) > 12 {
		return strings.Join(names[:12], ", ") + fmt.Sprintf(" and %d more", len(names)-12)
	}
	return strings.Join(names, ", ")
}

// name refuses what is no name.
func (c *compiler) name(at Path, name string) {
	if !words.IsName(name) {
		c.refuse(at, name, words.NameAllowed, "")
	}
}

// declare reads Policy.Attributes.
func (c *compiler) declare(secretKey []byte) {
	a := &c.to.attributes
	a.number = map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(c.policy.Attributes)) {
		at := Path{"attributes", name}
		c.name(at, name)
		declared := c.policy.Attributes[name]
		if declared.Type == "" {
			declared.Type = Text
		}
		switch {
		case declared.Type != Text && declared.Type != Address:
			c.add(&FieldError{Path: at.with("type"), Value: string(declared.Type), Allowed: "text or address",
				Suggestion: words.Nearest(string(declared.Type), []string{string(Text), string(Address)})})
		case declared.Type == Text && declared.IPv6Prefix != 0:
			c.refuse(at.with("ipv6_prefix"), strconv.Itoa(declared.IPv6Prefix), "left out where type is not address", "")
		case declared.IPv6Prefix < 0 || declared.IPv6Prefix > 128:
			c.refuse(at.with("ipv6_prefix"), strconv.Itoa(declared.IPv6Prefix), "1 to 128", "")
		case declared.Type == Address && declared.Secret:
			c.refuse(at.with("secret"), "true", "left out where type is address", "")
		case name == tierAttribute && (declared.Secret || declared.Type != Text):
			c.refuse(at, "", "a text that is not secret: it names a tier", "")
		}
		if declared.Secret && a.secret == nil {
			a.secret = newSecrets(secretKey)
		}
		c.addAttribute(name, declared)
	}
}

func (c *compiler) addAttribute(name string, declared Attribute) int {
	a := &c.to.attributes
	number := len(a.all)
	a.number[name] = number
	bits := declared.IPv6Prefix
	if bits == 0 {
		bits = defaultIPv6Prefix
	}
	a.all = append(a.all, attribute{name: name, typ: declared.Type, bits: bits, secret: declared.Secret})
	return number
}

// attribute returns the number of an attribute that a policy may name, or -1 where it is
// refused.
func (c *compiler) attribute(at Path, name string) int {
	_, declared := c.policy.Attributes[name]
	usual, known := builtIn[name]
	if number, met := c.to.attributes.number[name]; met && (declared || known) { // else it is of a cost only
		return number
	}
	if known {
		return c.addAttribute(name, usual)
	}
	names := slices.Collect(maps.Keys(builtIn))
	for declared := range c.policy.Attributes {
		if _, has := builtIn[declared]; !has {
			names = append(names, declared)
		}
	}
	c.unknown(at, name, "attribute", slices.Values(names))
	return -1
}

// instant reads a time; the zero time gives 0.
func (c *compiler) instant(at Path, t time.Time) algorithm.Instant {
	if t.IsZero() {
		return 0
	}
	i, err := algorithm.InstantOf(t)
	if err != nil {
		c.refuse(at, t.UTC().Format(time.RFC3339Nano), "1970-01-01T00:00:00Z to "+algorithm.MaxInstant.Time().Format(time.RFC3339Nano), "")
		return 0
	}
	if i == 0 { // 0 is no bound
		i = 1
	}
	return i
}
