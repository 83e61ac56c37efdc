package httplimit

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir/policy"
)

// NewPolicy returns a Middleware that asks a policy. The policy sees the method, the host
// and the path of a request, the address of the client as the attribute "ip", and the
// attributes whose Keys find something. address says who the client is behind proxies;
// nil is the peer.
//
// What a request without an attribute gets, and what it costs, is for the policy to say:
// Options.Absent and Options.Cost are refused. A request that the policy blocks has
// status 403. Limits in shadow are in no header. An item of RateLimit whose limit is not
// normal says so: "weir-standing=warning" or "weir-standing=throttled".
//
// A nil Enforcer, the attribute "ip" and a nil Key give an error.
func NewPolicy(e *policy.Enforcer, address *ClientAddress, attributes map[string]Key, opts *Options) (*Middleware, error) {
	opts, err := opts.checked()
	if err != nil {
		return nil, err
	}
	if address == nil {
		address = defaultAddress
	}
	switch {
	case e == nil:
		return nil, refuse("enforcer", "nil", "a *policy.Enforcer")
	case opts.Absent != 0:
		return nil, refuse("Options.Absent", fmt.Sprint(int(opts.Absent)), "0: on_missing of a rule says so")
	case opts.Cost != nil:
		return nil, refuse("Options.Cost", "a function", "nil: cost of a rule says so, by an attribute")
	}
	p := &enforced{enforcer: e, address: address, maxDelay: opts.MaxDelay, headers: opts.Headers.Style == Draft10}
	for name, key := range attributes {
		if name == addressAttribute {
			return nil, refuse("attributes", `"ip"`, "other names: the address of the client is the attribute ip")
		}
		if key == nil {
			return nil, refuse("attributes["+name+"]", "nil", "a Key")
		}
		p.attributes = append(p.attributes, attribute{name, key})
	}
	return newMiddleware(p, opts), nil
}

const addressAttribute = "ip"

// enforced asks a policy.
type enforced struct {
	enforcer   *policy.Enforcer
	address    *ClientAddress
	attributes []attribute
	maxDelay   time.Duration
	headers    bool // RateLimit-Policy is sent
	items      atomic.Pointer[policyItems]
}

type attribute struct {
	name string
	key  Key
}

func (p *enforced) decide(r *http.Request, c *call) {
	known := make(policy.Attributes, len(p.attributes)+1)
	if client, ok := p.address.Find(r.RemoteAddr, r.Header); ok {
		known[addressAttribute] = client.String()
	}
	for _, a := range p.attributes {
		if value, ok := a.key(r); ok {
			known[a.name] = value
		}
	}
	answer, err := p.enforcer.Decide(r.Context(), policy.Request{
		Method: r.Method, Host: r.Host, Path: r.URL.EscapedPath(), Attributes: known, MaxDelay: p.maxDelay,
	})
	if err != nil {
		c.v = Verdict{Err: err}
		return
	}
	c.v = PolicyVerdict(&answer)
	if p.headers {
		c.v.policy = p.fields(&answer)
	}
	if c.settles && answer.Allowed {
		kept := answer // answer stays on the stack
		c.verdict = &kept
	}
}

// PolicyVerdict returns what Headers.Write takes of the answer of a policy, for those who ask a
// policy without a Middleware. It leaves out what is in shadow, and what was not asked.
func PolicyVerdict(answer *policy.Verdict) Verdict {
	v := Verdict{Allowed: answer.Allowed, RetryAfter: answer.RetryAfter, Delay: answer.Delay}
	if answer.List == policy.Denied {
		v.Blocked = blocked
	}
	for i := range answer.Rules {
		rule := &answer.Rules[i]
		switch {
		case !rule.Enforced || rule.Action == policy.ActionExempt:
		case rule.Action == policy.ActionBlock:
			v.Blocked = blocked
		case rule.Action == policy.ActionMissing:
			v.Blocked = missing
		case isShown(rule):
			if i == answer.Binding {
				v.Binding = len(v.Decisions)
			}
			v.Limits = append(v.Limits, rule.Limit)
			v.Decisions = append(v.Decisions, rule.Decision)
			v.standings = append(v.standings, rule.Standing)
		}
	}
	if v.Allowed {
		v.Blocked = ""
	}
	return v
}

// isShown reports whether the headers tell of a limit: not in shadow, and not where it was
// not asked.
func isShown(rule *policy.RuleVerdict) bool { return rule.Enforced && rule.Decided }

// What a client is told that is refused before a limit was asked.
const (
	blocked = "The request is blocked."
	missing = "The request does not say whom it is from."
)

// maxPolicyItems bounds the items that are kept, where policies that differ have one version:
// see policy.CompileOptions.
const maxPolicyItems = 10_000

// policyItems are the items of RateLimit-Policy of one version of a policy: mostly at most as
// many as the policy has limits, with all tiers and exceptions.
type policyItems struct {
	version string
	mu      sync.RWMutex
	texts   map[policyItem]string
}

type policyItem struct {
	limit string
	spec  policy.Spec
}

// fields returns RateLimit-Policy of the limits of PolicyVerdict; "" for none.
func (p *enforced) fields(answer *policy.Verdict) (text string) {
	items := p.items.Load()
	if items == nil || items.version != answer.Version {
		items = &policyItems{version: answer.Version, texts: map[policyItem]string{}}
		p.items.Store(items)
	}
	for i := range answer.Rules {
		if rule := &answer.Rules[i]; isShown(rule) {
			if text != "" {
				text += ", "
			}
			text += items.of(rule)
		}
	}
	return text
}

func (p *policyItems) of(rule *policy.RuleVerdict) string {
	key := policyItem{rule.Limit.Name, rule.Spec}
	p.mu.RLock()
	text, known := p.texts[key]
	p.mu.RUnlock()
	if !known {
		text = string(appendPolicy(nil, &rule.Limit))
		p.mu.Lock()
		if len(p.texts) >= maxPolicyItems {
			clear(p.texts)
		}
		p.texts[key] = text
		p.mu.Unlock()
	}
	return text
}
