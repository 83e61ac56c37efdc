package ui

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/weirgo/weir/internal/observed"
	"github.com/weirgo/weir/policy"
)

// rulePage is the page about one rule, with what it would deny if it counted.
type rulePage struct {
	ID       string
	Text     string // the rule as JSON; "" where there is no policy
	Mode     string
	Standing string
	Used     float64

	Minutes                   int // that the counts are of
	Asked                     int64
	Allowed, Denied, Error    int64
	ShadowAsked, ShadowDenied int64
	DeniedMost                []subjectView
	ShowKeys                  bool
	Version                   string
	Offer                     policy.Mode // what the form makes of it; "" for none
	NotOffered                string      // why there is no form; "" where that is plain
	Done                      string
}

func (h *Handler) rule(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("id")
	c := h.recorder.rule(id)
	p := h.policyNow()
	of := ruleOf(p.File, id)
	if of == nil && c.total.answered() == 0 {
		h.fail(w, r, http.StatusNotFound, "There is no rule with this id.")
		return
	}
	v := rulePage{
		ID: id, Standing: c.standing.String(), Used: c.used, Minutes: h.recorder.minutes(), Asked: c.hour.answered(),
		Allowed: c.hour[observed.Allowed], Denied: c.hour[observed.Denied], Error: c.hour[errorResult],
		ShadowAsked: c.hour[observed.ShadowAllowed] + c.hour[observed.ShadowDenied], ShadowDenied: c.hour[observed.ShadowDenied],
		ShowKeys: h.options.ShowKeys,
	}
	v.DeniedMost = h.shown(h.recorder.denied.Top(shownSubjects, func(limit string) bool {
		rest, is := strings.CutPrefix(limit, id)
		return is && (rest == "" || rest[0] == '/' || rest[0] == ' ') // RULE, RULE/NAME, RULE ENDPOINT
	}))
	if of != nil {
		v.Text, v.Mode, v.Version = asJSON(of), modeOf(of), p.File.Compiled.Version()
		v.Offer = offered(policy.Mode(v.Mode))
	}
	switch account := h.options.Account(r); {
	case v.Offer == "":
	case h.options.SetMode == nil:
		v.Offer, v.NotOffered = "", cmp.Or(h.options.ManagedBy, "This page changes nothing.")
	case !account.MayWrite:
		v.Offer, v.NotOffered = "", "Whoever signs in with a token of the role write may change the mode here."
	}
	if done := r.URL.Query().Get("done"); done == string(policy.Enforce) || done == string(policy.Shadow) {
		v.Done = done
	}
	h.show(w, r, http.StatusOK, "rule", "Rule "+id, v)
}

// offered is the mode that the page offers for a rule.
func offered(m policy.Mode) policy.Mode {
	switch m {
	case policy.Enforce:
		return policy.Shadow
	case policy.Off:
		return ""
	}
	return policy.Enforce // of shadow, and of a part of the keys
}

func ruleOf(f *policy.File, id string) *policy.Rule {
	if f == nil {
		return nil
	}
	i := slices.IndexFunc(f.Policy.Rules, func(r policy.Rule) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return &f.Policy.Rules[i]
}

// setMode changes the mode of a rule that was shown.
func (h *Handler) setMode(w http.ResponseWriter, r *http.Request) {
	c := ModeChange{Rule: r.PostForm.Get("rule"), Mode: policy.Mode(r.PostForm.Get("mode")), Version: r.PostForm.Get("version")}
	p := h.policyNow()
	switch {
	case h.options.SetMode == nil:
		h.fail(w, r, http.StatusForbidden, "This page changes nothing.")
		return
	case !h.options.Account(r).MayWrite:
		h.fail(w, r, http.StatusForbidden, "Only who signs in with a token of the role write may change a rule.")
		return
	case c.Mode != policy.Enforce && c.Mode != policy.Shadow:
		h.fail(w, r, http.StatusUnprocessableEntity, "The mode must be enforce or shadow.")
		return
	case ruleOf(p.File, c.Rule) == nil:
		h.fail(w, r, http.StatusNotFound, "There is no rule with this id.")
		return
	case p.File.Compiled.Version() != c.Version:
		h.fail(w, r, http.StatusConflict, "The policy has changed since the rule was shown: look at it again.")
		return
	}
	if err := h.options.SetMode(r, c); err != nil {
		h.fail(w, r, http.StatusConflict, "The rule was not changed: "+err.Error())
		return
	}
	w.Header().Set("Location", "rule?id="+url.QueryEscape(c.Rule)+"&done="+string(c.Mode)) // relative: the prefix is not known here
	w.WriteHeader(http.StatusSeeOther)
}

// explainView is the page that explains a request.
type explainView struct {
	Method, Path, Host string
	Wrong              string
	Answer             *explained
}

// explained is an explanation without the keys in it.
type explained struct {
	List, Reason, Tier string
	Denies, Allows     int
	Rules              []explainedRule
	Version            string
}

type explainedRule struct {
	ID, Applies string
	Limits      []explainedLimit
}

type explainedLimit struct{ Name, Says, Reason string }

const mostAttributes = 64

func (h *Handler) explain(w http.ResponseWriter, r *http.Request) {
	if h.options.Explain == nil {
		h.fail(w, r, http.StatusNotFound, "This page explains nothing.")
		return
	}
	v, status := explainView{Method: http.MethodGet, Path: "/"}, http.StatusOK
	if r.Method == http.MethodPost {
		v.Method, v.Path, v.Host = r.PostForm.Get("method"), r.PostForm.Get("path"), r.PostForm.Get("host")
		request := policy.Request{Method: v.Method, Path: v.Path, Host: v.Host}
		var wrong string
		if request.Attributes, wrong = attributes(r.PostForm.Get("attributes")); wrong == "" {
			e, err := h.options.Explain(r.Context(), request)
			if err != nil {
				wrong = err.Error()
			} else {
				v.Answer = explainedOf(&e)
				if p := h.policyNow(); p.File != nil {
					v.Answer.Version = p.File.Compiled.Version()
				}
			}
		}
		if v.Wrong = wrong; wrong != "" {
			status = http.StatusUnprocessableEntity
		}
	}
	h.show(w, r, status, "explain", "Explain a request", v)
}

// attributes reads lines such as user=42. What is wrong is said without a value.
func attributes(text string) (all policy.Attributes, wrong string) {
	all = policy.Attributes{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, found := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !found || name == "" {
			return nil, fmt.Sprintf("Line %d of the attributes must be name=value.", number)
		}
		if all[name] = strings.TrimSpace(value); len(all) > mostAttributes {
			return nil, fmt.Sprintf("There must be at most %d attributes.", mostAttributes)
		}
	}
	return all, ""
}

// explainedOf is what is shown of an explanation: everything but keys.
func explainedOf(e *policy.Explanation) *explained {
	v := &explained{Tier: e.Tier, Reason: e.Entry.Reason, Denies: e.Denies, Allows: e.Allows}
	switch e.List {
	case policy.Denied:
		v.List = fmt.Sprintf("Denied by lists.deny[%d]", e.Entry.Index)
	case policy.Exempt:
		v.List = fmt.Sprintf("Exempt by lists.allow[%d]", e.Entry.Index)
	}
	if e.UnknownTier {
		v.Tier = cmp.Or(v.Tier, "none") + "; the request names one that the policy does not have"
	}
	for i := range e.Rules {
		from := &e.Rules[i]
		r := explainedRule{ID: from.Rule, Applies: from.Applies.String()}
		switch {
		case from.Applies == policy.RuleReplaced:
			r.Applies += " by " + from.Detail
		case from.Detail != "":
			r.Applies += ": " + from.Detail
		case from.Endpoint != "":
			r.Applies += ", by " + from.Endpoint
		}
		for j := range from.Limits {
			r.Limits = append(r.Limits, explainedLimitOf(&from.Limits[j]))
		}
		v.Rules = append(v.Rules, r)
	}
	return v
}

func explainedLimitOf(l *policy.PlannedLimit) explainedLimit {
	says, source := "", l.Source.String()
	if l.When != "" {
		source += " at " + l.When
	}
	switch l.Action {
	case policy.ActionMissing:
		says = "denies, because a key attribute is missing"
	case policy.ActionBlock:
		says = "blocks, from " + source
	case policy.ActionExempt:
		says = "exempts, from " + source
	default:
		says = fmt.Sprintf("%s, from %s, costs %d", l.Spec, source, l.Cost)
	}
	if l.Shards > 0 {
		says += fmt.Sprintf(", from one of %d shards", l.Shards)
	}
	if l.Leased {
		says += ", leased"
	}
	if l.Until != 0 {
		says += ", until " + clock(l.Until.Time())
	}
	if !l.Enforced {
		says += ", in shadow"
	}
	return explainedLimit{l.Limit.Name, says, l.Reason}
}

// auditView is the page about changes.
type auditView struct {
	Err     string
	Entries []AuditEntry
}

func (h *Handler) audit(w http.ResponseWriter, r *http.Request) {
	if h.options.Audit == nil {
		h.fail(w, r, http.StatusNotFound, "This page knows no audit.")
		return
	}
	entries, err := h.options.Audit(r)
	v, status := auditView{Entries: entries}, http.StatusOK
	if err != nil {
		v.Err, status = err.Error(), http.StatusInternalServerError
	}
	h.show(w, r, status, "audit", "Audit", v)
}
