package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/service/problem"
	"github.com/weirgo/weir/service/users"
)

// Bounds of overrides.
const (
	longestOverride = 90 * 24 * time.Hour
	mostReason      = 1024 // bytes
	mostCustom      = 100  // limits of a user's own
)

type userLimit struct {
	RuleID        string     `json:"rule_id"`
	Name          string     `json:"name,omitempty"`
	Algorithm     string     `json:"algorithm"`
	Limit         int64      `json:"limit"`
	WindowSeconds float64    `json:"window_seconds,omitempty"`
	Source        string     `json:"source"`
	When          string     `json:"when,omitempty"`
	OverrideID    string     `json:"override_id,omitempty"`
	ExpiresAt     *time.Time `json:"expires_at,omitempty"`
	Remaining     *int64     `json:"remaining,omitempty"`
	ResetAt       *int64     `json:"reset_at,omitempty"`
}

func (c *call) userLimits() error {
	id, err := c.user()
	if err != nil {
		return err
	}
	if _, err := c.query(nil); err != nil {
		return err
	}
	var record users.Record
	if c.tenant.Users != nil {
		if record, err = c.tenant.Users.Get(c.ctx, id); err != nil {
			return err
		}
	}
	v, err := c.tenant.Engine.Survey(c.ctx, id)
	if err != nil {
		return err
	}
	result := struct {
		Tier   string      `json:"tier"`
		Limits []userLimit `json:"limits"`
	}{v.Tier, []userLimit{}}
	for i := range v.Rules {
		result.Limits = append(result.Limits, userLimitOf(&v.Rules[i], &record))
	}
	return c.write(http.StatusOK, result)
}

func userLimitOf(r *policy.RuleVerdict, record *users.Record) userLimit {
	l := userLimit{RuleID: r.Rule, Name: r.Name, Source: source(r.Source), When: r.When, ExpiresAt: until(r.Until)}
	switch r.Action {
	case policy.ActionAsk:
		l.Algorithm, _, _ = strings.Cut(string(r.Spec), ":")
		_, fresh := r.Limit.Algorithm.Step(algorithm.State{}, 0, algorithm.Request{})
		l.Limit = fresh.Limit
		l.WindowSeconds = windowSeconds(r.Limit.Algorithm.Spec(), fresh.Limit)
	case policy.ActionExempt:
		l.Algorithm = "unlimited"
	default:
		l.Algorithm = "block"
	}
	if r.Decided {
		l.Limit = r.Decision.Limit
		l.Remaining = &r.Decision.Remaining
		if at := r.Decision.ResetAt(); !at.IsZero() {
			seconds := at.Add(time.Second - 1).Unix()
			l.ResetAt = &seconds
		}
	}
	if r.Source == policy.FromOverride {
		i := slices.IndexFunc(record.Overrides, func(o users.Override) bool {
			return o.Rule == r.Rule && (o.Name == "" || o.Name == r.Name) && o.Limit == r.Spec && o.ExpiresAt.Equal(r.Until.Time())
		})
		if i >= 0 {
			l.OverrideID = record.Overrides[i].ID
		}
	}
	return l
}

// windowSeconds is the time in which as many units come back as the limit has: of windows
// their period, of buckets the time in which a burst fills. 0 where it is not known, and of
// windows of a calendar, which differ in length.
func windowSeconds(s algorithm.Spec, limit int64) float64 {
	for _, f := range algorithm.Families() {
		switch {
		case f.Kind != s.Kind:
		case f.Calendar:
			return 0
		case f.Option != "": // units, period in µs, capacity
			return float64(limit) * float64(s.Params[1]) / float64(s.Params[0]) / 1e6
		default: // units, period in µs
			return float64(s.Params[1]) / 1e6
		}
	}
	return 0
}

// editedUser returns the user of the route, where something can be kept for one.
func (c *call) editedUser() (string, error) {
	if c.tenant.Users == nil {
		return "", problem.New(problem.FileManaged, "tiers and overrides are changed in "+c.tenant.ManagedBy)
	}
	return c.user()
}

// changeUser makes a change of a user and writes it into the audit. This node decides by it
// immediately; others know within 60 s.
func (c *call) changeUser(action, user string, do func(all *users.Users) (users.Change, error)) error {
	err := c.change(action, c.userTarget(user), func() (before, after any, version string, err error) {
		made, err := do(c.tenant.Users)
		return made.Before, made.After, "", err
	})
	if err == nil {
		c.tenant.Engine.Enforcer().Forget(users.Who(user))
	}
	return err
}

// sent reads a body of JSON that is an object with known fields.
func (c *call) sent(known ...string) (*fields, error) {
	text, err := c.body(typeJSON)
	if err != nil {
		return nil, err
	}
	return object(text, known...)
}

// spec is a limit in JSON: a text, or the number 0.
type spec policy.Spec

// UnmarshalJSON implements json.Unmarshaler.
func (s *spec) UnmarshalJSON(text []byte) error {
	if string(text) == "0" {
		*s = spec(policy.Block)
		return nil
	}
	return json.Unmarshal(text, (*string)(s))
}

const limitAllowed = "a limit such as gcra:100/1m,burst=20, unlimited, or 0"

func (c *call) setTier() error {
	user, err := c.editedUser()
	if err != nil {
		return err
	}
	f, err := c.sent("tier", "custom_limits")
	if err != nil {
		return err
	}
	f.need("tier")
	tier := f.text("tier")
	var sent map[string]spec
	f.get("custom_limits", "an object of limits", &sent)
	if len(sent) > mostCustom {
		f.add("custom_limits", fmt.Sprintf("must be at most %d", mostCustom))
	}
	if err := f.err(); err != nil {
		return err
	}
	custom := make(map[string]policy.Spec, len(sent))
	for name, limit := range sent {
		custom[name] = policy.Spec(limit)
	}
	if err := c.subjectFits(tier, custom); err != nil {
		return err
	}
	err = c.changeUser("user.tier", user, func(all *users.Users) (users.Change, error) {
		return all.SetTier(c.ctx, user, tier, custom)
	})
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, struct {
		Tier   string                 `json:"tier"`
		Custom map[string]policy.Spec `json:"custom_limits,omitempty"`
	}{tier, custom})
}

// subjectFits holds a tier and limits against the policy.
func (c *call) subjectFits(tier string, custom map[string]policy.Spec) error {
	if tier == "" && len(custom) == 0 {
		return nil
	}
	p, err := c.current()
	if err != nil {
		return err
	}
	tried := *p
	tried.Overrides = nil
	tried.Subjects = []policy.Subject{{Match: policy.Conditions{"user": {"somebody"}}, Tier: tier, Limits: custom}}
	return c.fits(&tried, func(path policy.Path) string {
		if len(path) > 0 && path[0] == any("limits") {
			path = append(policy.Path{"custom_limits"}, path[1:]...)
		}
		return pathPointer(path)
	})
}

func (c *call) createOverride() error {
	user, err := c.editedUser()
	if err != nil {
		return err
	}
	f, err := c.sent("rule_id", "name", "limit", "expires_at", "reason")
	if err != nil {
		return err
	}
	o, err := c.sentOverride(f)
	if err != nil {
		return err
	}
	if err := c.overrideFits(&o); err != nil {
		return err
	}
	err = c.changeUser("user.override.create", user, func(all *users.Users) (made users.Change, err error) {
		o, made, err = all.AddOverride(c.ctx, user, o)
		return made, err
	})
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", "/api/v1/users/"+url.PathEscape(user)+"/override/"+o.ID)
	return c.write(http.StatusCreated, shownOverride(o))
}

// sentOverride reads an override.
func (c *call) sentOverride(f *fields) (users.Override, error) {
	f.need("rule_id", "limit", "expires_at", "reason")
	o := users.Override{Rule: f.text("rule_id"), Name: f.text("name"), Reason: f.text("reason")}
	var limit spec
	f.get("limit", limitAllowed, &limit)
	o.Limit = policy.Spec(limit)
	if f.get("expires_at", "a time such as 2027-01-31T00:00:00Z", &o.ExpiresAt) {
		o.ExpiresAt = o.ExpiresAt.UTC().Truncate(time.Microsecond)
		if left := o.ExpiresAt.Sub(c.handler.now()); left <= 0 || left > longestOverride {
			f.add("expires_at", "must be in the future, and at most 90 days from now")
		}
	}
	if _, given := f.values["reason"]; given && (len(o.Reason) < 1 || len(o.Reason) > mostReason) {
		f.add("reason", fmt.Sprintf("must be 1 to %d bytes long", mostReason))
	}
	return o, f.err()
}

// overrideFits holds an override against the policy. A rule that there is not is 404.
func (c *call) overrideFits(o *users.Override) error {
	p, err := c.current()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(p.Rules, func(r policy.Rule) bool { return r.ID == o.Rule }) {
		return problem.New(problem.NotFound, "there is no rule with this id", problem.Field{Pointer: "/rule_id", Detail: "must be the id of a rule"})
	}
	tried := *p
	tried.Subjects = nil
	tried.Overrides = []policy.Override{{
		Rule: o.Rule, Name: o.Name, Match: policy.Conditions{"user": {"somebody"}}, Limit: o.Limit, Until: o.ExpiresAt, Reason: o.Reason,
	}}
	return c.fits(&tried, func(path policy.Path) string {
		if len(path) > 0 && path[0] == any("until") {
			path = policy.Path{"expires_at"}
		}
		return pathPointer(path)
	})
}

// override is one as it is shown.
type override struct {
	ID        string      `json:"id"`
	RuleID    string      `json:"rule_id"`
	Name      string      `json:"name,omitempty"`
	Limit     policy.Spec `json:"limit"`
	ExpiresAt time.Time   `json:"expires_at"`
	Reason    string      `json:"reason"`
	CreatedAt time.Time   `json:"created_at"`
}

func shownOverride(o users.Override) override {
	return override{o.ID, o.Rule, o.Name, o.Limit, o.ExpiresAt, o.Reason, o.CreatedAt}
}

func (c *call) deleteOverride() error {
	user, err := c.editedUser()
	if err != nil {
		return err
	}
	err = c.changeUser("user.override.delete", user, func(all *users.Users) (users.Change, error) {
		return all.DeleteOverride(c.ctx, user, c.params["override_id"])
	})
	if err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// userTarget is the target of a user in the audit; "" where there is no audit.
func (c *call) userTarget(user string) string {
	if c.handler.audit == nil {
		return ""
	}
	return c.handler.audit.UserTarget(c.caller.Tenant, user)
}
