package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/cmd/weir/internal/trace"
	"github.com/weirgo/weir/internal/storeurl"
	"github.com/weirgo/weir/policy"
	memorystore "github.com/weirgo/weir/store/memory"
)

// maxPolicyFields is the most attributes that a trace gives.
const maxPolicyFields = 13

// mostKeys is how many keys a report of a policy shows for a rule.
const mostKeys = 5

// policyReplay decides a trace by one policy, or by two beside each other.
type policyReplay struct {
	names   []string // of attributes, by the fields of a key; method, path and address come first
	host    int      // the field of the host; 0: there is none
	clock   *traceClock
	sides   []*policySide
	request map[int]policy.Request // by the index of a key
	given   map[string]bool        // the attributes that some line has
}

// policySide is a policy and what it decided. Its fields are those of the JSON report.
type policySide struct {
	File      string      `json:"policy"`
	Version   string      `json:"version"`
	Allowed   int64       `json:"allowed"`
	Denied    int64       `json:"denied"`
	Listed    int64       `json:"denied_by_a_list"`
	Exempt    int64       `json:"exempt"`
	Unmatched int64       `json:"met_no_rule"`
	NewDenied int64       `json:"newly_denied,omitempty"`  // allowed by the first policy
	NewPassed int64       `json:"newly_allowed,omitempty"` // denied by the first policy
	Rules     []*ruleHits `json:"rules"`

	// Absent are the attributes that the policy uses and no line gave.
	Absent []string `json:"absent_attributes,omitempty"`

	file     *policy.File
	enforcer *policy.Enforcer
	byName   map[string]*ruleHits
}

// ruleHits is what one limit of a rule did.
type ruleHits struct {
	Limit     string `json:"limit"` // its name: the rule, and what tells several of one rule apart
	Requests  int64  `json:"requests"`
	Denied    int64  `json:"denied"`
	Shadow    int64  `json:"would_deny"`             // in shadow
	NewDenied int64  `json:"newly_denied,omitempty"` // requests that the first policy allowed, and this limit denied
	Keys      int    `json:"keys"`
	KeysHit   int    `json:"keys_hit"`
	Most      []hit  `json:"most_denied"`

	keys map[string]*hit
}

// hit is what a limit did to one key.
type hit struct {
	Key      string `json:"key"`
	Requests int64  `json:"requests"`
	Denied   int64  `json:"denied"`
}

// replayPolicies decides a trace by policies.
func (c *traceCommand) replayPolicies(ctx context.Context, s *streams) (err error) {
	for _, o := range s.given {
		switch flag := o.flag(); flag {
		case "--limit", "--html", "--decisions", "--key", "--prefix", "--cost-column":
			return usageError{fmt.Errorf("%s does not go with --policy: must be left out", flag)}
		}
	}
	if c.Store != storeurl.Memory {
		return usageError{fmt.Errorf("--store: %q does not go with --policy: must be %s", storeurl.Guard(c.Store), storeurl.Memory)}
	}
	if err := checkStandardInput(slices.Concat(c.Policy, c.Trace)); err != nil {
		return err
	}
	p := &policyReplay{clock: &traceClock{}, request: map[int]policy.Request{}, given: map[string]bool{}, names: []string{"", "", "ip"}}
	if err := p.fields(&c.traceFlags, c.Attr); err != nil {
		return err
	}
	flags := []outputFlag{{"--json", c.JSON}}
	for _, name := range c.Policy {
		side, err := p.open(ctx, s, name, flags)
		if err != nil {
			return err
		}
		defer side.close()
		p.sides = append(p.sides, side.policySide)
	}
	in, err := c.open(ctx, s, flags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	files, err := openOutputs(s, flags)
	if err != nil {
		return err
	}
	defer files.abandon()
	if err := in.each(ctx, s.err, p.clock, func(e trace.Event) error { return p.decide(ctx, e) }); err != nil {
		return err
	}
	for _, side := range p.sides {
		side.finish(p.given)
	}
	source := c.source(in)
	source.Key = "the fields of --attr"
	if err := files.finishJSON(struct {
		report.Source
		Policies []*policySide `json:"policies"`
	}{source, p.sides}); err != nil {
		return err
	}
	if w := textOutput(s, flags); w != nil {
		if err := p.writeText(w, source); err != nil {
			return err
		}
	}
	return in.usable()
}

// fields says which fields of a line are which attributes. The method, the path and the
// address are the parts of an access log line, unless --attr names others.
func (p *policyReplay) fields(f *traceFlags, attrs []string) error {
	f.fields = []string{trace.KeyMethod, trace.KeyPath, trace.KeyHost}
	given := map[string]bool{}
	for _, text := range attrs {
		name, field, has := strings.Cut(text, "=")
		if !has || name == "" || field == "" {
			return usageError{fmt.Errorf("--attr: %q is not allowed: must be NAME=FIELD", text)}
		}
		if given[name] {
			return usageError{fmt.Errorf("--attr: %s was given twice: must be once", name)}
		}
		given[name] = true
		switch name {
		case "method":
			f.fields[0] = field
		case "path":
			f.fields[1] = field
		case "ip":
			f.fields[2] = field
		default:
			if name == "host" {
				p.host = len(f.fields)
			}
			p.names, f.fields = append(p.names, name), append(f.fields, field)
		}
	}
	if len(attrs) > maxPolicyFields {
		return usageError{fmt.Errorf("--attr was given %d times: must be at most %d", len(attrs), maxPolicyFields)}
	}
	return nil
}

// openSide is a side with what has to be closed.
type openSide struct {
	*policySide
	close func()
}

func (p *policyReplay) open(ctx context.Context, s *streams, name string, outputs []outputFlag) (*openSide, error) {
	file, err := loadPolicy(ctx, s, name, nil, outputs...)
	if err != nil {
		return nil, err
	}
	states, err := memorystore.New(&memorystore.Options{Clock: p.clock})
	if err != nil {
		return nil, err
	}
	decider, err := weir.NewMultiLimiter(states, &weir.Options{Timeout: callTimeout})
	if err != nil {
		return nil, err
	}
	side := &policySide{File: shownName(name), file: file, Version: file.Compiled.Version(), byName: map[string]*ruleHits{}}
	// In memory nothing fails, so nobody is asked in place of the store.
	side.enforcer, err = policy.NewEnforcer(decider, file.Compiled, &policy.EnforcerOptions{
		Clock: p.clock, Local: decider, Sequential: true,
		Leases: true,                             // a process alone is answered the same with and without leases
		Random: rand.New(rand.NewPCG(1, 1)).IntN, // a trace has one result
	})
	if err != nil {
		return nil, err
	}
	return &openSide{side, func() { _ = states.Close() }}, nil // in memory
}

// of makes a request of the fields of an event, once for each key.
func (p *policyReplay) of(e trace.Event) policy.Request {
	if r, known := p.request[e.KeyIndex]; known {
		return r
	}
	fields := trace.SplitFields(e.Key)
	r := policy.Request{Method: fields[0], Path: withoutQuery(fields[1]), Attributes: policy.Attributes{}}
	if p.host > 0 {
		r.Host = fields[p.host]
	}
	for i, name := range p.names[2:] {
		if fields[i+2] != "" {
			r.Attributes[name], p.given[name] = fields[i+2], true
		}
	}
	p.request[e.KeyIndex] = r
	return r
}

// withoutQuery returns the path of a request target.
func withoutQuery(target string) string {
	path, _, _ := strings.Cut(target, "?")
	return path
}

func (p *policyReplay) decide(ctx context.Context, e trace.Event) error {
	request := p.of(e)
	first := false
	for i, side := range p.sides {
		v, err := side.enforcer.Decide(ctx, request)
		if err == nil {
			err = v.Cause
		}
		if err != nil {
			return fmt.Errorf("%s: %w", side.File, err)
		}
		newly := i > 0 && first && !v.Allowed
		side.add(&v, newly)
		switch {
		case i == 0:
			first = v.Allowed
		case newly:
			side.NewDenied++
		case !first && v.Allowed:
			side.NewPassed++
		}
	}
	return nil
}

// add counts an answer.
func (side *policySide) add(v *policy.Verdict, newly bool) {
	switch {
	case v.Allowed:
		side.Allowed++
	default:
		side.Denied++
	}
	switch {
	case v.List == policy.Denied:
		side.Listed++
	case v.List == policy.Exempt:
		side.Exempt++
	case len(v.Rules) == 0:
		side.Unmatched++
	}
	for i := range v.Rules {
		r := &v.Rules[i]
		hits := side.byName[r.Limit.Name]
		if hits == nil {
			hits = &ruleHits{Limit: r.Limit.Name, keys: map[string]*hit{}}
			side.byName[r.Limit.Name] = hits
		}
		key := hits.keys[r.Key]
		if key == nil {
			key = &hit{Key: r.Key}
			hits.keys[r.Key] = key
		}
		hits.Requests++
		key.Requests++
		denies := !r.Allowed && (r.Decided || r.Action == policy.ActionBlock || r.Action == policy.ActionMissing)
		switch {
		case !denies:
			continue
		case r.Enforced:
			hits.Denied++
		default:
			hits.Shadow++
		}
		key.Denied++
		if newly && r.Enforced {
			hits.NewDenied++
		}
	}
}

// finish sorts what was counted.
func (side *policySide) finish(given map[string]bool) {
	for _, name := range slices.Sorted(maps.Keys(usedAttributes(&side.file.Policy))) {
		if !given[name] {
			side.Absent = append(side.Absent, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(side.byName)) {
		hits := side.byName[name]
		hits.Keys = len(hits.keys)
		for _, key := range hits.keys {
			if key.Denied > 0 {
				hits.KeysHit++
				hits.Most = append(hits.Most, *key)
			}
		}
		slices.SortFunc(hits.Most, func(a, b hit) int { return cmp.Or(cmp.Compare(b.Denied, a.Denied), cmp.Compare(a.Key, b.Key)) })
		hits.Most = hits.Most[:min(len(hits.Most), mostKeys)]
		side.Rules = append(side.Rules, hits)
	}
}

// usedAttributes are the attributes that an answer of a policy may depend on.
func usedAttributes(p *policy.Policy) map[string]bool {
	used := map[string]bool{}
	conditions := func(c policy.Conditions) {
		for name := range c {
			used[name] = true
		}
	}
	for _, r := range p.Rules {
		if r.Mode == policy.Off {
			continue
		}
		conditions(r.Match.Attributes)
		for _, name := range append(slices.Clone(r.Key), r.Colocate, r.Cost.Attribute) {
			used[name] = true
		}
		for _, limit := range slices.Concat([]policy.LimitRef{r.Limit}, slices.Collect(maps.Values(r.Limits)), slices.Collect(maps.Values(r.Endpoints))) {
			if limit.Tier != "" && len(p.Tiers) > 1 {
				used["tier"] = true
			}
		}
	}
	for _, where := range exceptions(p) {
		conditions(where)
	}
	delete(used, "") // no Colocate, no Cost.Attribute
	return used
}

// writeText writes the report: what came of the requests, and what each limit did.
func (p *policyReplay) writeText(w io.Writer, source report.Source) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s, %s: %s", report.Quoted(source.Trace), source.Format, report.Count(source.Lines, "line"))
	if source.Bad > 0 {
		fmt.Fprintf(&text, ", of which %d cannot be used", source.Bad)
	}
	text.WriteString("\n")
	if source.Misfit != "" {
		fmt.Fprintf(&text, "%s\n", source.Misfit)
	}
	for i, side := range p.sides {
		fmt.Fprintf(&text, "\npolicy %s, version %s\n", report.Quoted(side.File), side.Version)
		fmt.Fprintf(&text, "allowed %d, denied %d, of which %d by a list; %d exempt, %d met no rule\n",
			side.Allowed, side.Denied, side.Listed, side.Exempt, side.Unmatched)
		if len(side.Absent) > 0 {
			fmt.Fprintf(&text, "no line has %s, which the policy uses: --attr NAME=FIELD says which field has it\n", strings.Join(side.Absent, ", "))
		}
		if i > 0 {
			fmt.Fprintf(&text, "beside the first policy: %d newly denied, %d newly allowed\n", side.NewDenied, side.NewPassed)
		}
		side.writeRules(&text, i > 0)
	}
	_, err := io.WriteString(w, report.Visible(text.String()))
	return err
}

func (side *policySide) writeRules(text *strings.Builder, compared bool) {
	if len(side.Rules) == 0 {
		return
	}
	rows := tabwriter.NewWriter(text, 0, 0, 2, ' ', tabwriter.AlignRight)
	header := "limit\trequests\tdenied\tin shadow\tkeys\tkeys hit\t"
	if compared {
		header += "newly denied\t"
	}
	fmt.Fprintln(rows, header)
	for _, r := range side.Rules {
		fmt.Fprintf(rows, "%s\t%d\t%d\t%d\t%d\t%d\t", r.Limit, r.Requests, r.Denied, r.Shadow, r.Keys, r.KeysHit)
		if compared {
			fmt.Fprintf(rows, "%d\t", r.NewDenied)
		}
		fmt.Fprintln(rows)
	}
	_ = rows.Flush() // into memory
	for _, r := range side.Rules {
		for _, k := range r.Most {
			fmt.Fprintf(text, "most denied by %s: %s, %d of %d\n", r.Limit, report.Quoted(k.Key), k.Denied, k.Requests)
		}
	}
}
