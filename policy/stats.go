package policy

import "sync/atomic"

// Stats are what an Enforcer has counted since it was made. Peeks are not counted.
type Stats struct {
	// Decisions are the requests that were answered, and Errors those that were not.
	Decisions, Errors int64
	// Denied are the Decisions that were no; DeniedByList those of them that an entry of
	// Lists.Deny denied. Exempt were let through by Lists.Allow.
	Denied, DeniedByList, Exempt int64
	// Unmatched are the requests that no rule applied to.
	Unmatched int64
	// Degraded are the Decisions that an OnFailure made.
	Degraded int64
	// ShadowDenied are the answers of limits in shadow that were no, and ShadowErrors those
	// that there were not.
	ShadowDenied, ShadowErrors int64
	// UnknownTiers are the requests whose tier the policy does not have.
	UnknownTiers int64
	// Lookups are the calls of SubjectLookup.Lookup, and LookupErrors those that failed.
	Lookups, LookupErrors int64
	// Standings is how many keys that are not Normal are remembered now.
	Standings int64
}

type counters struct {
	decisions, errors, denied, deniedByList, exempt, unmatched, degraded, shadowDenied, shadowErrors, unknownTiers atomic.Int64
}

func (c *counters) count(p *Plan, v *Verdict, err error) {
	if p.UnknownTier {
		c.unknownTiers.Add(1)
	}
	for i := range v.Rules {
		r := &v.Rules[i]
		if r.Enforced {
			continue
		}
		if r.Err != nil {
			c.shadowErrors.Add(1)
		} else if !r.Allowed {
			c.shadowDenied.Add(1)
		}
	}
	if err != nil {
		c.errors.Add(1)
		return
	}
	c.decisions.Add(1)
	for _, each := range []struct {
		is      bool
		counter *atomic.Int64
	}{
		{!v.Allowed, &c.denied},
		{v.List == Denied, &c.deniedByList},
		{v.List == Exempt, &c.exempt},
		{v.List == None && len(v.Rules) == 0, &c.unmatched},
		{v.Degraded, &c.degraded},
	} {
		if each.is {
			each.counter.Add(1)
		}
	}
}

// Stats returns what was counted. The numbers are read one after the other.
func (e *Enforcer) Stats() Stats {
	c := &e.counters
	s := Stats{
		Decisions: c.decisions.Load(), Errors: c.errors.Load(), Denied: c.denied.Load(), DeniedByList: c.deniedByList.Load(),
		Exempt: c.exempt.Load(), Unmatched: c.unmatched.Load(), Degraded: c.degraded.Load(), ShadowDenied: c.shadowDenied.Load(),
		ShadowErrors: c.shadowErrors.Load(), UnknownTiers: c.unknownTiers.Load(), Standings: e.standings.count.Load(),
	}
	if e.subjects != nil {
		s.Lookups, s.LookupErrors = e.subjects.lookups.Load(), e.subjects.errors.Load()
	}
	return s
}
