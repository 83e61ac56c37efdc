package rest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weirgo/weir/service/audit"
	"github.com/weirgo/weir/service/problem"
	"github.com/weirgo/weir/service/rules"
	"github.com/weirgo/weir/store"
)

// mostName bounds the name of a rule, in characters.
const mostName = 200

// allRules returns the rules of the tenant, and the version of their policy.
func (c *call) allRules() ([]rules.Rule, string, error) {
	if c.tenant.Rules != nil {
		return c.tenant.Rules.List(c.ctx)
	}
	if c.tenant.File != nil {
		if f := c.tenant.File(); f != nil {
			return rules.Of(&f.Policy), f.Compiled.Version(), nil
		}
	}
	return nil, c.tenant.Engine.PolicyVersion(), nil
}

func (c *call) listRules() error {
	values, err := c.query(nil, "cursor", "limit")
	if err != nil {
		return err
	}
	most, err := limit(values)
	if err != nil {
		return err
	}
	all, version, err := c.allRules()
	if err != nil {
		return err
	}
	from, err := after(all, values.Get("cursor"))
	if err != nil {
		return err
	}
	page := struct {
		Rules         []rules.Rule `json:"rules"`
		NextCursor    string       `json:"next_cursor,omitempty"`
		PolicyVersion string       `json:"policy_version"`
	}{[]rules.Rule{}, "", version}
	if page.Rules = append(page.Rules, all[from:min(from+most, len(all))]...); from+most < len(all) {
		page.NextCursor = cursor(from+most, page.Rules[most-1].ID)
	}
	return c.write(http.StatusOK, page)
}

// cursor says that a page ended before a position, with a rule.
func cursor(next int, id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(next) + " " + id))
}

// after returns where the page behind a cursor begins: behind the rule that it names, or,
// where that is gone, at its position.
func after(all []rules.Rule, text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	wrong := invalid([]problem.Field{{Pointer: "cursor", Detail: "must be next_cursor of the page before"}})
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return 0, wrong
	}
	position, id, found := strings.Cut(string(decoded), " ")
	next, err := strconv.Atoi(position)
	if err != nil || !found || next < 1 {
		return 0, wrong
	}
	if i := slices.IndexFunc(all, func(r rules.Rule) bool { return r.ID == id }); i >= 0 {
		return i + 1, nil
	}
	return min(next-1, len(all)), nil
}

func (c *call) getRule() error {
	all, _, err := c.allRules()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(r rules.Rule) bool { return r.ID == c.params["rule_id"] })
	if i < 0 {
		return rules.ErrNotFound
	}
	return c.writeRule(http.StatusOK, &all[i])
}

func (c *call) writeRule(status int, r *rules.Rule) error {
	c.w.Header().Set("ETag", r.ETag())
	return c.write(status, r)
}

// editable returns the rules where they can be changed.
func (c *call) editable() (*rules.Rules, error) {
	if c.tenant.Rules == nil {
		return nil, problem.New(problem.FileManaged, "the rules are changed in "+c.tenant.ManagedBy)
	}
	return c.tenant.Rules, nil
}

// sentRule is a rule that a caller sends: what a policy has no place for is taken out.
func (c *call) sentRule() (id, name string, rule json.RawMessage, err error) {
	text, err := c.body(typeJSON)
	if err != nil {
		return "", "", nil, err
	}
	f, err := object(text)
	if err != nil {
		return "", "", nil, err
	}
	f.need("id")
	id, name = f.text("id"), f.text("name")
	if utf8.RuneCountInString(name) > mostName {
		f.add("name", fmt.Sprintf("must be at most %d characters", mostName))
	}
	if err := f.err(); err != nil {
		return "", "", nil, err
	}
	for _, own := range []string{"name", "created_at", "updated_at"} {
		delete(f.values, own)
	}
	rule, err = json.Marshal(f.values)
	return id, name, rule, err
}

func (c *call) createRule() error {
	all, err := c.editable()
	if err != nil {
		return err
	}
	id, name, rule, err := c.sentRule()
	if err != nil {
		return err
	}
	var made rules.Change
	err = c.change("rule.create", ruleTarget(id), func() (before, after any, version string, err error) {
		made, err = all.Create(c.ctx, id, name, rule)
		return nil, made.After, made.Version, err
	})
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", "/api/v1/rules/"+id)
	return c.writeRule(http.StatusCreated, made.After)
}

func (c *call) replaceRule() error {
	all, err := c.editable()
	if err != nil {
		return err
	}
	match, err := c.ifMatch()
	if err != nil {
		return err
	}
	id, name, rule, err := c.sentRule()
	if err != nil {
		return err
	}
	if id != c.params["rule_id"] {
		return invalid([]problem.Field{{Pointer: "/id", Detail: "must be the id of the route: a rule with another id is another rule"}})
	}
	var made rules.Change
	err = c.change("rule.replace", ruleTarget(id), func() (before, after any, version string, err error) {
		made, err = all.Replace(c.ctx, id, name, rule, match)
		return made.Before, made.After, made.Version, err
	})
	if err != nil {
		return err
	}
	return c.writeRule(http.StatusOK, made.After)
}

func (c *call) deleteRule() error {
	all, err := c.editable()
	if err != nil {
		return err
	}
	match, err := c.ifMatch()
	if err != nil {
		return err
	}
	id := c.params["rule_id"]
	err = c.change("rule.delete", ruleTarget(id), func() (before, after any, version string, err error) {
		made, err := all.Delete(c.ctx, id, match)
		return made.Before, nil, made.Version, err
	})
	if err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// ifMatch reads If-Match: any of its entity tags, or "*". Weak tags match nothing.
func (c *call) ifMatch() (func(etag string) bool, error) {
	sent := c.r.Header.Values("If-Match")
	if len(sent) == 0 {
		return nil, problem.New(problem.NoCondition, "If-Match has to name the ETag of the rule", problem.Field{Pointer: "If-Match", Detail: "is required"})
	}
	var tags []string
	for _, tag := range strings.Split(strings.Join(sent, ","), ",") {
		tags = append(tags, strings.TrimSpace(tag))
	}
	return func(etag string) bool { return slices.Contains(tags, etag) || slices.Equal(tags, []string{"*"}) }, nil
}

// ruleTarget is the target of a rule in the audit. An id that is not valid is not repeated.
func ruleTarget(id string) string {
	valid := len(id) <= 64 && !strings.ContainsFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	})
	if !valid {
		return "rule:"
	}
	return "rule:" + id
}

// change makes a change between its two lines of the audit. Where the first one cannot be
// written the change is not made.
func (c *call) change(action, target string, do func() (before, after any, version string, err error)) error {
	h := c.handler
	if h.audit == nil {
		_, _, _, err := do()
		return err
	}
	begun, err := h.audit.Begin(audit.Entry{
		Actor: c.caller.Name, Role: string(c.caller.Role), Tenant: c.caller.Tenant, Remote: c.r.RemoteAddr,
		Action: action, Target: target, PolicyVersion: c.tenant.Engine.PolicyVersion(), RequestID: c.id,
	})
	if err != nil {
		h.log.Error("the audit cannot be written", "error", err)
		return unavailable("the audit cannot be written, so nothing was changed")
	}
	before, after, version, failed := do()
	result := failed
	if failed != nil {
		result = errors.New(c.problemOf(failed).Kind.Anchor) // its text may have what a caller has sent
		if errors.Is(failed, store.ErrOutcomeUnknown) {
			result = errors.New("unavailable, and it may have been made")
		}
	}
	first, err := changed(before)
	last, lastErr := changed(after)
	if err := errors.Join(err, lastErr, begun.End(first, last, version, result)); err != nil {
		h.log.Error("the end of a change was not written to the audit", "request_id", c.id, "error", err)
	}
	return failed
}

// changed is one side of a change as JSON; nil where there is nothing.
func changed(value any) (json.RawMessage, error) {
	text, err := json.Marshal(value)
	if err != nil || string(text) == "null" {
		return nil, err
	}
	return text, nil
}
