package policy

import "time"

// FormatVersion is the Version of the policies that this package reads.
const FormatVersion = 1

// Policy is a policy as data. Compile makes of it what can decide; it refuses what no
// policy can mean. The zero value but for the Version is a policy that allows
// everything. A Policy must not be changed while Compile reads it; a Compiled keeps
// nothing of it.
//
// Names (of attributes, tiers, limits and rules) are 1 to 64 of a-z, A-Z, 0-9, '-', '_'
// and '.', and start with a letter or a digit.
type Policy struct {
	// Version is the version of the format: FormatVersion.
	Version int `json:"version"`
	// Attributes declares attributes of requests. Known without a declaration are ip,
	// which is an address, and user, api_key, org, tenant and tier, which are texts. Any
	// other attribute that a rule, an entry, a subject or an override names has to be
	// declared; the attribute of a Cost need not be.
	Attributes map[string]Attribute `json:"attributes,omitempty"`
	// DefaultTier is the tier of requests that have no other. Required where a limit
	// comes from the tier.
	DefaultTier string `json:"default_tier,omitempty"`
	// Tiers are the tiers by name.
	Tiers map[string]Tier `json:"tiers,omitempty"`
	// Rules are the rules. Every rule that matches applies; their order is the order of
	// the answers.
	Rules []Rule `json:"rules,omitempty"`
	// Subjects gives tiers and limits of their own to somebody. The first that matches
	// and has a tier gives the tier; the first that matches and has a limit gives it.
	Subjects []Subject `json:"subjects,omitempty"`
	// Overrides replace limits of rules for somebody and for some time. The first that
	// matches and has not ended counts.
	Overrides []Override `json:"overrides,omitempty"`
	// Lists are looked at before all rules.
	Lists Lists `json:"lists,omitzero"`
}

// Attribute declares one attribute of requests.
type Attribute struct {
	// Type says how values are read. The zero value is Text.
	Type AttributeType `json:"type,omitempty"`
	// IPv6Prefix is how many bits of an IPv6 address tell clients apart, 1 to 128.
	// 0 is 64. Only for addresses.
	IPv6Prefix int `json:"ipv6_prefix,omitempty"`
	// Secret attributes, such as API keys, are replaced by their HMAC under
	// CompileOptions.SecretKey before anything else sees them: no store, log or metric
	// does. Only for texts.
	Secret bool `json:"secret,omitempty"`
}

// Tier is a set of limits by name, for those who have the tier.
type Tier struct {
	// Extends names the tier whose limits and algorithms count where this one has
	// none.
	Extends string `json:"extends,omitempty"`
	// Limits are specs by the name that rules ask for.
	Limits map[string]Spec `json:"limits,omitempty"`
	// Schedule has other numbers for Limits, also for those of the tier that this one extends,
	// at some times of the week. The first entry that has a limit and whose time it is counts.
	// Where this tier has a limit, the entries of the tier that it extends do not count for it. At
	// most 100 entries.
	Schedule []Scheduled `json:"schedule,omitempty"`
	// Algorithms, where there are any, are the only ones that limits of subjects and
	// overrides may use for those who have the tier: names such as "gcra". Another one
	// is passed over.
	Algorithms []string `json:"algorithms,omitempty"`
}

// Rule limits the requests that it matches. Exactly one of Limit, Limits and Endpoints
// says how.
type Rule struct {
	// ID names the rule in answers, logs and metrics, and the states of its limits: a
	// rule with a new ID starts fresh. It is unique.
	ID string `json:"id"`
	// Match says which requests the rule is for; the zero value matches all.
	Match Match `json:"match,omitzero"`
	// Key are the attributes that tell those who are limited apart. Without any, all
	// requests share one state.
	Key []string `json:"key,omitempty"`
	// Limit is the one limit of the rule.
	Limit LimitRef `json:"limit,omitzero"`
	// Limits are several limits by name, which all have to admit a request.
	Limits map[string]LimitRef `json:"limits,omitempty"`
	// Endpoints are limits by endpoint pattern. The most specific pattern that matches
	// a request counts, and a request that none matches does not meet the rule.
	// Match.Endpoints must be empty.
	Endpoints map[string]LimitRef `json:"endpoints,omitempty"`
	// Schedule has other numbers for the limits of the rule at some times of the week. The
	// first entry that has a limit and whose time it is counts. Limits of a tier alone are for
	// Tier.Schedule. At most 100 entries.
	Schedule []Scheduled `json:"schedule,omitempty"`
	// Cost is what a request costs. The zero value is 1 unit.
	Cost Cost `json:"cost,omitzero"`
	// OnMissing says what to do with a request without one of the Key attributes. The
	// zero value is SkipMissing.
	OnMissing OnMissing `json:"on_missing,omitempty"`
	// OnFailure says what to answer when the store cannot. The zero value is that of the
	// Enforcer.
	OnFailure OnFailure `json:"on_failure,omitempty"`
	// Mode says whether the rule counts. The zero value is Enforce.
	Mode Mode `json:"mode,omitempty"`
	// Active bounds the rule in time; the zero value does not.
	Active Active `json:"active,omitzero"`
	// Replaces names rules that do not apply where this one does. A rule in shadow
	// replaces only rules in shadow: it never changes an answer.
	Replaces []string `json:"replaces,omitempty"`
	// Colocate names an attribute whose value decides where a cluster keeps the states of
	// the rule: rules that share it are decided in one call. The attribute belongs to the
	// key, whether Key names it or not.
	Colocate string `json:"colocate,omitempty"`
	// Shards, 2 to 256, divides each limit of the rule into that many, of which an Enforcer
	// asks one, chosen at random: a key that one server of a cluster cannot keep up with
	// is spread over several. All shards together admit at most the limit, and deny some
	// requests earlier. A limit with fewer units, or a smaller burst, than Shards has as
	// many shards as units. 0 is a limit that is not divided. Leaky buckets and algorithms of
	// users cannot be divided. States with another number of shards start partly fresh.
	Shards int `json:"shards,omitempty"`
	// Lease asks for the limits of the rule to be leased by each process, where the decider
	// of the Enforcer has leases: see EnforcerOptions.Leases and Compiled.Leased. Not with
	// Shards.
	Lease bool `json:"lease,omitempty"`
	// WarnAt and CalmAt are percent of a limit, 1 to 100: a request that leaves WarnAt or
	// more of it used has the standing Warning, until less than CalmAt is used. 0 is 80
	// and 70. CalmAt must not be above WarnAt.
	WarnAt int `json:"warn_at,omitempty"`
	CalmAt int `json:"calm_at,omitempty"`
}

// LimitRef is a limit: a Spec, or the name of a limit of the tier. With both, the Spec
// counts for tiers that have no such limit.
type LimitRef struct {
	Spec Spec   `json:"spec,omitempty"`
	Tier string `json:"tier,omitempty"`
}

// Scheduled gives other numbers to limits at some times of the week. The states run on: a
// limit has the same algorithm all the time, and a window the same period, or it is Block or
// Unlimited. Which numbers a request meets is decided at the instant of the Enforcer.
type Scheduled struct {
	// When are days, times of the day or both, such as "Mon-Fri 08:00-18:00", "Sat-Sun" and
	// "22:00-06:00", up to 50 with a comma between. Days are Mon to Sun. A time until one that is
	// not later ends on the next day, and belongs to the day on which it begins. Times are those
	// that clocks in Zone show: of an hour that clocks show twice both count, and one
	// that they skip never comes. The end does not belong to it. Required.
	When string `json:"when"`
	// Zone is the name of a zone of the IANA database, as algorithm.LoadZone takes it. "" is UTC.
	Zone string `json:"zone,omitempty"`
	// Limit is the limit of a rule that has one.
	Limit Spec `json:"limit,omitempty"`
	// Limits are limits by name: of a tier, or of a rule that has several or one for each
	// endpoint.
	Limits map[string]Spec `json:"limits,omitempty"`
}

// Match says which requests a rule is for: those that match one of the Endpoints, if
// there are any, and all of the Attributes.
type Match struct {
	// Endpoints are patterns of net/http.ServeMux, such as "POST /login", "/api/" and
	// "GET example.com/orders/{id}", with its meaning and precedence. Hosts are compared
	// in lower case and without a port.
	Endpoints []string `json:"endpoints,omitempty"`
	// Attributes are conditions by attribute.
	Attributes Conditions `json:"attributes,omitempty"`
}

// Conditions are what attributes must be, by name; all of them have to hold. The values
// of one attribute are alternatives: a value, "*" for any, "" for none; a value after
// '!' is excluded. A list of excluded values alone matches everything else, also a
// request without the attribute. An address is a value of its own or in CIDR form.
type Conditions map[string][]string

// Cost is how many units a request costs.
type Cost struct {
	// Attribute has the cost, as a decimal whole number. A request without it, or with a
	// text that is no number or below 0, costs Default. 0 is a look, which charges
	// nothing and is never denied.
	Attribute string `json:"attribute,omitempty"`
	// Default is 1 to 10^12. 0 is 1 where there is no Attribute, and refused where there
	// is one.
	Default int64 `json:"default,omitempty"`
	// Max, 1 to 10^12, is what a higher cost is cut down to. 0 is 10^12. Only with an
	// Attribute.
	Max int64 `json:"max,omitempty"`
}

// Active is the time in which a rule counts: from From, before Until. A zero time does
// not bound it. Times are cut down to whole microseconds.
type Active struct {
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// Subject gives a tier, limits, or both to those whom Match is about.
type Subject struct {
	Match Conditions `json:"match"`
	Tier  string     `json:"tier,omitempty"`
	// Limits are specs by name: the ID of a rule with one limit, "RULE/NAME" for one of
	// several limits of a rule, or the name of a limit of the tiers. The first of these
	// that is there counts.
	Limits map[string]Spec `json:"limits,omitempty"`
}

// Override replaces a limit of a rule for those whom Match is about, until it ends.
type Override struct {
	// Rule is the ID of the rule.
	Rule string `json:"rule"`
	// Name is the name or the endpoint of the limit, where the rule has several. "" is
	// all of them, and the Limit then Block or Unlimited.
	Name  string     `json:"name,omitempty"`
	Match Conditions `json:"match"`
	Limit Spec       `json:"limit"`
	// Until is when the override ends; required. At that instant it has ended. Times are
	// cut down to whole microseconds.
	Until  time.Time `json:"until"`
	Reason string    `json:"reason,omitempty"`
}

// Lists are exceptions for whole requests. A live entry of Deny that matches denies,
// whatever else there is; otherwise a live entry of Allow exempts from all rules. Neither
// touches a state.
type Lists struct {
	Deny  []Entry `json:"deny,omitempty"`
	Allow []Entry `json:"allow,omitempty"`
}

// Entry is an entry of a list.
type Entry struct {
	Match Conditions `json:"match"`
	// Until is when the entry ends; the zero time is never. Times are cut down to whole
	// microseconds.
	Until  time.Time `json:"until,omitzero"`
	Reason string    `json:"reason,omitempty"`
}
