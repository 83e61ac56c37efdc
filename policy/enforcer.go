package policy

import (
	"context"
	"errors"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/store"
)

// EnforcerOptions are the optional settings of an Enforcer. nil means all defaults.
type EnforcerOptions struct {
	// OnFailure is for rules that do not say what to answer when the store cannot. "" is
	// FailClosed.
	OnFailure OnFailure
	// Local answers where OnFailure is FailLocal: usually a weir.MultiLimiter on a store in
	// memory. Required where the Enforcer or a rule says FailLocal.
	Local weir.Decider
	// Tiers looks up the tier of requests of which neither the attribute tier nor
	// Policy.Subjects knows it. nil: they have Policy.DefaultTier.
	Tiers *TierLookup
	// Clock says when overrides, entries of lists and rules begin and end. nil is the
	// wall clock.
	Clock store.Clock
	// Sequential decides limits in shadow one after the other behind the others, instead
	// of concurrently. It is for deciders that wait for nothing, such as those in memory,
	// and for simulations.
	Sequential bool
	// Standings is how many keys that are not Normal are remembered. 0 is 10,000.
	Standings int
}

// TierLookup is how an application says which tier somebody has.
type TierLookup struct {
	// Attributes are whom the tier depends on; 1 or more. A request that lacks one of
	// them is not looked up.
	Attributes []string
	// Lookup returns the name of a tier, or "" where there is none. It gets the values of
	// the Attributes as the request has them: secrets are not replaced. It must be safe
	// for concurrent use.
	Lookup func(ctx context.Context, who Attributes) (tier string, err error)
	// Life is how long an answer counts. 0 is 60 s. When a look-up fails, an older answer
	// counts on.
	Life time.Duration
	// Entries bounds how many answers are kept. 0 is 10,000.
	Entries int
	// Timeout bounds one look-up. 0 is 100 ms.
	Timeout time.Duration
}

// Enforcer decides requests by a policy. It is safe for concurrent use.
type Enforcer struct{}

// NewEnforcer returns an Enforcer that asks a decider. The decider should be one that
// returns errors (weir.FailClosed, the default of a MultiLimiter): the rules say what to
// answer when the store cannot.
func NewEnforcer(d weir.Decider, c *Compiled, opts *EnforcerOptions) (*Enforcer, error) {
	return nil, errors.New("policy: not built yet")
}

// Decide answers a request: all enforced limits in one Take, all or nothing, and each
// limit in shadow by itself. A refusal is a Verdict. An error means that there is no
// decision, and that Verdict.Allowed is false.
func (e *Enforcer) Decide(ctx context.Context, r Request) (Verdict, error) {
	return Verdict{}, errors.New("policy: not built yet")
}

// Peek returns what Decide would answer now, and changes nothing.
func (e *Enforcer) Peek(ctx context.Context, r Request) (Verdict, error) {
	return Verdict{}, errors.New("policy: not built yet")
}

// Swap replaces the policy, and returns the one before. A request is decided by one of
// the two from start to end. States go on: limits are told apart by their names.
func (e *Enforcer) Swap(c *Compiled) (before *Compiled, err error) {
	return nil, errors.New("policy: not built yet")
}

// Policy returns the policy that decides now.
func (e *Enforcer) Policy() *Compiled { return nil }
