package rest

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/service/auth"
	"github.com/weirgo/weir/service/problem"
	"github.com/weirgo/weir/service/rules"
)

// modeRoute is what the page for operators does.
var modeRoute = &route{method: http.MethodPost, path: "/ui/mode", action: auth.Write}

// SetMode gives a rule another mode, as a PUT of the rule does: with two lines in the audit,
// and only where the document still has the policy of a version. It is for a caller that the
// Guard has let pass for auth.Write, and whom the context of r has; another one is refused. The
// error is a *problem.Problem, whose text may be shown.
func (h *Handler) SetMode(r *http.Request, rule string, m policy.Mode, version string) error {
	c := &call{handler: h, route: modeRoute, id: requestID(r.Header.Values("X-Request-Id")), r: r, ctx: r.Context()}
	if err := c.setMode(rule, m, version); err != nil {
		return c.problemOf(err)
	}
	return nil
}

func (c *call) setMode(id string, m policy.Mode, version string) error {
	if err := c.begin(); err != nil {
		return err
	}
	if !c.caller.Role.May(auth.Write) {
		return problem.New(problem.Forbidden, "the role may not change rules")
	}
	all, err := c.editable()
	if err != nil {
		return err
	}
	listed, now, err := all.List(c.ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(listed, func(r rules.Rule) bool { return r.ID == id })
	switch {
	case i < 0:
		return rules.ErrNotFound
	case now != version:
		return problem.New(problem.Changed, "the policy has changed since the rule was shown")
	}
	rule := listed[i]
	etag := rule.ETag()
	rule.Rule.Mode = m
	body, err := json.Marshal(rule.Rule)
	if err != nil {
		return err
	}
	return c.change("rule.replace", ruleTarget(id), func() (before, after any, version string, err error) {
		made, err := all.Replace(c.ctx, id, rule.Name, body, func(is string) bool { return is == etag })
		return made.Before, made.After, made.Version, err
	})
}
