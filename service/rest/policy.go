package rest

import (
	"errors"
	"net/http"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/service/problem"
)

// policyError is what is wrong in a policy.
type policyError struct {
	Path       string `json:"path"`
	Detail     string `json:"detail"`
	Line       int    `json:"line,omitempty"`
	Column     int    `json:"column,omitempty"`
	Suggestion string `json:"suggestion,omitempty"`
}

type finding struct {
	Kind   string `json:"kind"`
	Path   string `json:"path"`
	Text   string `json:"text"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// mostErrors bounds the errors of an answer.
const mostErrors = 100

func (c *call) validatePolicy() error {
	text, err := c.body(typeYAML, typeJSON)
	if err != nil {
		return err
	}
	result := struct {
		Valid    bool          `json:"valid"`
		Version  string        `json:"version,omitempty"`
		Errors   []policyError `json:"errors"`
		Findings []finding     `json:"findings"`
	}{Errors: []policyError{}, Findings: []finding{}}
	file, err := policy.Parse(text, c.tenant.Compile)
	var wrong *policy.InvalidError
	switch {
	case errors.As(err, &wrong):
		for _, f := range wrong.Fields[:min(len(wrong.Fields), mostErrors)] {
			result.Errors = append(result.Errors, policyError{f.Path.String(), detailOf(f), f.Line, f.Column, f.Suggestion})
		}
	case err != nil: // an attribute is secret, and the service has no key for it
		result.Errors = append(result.Errors, policyError{Detail: err.Error()})
	default:
		result.Valid, result.Version = true, file.Compiled.Version()
		for _, f := range file.Lint(&policy.LintOptions{At: c.handler.now()}) {
			result.Findings = append(result.Findings, finding{f.Kind, f.Path.String(), f.Text, f.Line, f.Column})
		}
	}
	return c.write(http.StatusOK, result)
}

type explainedRule struct {
	RuleID   string           `json:"rule_id"`
	Applies  string           `json:"applies"`
	Detail   string           `json:"detail,omitempty"`
	Endpoint string           `json:"endpoint,omitempty"`
	Limits   []explainedLimit `json:"limits"`
}

type explainedLimit struct {
	Name     string     `json:"name"`
	Action   string     `json:"action"`
	Spec     string     `json:"spec,omitempty"`
	Source   string     `json:"source"`
	Cost     int64      `json:"cost"`
	Enforced bool       `json:"enforced"`
	When     string     `json:"when,omitempty"`
	Reason   string     `json:"reason,omitempty"`
	Until    *time.Time `json:"until,omitempty"`
}

var lists = map[policy.ListAction]string{policy.None: "none", policy.Denied: "denied", policy.Exempt: "exempt"}

func (c *call) explain() error {
	text, err := c.body(typeJSON)
	if err != nil {
		return err
	}
	f, err := object(text, subjectFields...)
	if err != nil {
		return err
	}
	s := f.subject()
	if err := f.err(); err != nil {
		return err
	}
	e, err := c.tenant.Engine.Explain(c.ctx, s)
	if err != nil {
		return err
	}
	result := struct {
		PolicyVersion string          `json:"policy_version"`
		List          string          `json:"list"`
		Tier          string          `json:"tier,omitempty"`
		Rules         []explainedRule `json:"rules"`
		Text          string          `json:"text"`
	}{c.tenant.Engine.PolicyVersion(), lists[e.List], e.Tier, make([]explainedRule, 0, len(e.Rules)), e.String()}
	for i := range e.Rules {
		r := &e.Rules[i]
		shown := explainedRule{r.Rule, r.Applies.String(), r.Detail, r.Endpoint, make([]explainedLimit, 0, len(r.Limits))}
		for j := range r.Limits {
			l := &r.Limits[j]
			shown.Limits = append(shown.Limits, explainedLimit{
				l.Limit.Name, l.Action.String(), string(l.Spec), source(l.Source), l.Cost, l.Enforced, l.When, l.Reason, until(l.Until),
			})
		}
		result.Rules = append(result.Rules, shown)
	}
	return c.write(http.StatusOK, result)
}

// until is when an override ends; nil for none.
func until(at algorithm.Instant) *time.Time {
	if at == 0 {
		return nil
	}
	t := at.Time()
	return &t
}

// source is the layer that a limit comes from, as this interface calls it.
func source(s policy.Source) string {
	if s == policy.FromSubject {
		return "custom"
	}
	return s.String()
}

// current returns the policy of the tenant as it is now, for what is held against it.
func (c *call) current() (*policy.Policy, error) {
	if c.tenant.Rules != nil {
		f, err := c.tenant.Rules.File(c.ctx)
		if err != nil {
			return nil, err
		}
		return &f.Policy, nil
	}
	if c.tenant.File != nil {
		if f := c.tenant.File(); f != nil {
			return &f.Policy, nil
		}
	}
	return &policy.Policy{Version: policy.FormatVersion}, nil
}

// fits compiles the policy with exceptions for one user, and returns what is wrong in them,
// with the pointer that place makes of a path below the exception.
func (c *call) fits(p *policy.Policy, place func(policy.Path) string) error {
	_, err := policy.Compile(*p, c.tenant.Compile)
	var wrong *policy.InvalidError
	if !errors.As(err, &wrong) {
		return err
	}
	var at []problem.Field
	for _, f := range wrong.Fields {
		if len(f.Path) >= 2 {
			at = append(at, problem.Field{Pointer: place(f.Path[2:]), Detail: detailOf(f)})
		}
	}
	return invalid(at)
}
