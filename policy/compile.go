package policy

import (
	"errors"

	"github.com/weirgo/weir/algorithm"
)

// CompileOptions are the optional settings of Compile. nil means all defaults.
type CompileOptions struct {
	// Registry reads specs. nil reads those of package algorithm.
	Registry *algorithm.Registry
	// SecretKey is the key of the HMAC that stands for secret attributes, 16 bytes or
	// more. All processes that share a store need the same. Required where an attribute
	// is Secret.
	SecretKey []byte
	// Version names the policy in verdicts and metrics. "" is the start of the SHA-256 of
	// the policy.
	Version string
}

// Compiled is a policy that can decide. It is immutable and safe for concurrent use.
type Compiled struct {
	version string
}

type rule struct{}

type spec struct{}

var errUnfinished = errors.New("policy: not built yet")

// Compile checks a policy and prepares it. Whatever is wrong is returned together, as an
// *InvalidError; a wrong option is a store.ErrInvalid.
func Compile(p Policy, opts *CompileOptions) (*Compiled, error) { return nil, errUnfinished }

// Version returns the version of the policy: CompileOptions.Version, or a digest of 12
// hex digits.
func (c *Compiled) Version() string { return c.version }

// Resolve writes into p what the policy says of a request at an instant. It is a pure
// function: it reads no clock, does no I/O and asks no store. What p held is lost; its
// memory is used again, so that Resolve allocates the keys of the limits and nothing
// else. The time that it takes depends on the rules that apply, hardly on the others.
func (c *Compiled) Resolve(p *Plan, r Request, at algorithm.Instant) {}
