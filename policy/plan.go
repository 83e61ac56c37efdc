package policy

import (
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/divide"
)

// Plan is what a policy says of a request: whether a list answers it, and what to ask of
// which limit. It can be used again for another request.
type Plan struct {
	// List is what a list says; None where the rules decide. There are no Limits then
	// but with None.
	List ListAction
	// Entry is the entry of the list. Its Match is not shown: it may hold personal data.
	Entry ListEntry
	// Limits are those of the rules that apply, in the order of the rules, and inside one
	// rule in the order of names. None of them: the request is unmatched.
	Limits []PlannedLimit
	// Tier is the tier of the request, where one of the Limits asked for it, and
	// TierSource where it comes from.
	Tier       string
	TierSource TierSource
	// UnknownTier reports that the attribute tier, or the look-up of the application,
	// named no tier of the policy.
	UnknownTier bool

	resolution
}

// PlannedLimit is one limit of a Plan.
type PlannedLimit struct {
	// Rule is the ID of the rule, and Name the name or the endpoint of the limit where the
	// rule has several.
	Rule, Name string
	// Action says what to do; ActionAsk is to ask Limit for Cost units for Key.
	Action Action
	// Enforced reports whether the answer counts. If not, the limit is in shadow.
	Enforced bool
	// Limit has the name of the states, RULE or "RULE/NAME" or "RULE ENDPOINT". Without
	// ActionAsk it has no Algorithm.
	Limit weir.Limit
	// Spec is the text of the limit.
	Spec Spec
	// Key is whom it is asked for. It is made of the values of attributes: personal data.
	Key  string
	Cost int64
	// Source is the layer from which the limit comes.
	Source Source
	// When is Scheduled.When, with a space and the Zone where there is one, where the limit is of a schedule;
	// otherwise "".
	When string
	// Until is when an override ends, and Reason its Reason; 0 and "" where the limit comes
	// from no override.
	Until  algorithm.Instant
	Reason string
	// Shards is how many shards the limit has, of which one is asked; 0 where it is not
	// divided. In a RuleVerdict the Algorithm of Limit is that of the shard that was asked.
	Shards int
	// Leased is Rule.Lease.
	Leased bool

	rule  *rule
	spec  *spec
	whole *spec // of which spec is a shard in a RuleVerdict
	shard int   // of Shards; what is asked is Limit for slotKey
}

// slotKey is the key of what is asked.
func (l *PlannedLimit) slotKey() string {
	if l.Shards == 0 {
		return l.Key
	}
	return divide.Key(l.Key, l.shard)
}

// Asks returns the questions to all that the limit has for its Key, each for no unit: one, or
// one for each shard. Reset of a weir.MultiLimiter makes the limit fresh with them. It is
// none where there is nothing to ask.
func (l *PlannedLimit) Asks() []weir.Ask {
	switch {
	case l.Action != ActionAsk || l.Key == "":
		return nil
	case l.Shards == 0:
		return []weir.Ask{l.Limit.ForN(l.Key, 0)}
	}
	asks := make([]weir.Ask, l.Shards)
	for i, part := range l.whole.divided(l.rule.shards).parts {
		asks[i] = weir.Limit{Name: l.Limit.Name, Algorithm: part.algorithm}.ForN(divide.Key(l.Key, i), 0)
	}
	return asks
}

// ListEntry is what is shown of an entry of a list.
type ListEntry struct {
	// Index is the position in Lists.Deny or Lists.Allow.
	Index int
	// Reason is Entry.Reason.
	Reason string
	// Until is when the entry ends; 0 is never.
	Until algorithm.Instant
}

// ListAction is what a list says of a request.
type ListAction int

const (
	// None: no entry matches.
	None ListAction = iota
	// Denied: an entry of Lists.Deny matches.
	Denied
	// Exempt: an entry of Lists.Allow matches.
	Exempt
)

// Action is what to do with a limit.
type Action int

const (
	// ActionAsk asks the limit.
	ActionAsk Action = iota
	// ActionBlock denies: the limit is Block.
	ActionBlock
	// ActionMissing denies: a key attribute is missing, and the rule has DenyMissing.
	ActionMissing
	// ActionExempt admits: the limit is Unlimited.
	ActionExempt
)

// String returns "ask", "block", "missing" or "exempt".
func (a Action) String() string { return nameOf(int(a), "ask", "block", "missing", "exempt") }

// Source is the layer that a limit comes from. A lower layer counts where those above
// have nothing.
type Source int

const (
	// FromRule is the limit of the rule.
	FromRule Source = iota
	// FromTier is the limit of the tier.
	FromTier
	// FromSubject is Subject.Limits.
	FromSubject
	// FromOverride is an Override that has not ended.
	FromOverride
)

// String returns "rule", "tier", "subject" or "override".
func (s Source) String() string { return nameOf(int(s), "rule", "tier", "subject", "override") }

// TierSource is where the tier of a request comes from.
type TierSource int

const (
	// TierUnused: no limit asked for the tier.
	TierUnused TierSource = iota
	// TierFromAttribute is the attribute tier.
	TierFromAttribute
	// TierFromSubject is Policy.Subjects.
	TierFromSubject
	// TierFromLookup is EnforcerOptions.Tiers.
	TierFromLookup
	// TierFromDefault is Policy.DefaultTier.
	TierFromDefault
)

// String returns "unused", "attribute", "subject", "look-up" or "default".
func (s TierSource) String() string {
	return nameOf(int(s), "unused", "attribute", "subject", "look-up", "default")
}

func nameOf(i int, names ...string) string {
	if i < 0 || i >= len(names) {
		return "unknown"
	}
	return names[i]
}
