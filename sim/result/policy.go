package result

// Policy is what a policy did to the attempts of a run.
type Policy struct {
	Version string `json:"version"`
	// DeniedByList and Exempt counts the attempts that an entry of the deny list denied, and
	// that one of the allow list let through; Unmatched those that no rule applied to.
	DeniedByList int64 `json:"denied_by_a_list"`
	Exempt       int64 `json:"exempt"`
	Unmatched    int64 `json:"met_no_rule"`
	// Rules has an entry for each limit of each rule, in the order of the policy.
	Rules []Rule `json:"rules"`
}

// Rule is one limit of a rule.
type Rule struct {
	// Limit is its name: the ID of the rule, and what tells several limits of one apart. It
	// is the name of Limits of the result, one for each spec that tiers, subjects and
	// overrides have given it.
	Limit string `json:"limit"`
	Mode  string `json:"mode"`
	// Requests counts the attempts that it applied to, Denied those that it denied where it
	// was enforced, and WouldDeny those that it would have denied in shadow.
	Requests  int64 `json:"requests"`
	Denied    int64 `json:"denied"`
	WouldDeny int64 `json:"would_deny"`
	// Degraded counts answers of a failure mode, and ShadowErrors those that a limit in
	// shadow did not have.
	Degraded     int64 `json:"degraded"`
	ShadowErrors int64 `json:"shadow_errors"`
	// Subjects is how many subjects it applied to.
	Subjects int64 `json:"subjects"`
}
