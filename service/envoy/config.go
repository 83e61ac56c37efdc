package envoy

import (
	"fmt"
	"strings"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/weirgo/weir/algorithm"
)

// File is a configuration file. Its name stands in errors.
type File struct{ Name, Text string }

// ConfigError says what is wrong with a File. Its text is the text of the service that
// this package replaces, with the name of the file in front.
type ConfigError struct{ File, Text string }

func (e *ConfigError) Error() string { return e.File + ": " + e.Text }

func (f File) refuse(format string, args ...any) error {
	return &ConfigError{f.Name, fmt.Sprintf(format, args...)}
}

// ParseOptions are the optional settings of Parse. nil means all defaults.
type ParseOptions struct {
	// Strict refuses the key "weir", so that the files stay files of the service that
	// this package replaces.
	Strict bool
	// MergeDomains lets several files describe one domain, as MERGE_DOMAIN_CONFIG does.
	MergeDomains bool
}

// Config is what a set of files says. It is immutable and safe for concurrent use.
type Config struct {
	domains map[string]*node
	names   []string // of the domains, in the order of the files
}

// node is a level of descriptors below a domain or another descriptor.
type node struct {
	children  map[string]*node
	order     []string   // of children
	wildcards []wildcard // of children, in the order of the file
	limit     *rule      // nil for none
	pattern   string     // the whole key, where all values that it matches share one state
}

// wildcard is a key with stars, each of which matches any number of bytes.
type wildcard struct {
	parts []string // between the stars
	node  *node
}

// rule is the limit of a descriptor.
type rule struct {
	fullKey                  string
	unlimited, shadow, quota bool
	replaces                 []string
	metadata                 *structpb.Struct

	limit     *pb.RateLimitResponse_RateLimit // as it is shown; nobody writes to it
	algorithm algorithm.Algorithm             // nil where unlimited
	window    time.Duration                   // of a fixed window; 0 for the other algorithms
	isLog     bool
}

// Parse reads files, in their order. No files give a Config without domains. A mistake
// is a *ConfigError. The cost grows with the text of the files.
func Parse(files []File, opts *ParseOptions) (*Config, error) {
	if opts == nil {
		opts = &ParseOptions{}
	}
	c := &Config{domains: map[string]*node{}}
	for _, f := range files {
		root, err := decode(f, opts.Strict)
		if err != nil {
			return nil, err
		}
		if root.Domain == "" {
			return nil, f.refuse("config file cannot have empty domain")
		}
		domain, known := c.domains[root.Domain]
		switch {
		case !known:
			domain = newNode()
			c.domains[root.Domain] = domain
			c.names = append(c.names, root.Domain)
		case !opts.MergeDomains:
			return nil, f.refuse("duplicate domain '%s' in config file", root.Domain)
		}
		if err := domain.add(f, root.Domain+".", root.Descriptors); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Empty reports whether c has no domain.
func (c *Config) Empty() bool { return len(c.domains) == 0 }

// Dump returns the limits of c, one a line, as /rlconfig shows them, in the order of the
// files.
func (c *Config) Dump() string {
	var b strings.Builder
	for _, name := range c.names {
		c.domains[name].dump(&b)
	}
	return b.String()
}

func (n *node) dump(b *strings.Builder) {
	if r := n.limit; r != nil {
		fmt.Fprintf(b, "%s: unit=%s requests_per_unit=%d, shadow_mode: %t, quota_mode: %t\n",
			r.fullKey, r.limit.GetUnit(), r.limit.GetRequestsPerUnit(), r.shadow, r.quota)
	}
	for _, key := range n.order {
		n.children[key].dump(b)
	}
}

func newNode() *node { return &node{children: map[string]*node{}} }

// add adds descriptors below n, whose full key with a "." at its end is parent.
func (n *node) add(f File, parent string, descriptors []fileDescriptor) error {
	for i := range descriptors {
		d := &descriptors[i]
		if d.Key == "" {
			return f.refuse("descriptor has empty key")
		}
		key := d.Key
		if d.Value != "" {
			key += "_" + d.Value
		}
		full := parent + key
		if n.children[key] != nil {
			return f.refuse("duplicate descriptor composite key '%s'", full)
		}
		child := newNode()
		if d.RateLimit != nil {
			limit, err := newRule(f, full, d)
			if err != nil {
				return err
			}
			child.limit = limit
		}
		if d.ShareThreshold {
			if !strings.Contains(key, "*") {
				return f.refuse("share_threshold can only be used with wildcard values (containing '*'), but found key '%s'", key)
			}
			child.pattern = key
		}
		if strings.Contains(key, "*") {
			n.wildcards = append(n.wildcards, wildcard{strings.Split(key, "*"), child})
		}
		metadata, err := metadataOf(d.Metadata)
		if err != nil {
			return f.refuse("error parsing metadata: %s", err)
		}
		if child.limit != nil {
			child.limit.metadata = metadata
		}
		if err := child.add(f, full+".", d.Descriptors); err != nil {
			return err
		}
		n.children[key] = child
		n.order = append(n.order, key)
	}
	return nil
}

func newRule(f File, full string, d *fileDescriptor) (*rule, error) {
	l := d.RateLimit
	unit := pb.RateLimitResponse_RateLimit_Unit(pb.RateLimitResponse_RateLimit_Unit_value[strings.ToUpper(l.Unit)])
	known := unit != pb.RateLimitResponse_RateLimit_UNKNOWN
	r := &rule{
		fullKey: full, unlimited: l.Unlimited, shadow: d.ShadowMode, quota: d.QuotaMode,
		limit: &pb.RateLimitResponse_RateLimit{RequestsPerUnit: l.RequestsPerUnit, Unit: unit, Name: l.Name},
	}
	switch {
	case l.Unlimited && known:
		return nil, f.refuse("should not specify rate limit unit when unlimited")
	case l.Unlimited && l.Weir != nil:
		return nil, f.refuse("should not specify weir when unlimited")
	case l.Unlimited:
	case l.Weir != nil:
		if l.Unit != "" || l.RequestsPerUnit != 0 {
			return nil, f.refuse("should not specify unit or requests_per_unit beside weir")
		}
		if err := r.parse(l.Weir.Limit); err != nil {
			return nil, f.refuse("invalid weir limit: %s", err)
		}
	case !known:
		return nil, f.refuse("invalid rate limit unit '%s'", l.Unit)
	default:
		if err := r.perUnit(1); err != nil {
			return nil, f.refuse("%s", err) // not for the units that there are
		}
	}
	for _, replaced := range l.Replaces {
		if replaced.Name == "" {
			return nil, f.refuse("should not have an empty replaces entry")
		}
		if replaced.Name == l.Name {
			return nil, f.refuse("replaces should not contain name of same descriptor")
		}
		r.replaces = append(r.replaces, replaced.Name)
	}
	return r, nil
}
