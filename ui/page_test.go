package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/resilience"
	memorystore "github.com/weirgo/weir/store/memory"
)

const testPolicy = `version: 1
attributes: {plan: {}}
rules:
  - {id: user, key: [user], limit: "gcra:2/1h"}
  - {id: trial, key: [user], limit: "gcra:1/1h", mode: shadow}
overrides:
  - {rule: user, match: {user: [vip-4711]}, limit: "gcra:9/1h", until: 2100-01-01T00:00:00Z, reason: "<b>asked</b> for it"}
lists:
  deny: [{match: {user: [bad-4711]}, reason: "<script>alert(1)</script>"}]
`

// program is one with a policy and a page.
type program struct {
	*Handler
	recorder *Recorder
	enforcer *policy.Enforcer
	file     *policy.File
	options  *Options
	changed  []ModeChange
}

// open makes a program whose page is changed by adapt, if any.
func open(t *testing.T, adapt func(*Options)) *program {
	t.Helper()
	p := &program{recorder: still(t, 0), file: weir.Must(policy.Parse([]byte(testPolicy), nil))}
	s := weir.Must(memorystore.New(nil))
	t.Cleanup(func() { _ = s.Close() })
	limits := weir.Must(weir.NewMultiLimiter(s, &weir.Options{Observer: p.recorder}))
	p.enforcer = weir.Must(policy.NewEnforcer(limits, p.file.Compiled, &policy.EnforcerOptions{Observer: p.recorder, Sequential: true}))
	p.recorder.AddMemory("local", s)
	p.recorder.AddEnforcer("local", p.enforcer)
	p.recorder.AddBreaker("local", weir.Must(resilience.NewBreaker(s, nil)))
	p.options = &Options{
		Title: "Shop", Policy: func() Policy { return Policy{File: p.file, Since: start, Revision: 3} }, Explain: p.enforcer.Explain,
		Audit: func(*http.Request) ([]AuditEntry, error) {
			return []AuditEntry{{Time: start, Actor: "ann", Action: "rule.replace", Target: "rule:user", Result: "done", PolicyVersion: "v1"}}, nil
		},
		SetMode: func(_ *http.Request, c ModeChange) error { p.changed = append(p.changed, c); return nil },
		Account: func(*http.Request) Account { return Account{Name: "ann", Role: "write", MayWrite: true, SignOut: true} },
	}
	if adapt != nil {
		adapt(p.options)
	}
	p.Handler = weir.Must(New(p.recorder, p.options))
	return p
}

// decide decides n requests of a user.
func (p *program) decide(t *testing.T, user string, n int) {
	t.Helper()
	for range n {
		weir.Must(p.enforcer.Decide(t.Context(), policy.Request{Attributes: policy.Attributes{"user": user}}))
	}
}

func ask(h http.Handler, method, path string, form url.Values, heads ...string) (status int, body string, head http.Header) {
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(heads); i += 2 {
		r.Header.Set(heads[i], heads[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String(), w.Header()
}

func get(t *testing.T, h http.Handler, path string) string {
	t.Helper()
	status, body, _ := ask(h, "GET", path, nil)
	if status != http.StatusOK {
		t.Fatalf("%s: %d\n%s", path, status, body)
	}
	return body
}

var allPaths = []string{"/", "/?range=hour", "/rules", "/rule?id=user", "/rule?id=trial", "/policy", "/explain", "/audit"}

var links = regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)

// TestLinksAreRelative: whatever path the page is mounted at, each of its links leads to
// something of it.
func TestLinksAreRelative(t *testing.T) {
	p := open(t, nil)
	p.decide(t, "ann", 3)
	for _, prefix := range []string{"", "/limits", "/a/b/c"} {
		mux := http.NewServeMux()
		mux.Handle(prefix+"/", p)
		for _, path := range allPaths {
			body := get(t, mux, prefix+path)
			found := links.FindAllStringSubmatch(body, -1)
			if len(found) < 8 {
				t.Errorf("%s%s has %d links", prefix, path, len(found))
			}
			for _, link := range found {
				base, err := url.Parse("http://host" + prefix + path)
				if err != nil {
					t.Fatal(err)
				}
				to, err := base.Parse(html.UnescapeString(link[1]))
				if err != nil || to.Host != "host" || !strings.HasPrefix(to.Path, prefix+"/") {
					t.Errorf("%s%s links to %q", prefix, path, link[1])
					continue
				}
				if name := to.Path[strings.LastIndexByte(to.Path, '/')+1:]; name == "sign-out" || name == "mode" {
					continue
				}
				if status, _, _ := ask(mux, "GET", to.RequestURI(), nil); status != http.StatusOK {
					t.Errorf("%s%s links to %q, which is %d", prefix, path, link[1], status)
				}
			}
		}
	}
}

// TestPagesRunNothingInline: no script, style or handler is in a page, and no browser loads
// anything from elsewhere.
func TestPagesRunNothingInline(t *testing.T) {
	p := open(t, nil)
	p.decide(t, "ann", 3)
	inline := regexp.MustCompile(`(?i)<script(?:[^>]*)>[^<]|<style|\sstyle=|\son[a-z]+=|javascript:|//[a-z]`)
	for _, path := range allPaths {
		status, body, head := ask(p, "GET", path, nil)
		if found := inline.FindString(body); status != http.StatusOK || found != "" {
			t.Errorf("%s: %d, %q", path, status, found)
		}
		if csp := head.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'self';") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: %q", path, csp)
		}
		if head.Get("X-Content-Type-Options") != "nosniff" || head.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", path, head)
		}
	}
}

// TestHostileTextsAreShownAsText: of rules, keys, reasons, callers, paths and errors.
func TestHostileTextsAreShownAsText(t *testing.T) {
	const evil = `<img src=x onerror=alert(1)>"'&`
	p := open(t, func(o *Options) {
		o.Title, o.ShowKeys = evil, true
		o.Audit = func(*http.Request) ([]AuditEntry, error) {
			return []AuditEntry{{Actor: evil, Action: evil, Target: evil, Result: evil, PolicyVersion: evil}}, errors.New(evil)
		}
		o.Account = func(*http.Request) Account { return Account{Name: evil, Role: evil} }
		o.Policy = func() Policy {
			f := weir.Must(policy.Parse([]byte(testPolicy), nil))
			f.Policy.Rules[0].ID, f.Policy.Rules[0].Mode, f.Policy.Rules[0].Limit.Spec = evil, evil, evil
			return Policy{File: f, Before: weir.Must(policy.Parse([]byte(testPolicy), nil)), Err: errors.New(evil)}
		}
		o.Explain = func(context.Context, policy.Request) (policy.Explanation, error) {
			limit := policy.PlannedLimit{Reason: evil, Spec: evil}
			limit.Limit.Name = evil
			return policy.Explanation{Tier: evil, Rules: []policy.ExplainedRule{{Rule: evil, Detail: evil, Endpoint: evil, Limits: []policy.PlannedLimit{limit}}}}, nil
		}
	})
	p.recorder.AddMemory(evil, weir.Must(memorystore.New(nil)))
	o := answer(false, false)
	o.Limit, o.Key = evil, evil
	p.recorder.Observe(t.Context(), o)
	p.recorder.ObserveVerdict(t.Context(), ruleVerdict(evil, false, 0), nil)
	bodies := map[string]string{"event": string(weir.Must(p.eventOf(1)))}
	for _, path := range append(slices.Clone(allPaths), "/rule?id="+url.QueryEscape(evil), "/rule?id=unknown"+url.QueryEscape(evil), "/none"+url.PathEscape(evil)) {
		_, bodies[path], _ = ask(p, "GET", path, nil)
	}
	_, bodies["explain"], _ = ask(p, "POST", "/explain", url.Values{"path": {evil}, "method": {evil}, "host": {evil}, "attributes": {"user=" + evil}})
	for name, body := range bodies {
		if strings.Contains(body, "<img") || strings.Contains(body, `x onerror=alert(1)>"`) {
			t.Errorf("%s has the tag:\n%s", name, body)
		}
		if name != "event" && !strings.Contains(body, "&lt;img src=x onerror=alert(1)&gt;") {
			t.Errorf("%s does not show the text", name)
		}
	}
}

// TestKeysAreHashedUnlessTheOptionShowsThem: on every page, in events and in data, also those
// of lists, overrides and explanations.
func TestKeysAreHashedUnlessTheOptionShowsThem(t *testing.T) {
	for _, shown := range []bool{false, true} {
		p := open(t, func(o *Options) { o.ShowKeys = shown })
		p.decide(t, "marked-4711", 4)
		p.decide(t, "vip-4711", 1)
		p.decide(t, "bad-4711", 1)
		before := p.file
		p.file = weir.Must(policy.Parse([]byte(strings.Replace(testPolicy, "vip-4711", "other-4711", 1)), nil))
		now := p.options.Policy
		p.Handler.options.Policy = func() Policy { s := now(); s.Before = before; return s }
		all := string(weir.Must(p.eventOf(1)))
		for _, path := range append(slices.Clone(allPaths), "/data", "/data?rule=user") {
			all += get(t, p, path)
		}
		for _, user := range []string{"marked-4711", "bad-4711", "vip-4711"} {
			status, body, _ := ask(p, "POST", "/explain", url.Values{"method": {"GET"}, "path": {"/"}, "attributes": {"user=" + user}})
			if status != http.StatusOK {
				t.Errorf("explain: %d", status)
			}
			all += body
		}
		if strings.Contains(all, "user=marked-4711") != shown {
			t.Errorf("ShowKeys %t: the key is shown, or not", shown)
		}
		if !shown && strings.Contains(all, "4711") {
			t.Errorf("a key is shown: %s", all[max(0, strings.Index(all, "4711")-200):][:300])
		}
		if hash := p.subject("user=marked-4711"); !strings.Contains(all, "<code>"+hash+"</code>") {
			t.Errorf("ShowKeys %t: %s is not shown", shown, hash)
		}
	}
}

// TestEqualHashKeysShowEqualHashes: and others do not.
func TestEqualHashKeysShowEqualHashes(t *testing.T) {
	make := func(key string) *Handler { return weir.Must(New(still(t, 0), &Options{HashKey: []byte(key)})) }
	a, b, c := make("a"), make("a"), make("c")
	if a.subject("k") != b.subject("k") || a.subject("k") == c.subject("k") || len(a.subject("k")) != 16 {
		t.Errorf("%s %s %s", a.subject("k"), b.subject("k"), c.subject("k"))
	}
}

// TestNumbersAreThoseOfTheRecorder: of the last second, minute and hour, and since the start.
func TestNumbersAreThoseOfTheRecorder(t *testing.T) {
	p := open(t, nil)
	p.recorder.tick(start)
	p.decide(t, "ann", 5) // 2 of 5 by user, 1 of 5 in shadow
	p.recorder.tick(start.Add(time.Second))
	p.decide(t, "bob", 1)
	p.recorder.tick(start.Add(2 * time.Minute))
	body := get(t, p, "/")
	for _, want := range []string{
		`<th scope="row">allowed</th><td>1</td><td>1</td><td>3</td><td data-total="allowed">3</td>`,
		`<th scope="row">denied</th><td>0</td><td>0</td><td>3</td><td data-total="denied">3</td>`,
		`<th scope="row">denied in shadow</th><td>0</td><td>0</td><td>4</td><td data-total="denied in shadow">4</td>`,
		`<a href="rule?id=trial">trial</a></th><td class="left">shadow</td><td class="left">gcra:1/1h</td>`,
		`<td class="left throttled">throttled</td>`,
		`keys 4, evicted 0`, `closed`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

// TestThePreviewSaysWhatARuleWouldDeny: of what it was asked in shadow.
func TestThePreviewSaysWhatARuleWouldDeny(t *testing.T) {
	p := open(t, nil)
	p.decide(t, "ann", 4)
	p.decide(t, "bob", 1)
	if body := get(t, p, "/rule?id=trial"); !strings.Contains(body, "<strong>3 of 5</strong> requests (60 %)") ||
		!strings.Contains(body, p.subject("user=ann")) || strings.Contains(body, p.subject("user=bob")) || !strings.Contains(body, "Enforce this rule") {
		t.Errorf("%s", body)
	}
	for after, want := range map[time.Duration]string{0: "in the last minute.", 10 * time.Minute: "in the last 11 minutes.", 59 * time.Minute: "in the last 60 minutes."} {
		q := open(t, nil)
		q.recorder.tick(start)
		q.decide(t, "ann", 1)
		q.recorder.tick(start.Add(after))
		if body := get(t, q, "/rule?id=trial"); !strings.Contains(body, want) {
			t.Errorf("%s after the start: no %q in\n%s", after, want, body)
		}
	}
	if body := get(t, p, "/rule?id=user"); !strings.Contains(body, "nothing to judge by") || !strings.Contains(body, "into shadow") {
		t.Errorf("%s", body)
	}
	if status, _, _ := ask(p, "GET", "/rule?id=none", nil); status != http.StatusNotFound {
		t.Errorf("%d", status)
	}
}

func (p *program) form(mode string) url.Values {
	return url.Values{"rule": {"trial"}, "mode": {mode}, "version": {p.file.Compiled.Version()}}
}

// TestARuleChangesByItsForm: and the browser is sent back to the rule.
func TestARuleChangesByItsForm(t *testing.T) {
	p := open(t, nil)
	status, _, head := ask(p, "POST", "/x/mode", p.form("enforce"))
	if status != http.StatusSeeOther || head.Get("Location") != "rule?id=trial&done=enforce" {
		t.Errorf("%d, %v", status, head)
	}
	if want := []ModeChange{{"trial", policy.Enforce, p.file.Compiled.Version()}}; !slices.Equal(p.changed, want) {
		t.Errorf("%v, want %v", p.changed, want)
	}
}

// TestChangesAreRefused: where the page is read-only, for those who may not write, for other
// sites, and for what was not shown.
func TestChangesAreRefused(t *testing.T) {
	with := func(p *program, name, value string) url.Values { f := p.form("enforce"); f.Set(name, value); return f }
	for name, c := range map[string]struct {
		adapt  func(*Options)
		form   func(*program) url.Values
		heads  []string
		status int
	}{
		"read-only page":   {adapt: func(o *Options) { o.SetMode = nil }, status: http.StatusForbidden},
		"nobody":           {adapt: func(o *Options) { o.Account = nil }, status: http.StatusForbidden},
		"a reader":         {adapt: func(o *Options) { o.Account = func(*http.Request) Account { return Account{Name: "r"} } }, status: http.StatusForbidden},
		"another site":     {heads: []string{"Sec-Fetch-Site", "cross-site"}, status: http.StatusForbidden},
		"another origin":   {heads: []string{"Origin", "https://evil.example"}, status: http.StatusForbidden},
		"another mode":     {form: func(p *program) url.Values { return with(p, "mode", "off") }, status: http.StatusUnprocessableEntity},
		"an unknown rule":  {form: func(p *program) url.Values { return with(p, "rule", "none") }, status: http.StatusNotFound},
		"an older policy":  {form: func(p *program) url.Values { return with(p, "version", "old") }, status: http.StatusConflict},
		"too large a form": {form: func(p *program) url.Values { return with(p, "x", strings.Repeat("x", maxForm)) }, status: http.StatusBadRequest},
		"an error of theirs": {adapt: func(o *Options) {
			o.SetMode = func(*http.Request, ModeChange) error { return errors.New("the file is elsewhere") }
		}, status: http.StatusConflict},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, c.adapt)
			form := p.form("enforce")
			if c.form != nil {
				form = c.form(p)
			}
			if status, body, _ := ask(p, "POST", "/mode", form, c.heads...); status != c.status || len(p.changed) > 0 {
				t.Errorf("%d, want %d; changed %v\n%s", status, c.status, p.changed, body)
			}
		})
	}
	p := open(t, func(o *Options) { o.Account = nil })
	if body := get(t, p, "/rule?id=trial"); strings.Contains(body, `action="mode"`) || !strings.Contains(body, "role write") {
		t.Errorf("a form is offered to nobody:\n%s", body)
	}
	if status, _, head := ask(open(t, nil), "GET", "/mode", nil); status != http.StatusMethodNotAllowed || head.Get("Allow") != "POST" {
		t.Errorf("%d, %v", status, head)
	}
}

// TestExplanationsSayWhy: what is wrong is said without a value.
func TestExplanationsSayWhy(t *testing.T) {
	p := open(t, nil)
	for attributes, want := range map[string]string{
		"user=ann":          "gcra:2/1h, from rule, costs 1",
		" user = vip-4711 ": "gcra:9/1h, from override, costs 1, until 2100-01-01 00:00:00 UTC (&lt;b&gt;asked&lt;/b&gt; for it)",
		"user=bad-4711":     "Denied by lists.deny[0]</strong>: &lt;script&gt;",
		"":                  "trial",
	} {
		status, body, _ := ask(p, "POST", "/explain", url.Values{"method": {"GET"}, "path": {"/"}, "attributes": {attributes}})
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%q: %d, no %s in\n%s", attributes, status, want, body)
		}
	}
	for _, attributes := range []string{"secret", "=secret", strings.Repeat("a=1\n", 3) + "secret"} {
		status, body, _ := ask(p, "POST", "/explain", url.Values{"attributes": {attributes}})
		if status != http.StatusUnprocessableEntity || !strings.Contains(body, "must be name=value") || strings.Contains(body, "secret") {
			t.Errorf("%q: %d\n%s", attributes, status, body)
		}
	}
	if p.recorder.totals().results != (totals{}).results {
		t.Error("an explanation has asked a limit")
	}
}

// TestChangesOfThePolicyAreShown: added, removed and changed parts, their order, and of what
// names people that it has changed.
func TestChangesOfThePolicyAreShown(t *testing.T) {
	before := weir.Must(policy.Parse([]byte(testPolicy), nil))
	after := weir.Must(policy.Parse([]byte(`version: 1
default_tier: free
tiers: {free: {limits: {a: "gcra:1/1m"}}}
rules:
  - {id: new, limit: {tier: a}}
  - {id: trial, key: [user], limit: "gcra:1/1h"}
  - {id: user, key: [user], limit: "gcra:2/1h"}
`), nil))
	var got []string
	for _, c := range changes(&before.Policy, &after.Policy) {
		got = append(got, c.What+" "+c.How)
	}
	want := []string{
		"attribute plan removed", "default tier changed", "tier free added", "rule new added", "rule trial changed",
		"order of the rules changed", "overrides changed", "list deny changed",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if same := changes(&before.Policy, &before.Policy); len(same) > 0 {
		t.Errorf("a policy and itself: %v", same)
	}
}

// TestTheBusiestRulesAreShownInTheirOrder: where there are more than fit.
func TestTheBusiestRulesAreShownInTheirOrder(t *testing.T) {
	r := still(t, 0)
	h := weir.Must(New(r, nil))
	for i := range 60 {
		for range i {
			r.ObserveVerdict(t.Context(), ruleVerdict(fmt.Sprintf("rule%02d", i), i != 1, 1), nil)
		}
		r.ObserveVerdict(t.Context(), ruleVerdict(fmt.Sprintf("rule%02d", i), true, 1), nil)
	}
	v := h.rules(3)
	if v.More != 57 || v.Rules[0].ID != "rule01" || v.Rules[1].ID != "rule58" || v.Rules[2].ID != "rule59" {
		t.Errorf("%+v", v)
	}
	if body := get(t, h, "/"); !strings.Contains(body, `<a href="rules">10 more</a>`) || strings.Count(get(t, h, "/rules"), `href="rule?id=`) != 60 {
		t.Error("not all rules are shown somewhere")
	}
}

// TestAStreamSendsEachSecond: until its Recorder is closed, and no more streams than there may
// be.
func TestAStreamSendsEachSecond(t *testing.T) {
	p := open(t, nil)
	server := httptest.NewServer(p)
	defer server.Close()
	answer, err := http.Get(server.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if media := answer.Header.Get("Content-Type"); media != "text/event-stream" {
		t.Errorf("%q", media)
	}
	read := func() string {
		text, b := "", make([]byte, 1)
		for !strings.HasSuffix(text, "\n\n") {
			if _, err := answer.Body.Read(b); err != nil {
				t.Fatal(err)
			}
			text += string(b)
		}
		return text
	}
	if first := read(); !strings.Contains(first, "data: {") || !strings.Contains(first, `data-total=\"allowed\"\u003e0\u003c`) {
		t.Errorf("%s", first)
	}
	p.decide(t, "ann", 1)
	p.recorder.tick(start)
	if second := read(); !strings.Contains(second, `data-total=\"allowed\"\u003e1\u003c`) || !strings.Contains(second, `"last":{"at":[`+fmt.Sprint(start.Unix()-1)+`],"allowed":[1]`) {
		t.Errorf("%s", second)
	}
	p.streams.Add(maxStreams)
	if status, _, head := ask(p, "GET", "/events", nil); status != http.StatusServiceUnavailable || head.Get("Retry-After") == "" {
		t.Errorf("one stream too many: %d", status)
	}
	if err := p.recorder.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(answer.Body); err != nil {
		t.Errorf("the stream did not end: %v", err)
	}
}

// TestAssetsAreKnown: to whatever asks who sends a request; and a browser that has them asks
// for no more.
func TestAssetsAreKnown(t *testing.T) {
	h := weir.Must(New(still(t, 0), nil))
	for _, name := range []string{"page.css", "page.js", "uplot.js", "icon.svg"} {
		r := httptest.NewRequest("GET", "/x/"+name, nil)
		_, body, head := ask(h, "GET", "/x/"+name, nil)
		if !IsAsset(r) || body == "" || head.Get("ETag") == "" {
			t.Errorf("%s: %t, %d bytes, %v", name, IsAsset(r), len(body), head)
		}
		if status, _, _ := ask(h, "GET", "/x/"+name, nil, "If-None-Match", head.Get("ETag")); status != http.StatusNotModified {
			t.Errorf("%s again: %d", name, status)
		}
	}
	for _, name := range []string{"", "rules", "events", "page.css/x", "mode"} {
		if IsAsset(httptest.NewRequest("GET", "/"+name, nil)) {
			t.Errorf("%q is no asset", name)
		}
	}
}

// TestAPageWithoutOptionsShowsWhatItHas: and says of the rest that there is none.
func TestAPageWithoutOptionsShowsWhatItHas(t *testing.T) {
	h := weir.Must(New(still(t, 0), nil))
	if body := get(t, h, "/"); !strings.Contains(body, "No rule has been asked.") || strings.Contains(body, `href="./policy"`) {
		t.Errorf("%s", body)
	}
	for _, path := range []string{"/policy", "/explain", "/audit", "/none", "/rule?id=x"} {
		if status, _, _ := ask(h, "GET", path, nil); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
	if _, err := New(nil, nil); err == nil {
		t.Error("a nil Recorder is no error")
	}
}

// TestTheFormOfASignInPostsToItself: with the reason, as text.
func TestTheFormOfASignInPostsToItself(t *testing.T) {
	w := httptest.NewRecorder()
	if err := WriteSignIn(w, http.StatusUnauthorized, "Shop", "<b>no</b>", true); err != nil {
		t.Fatal(err)
	}
	body := w.Body.String()
	if w.Code != http.StatusUnauthorized || !strings.Contains(body, `action="sign-in"`) || !strings.Contains(body, "&lt;b&gt;no") || !strings.Contains(body, `name="tenant"`) {
		t.Errorf("%d\n%s", w.Code, body)
	}
}

// TestAnExplanationSaysTheTimesOfALimit: of a schedule.
func TestAnExplanationSaysTheTimesOfALimit(t *testing.T) {
	got := explainedLimitOf(&policy.PlannedLimit{Action: policy.ActionBlock, Source: policy.FromTier, When: "Sat-Sun", Enforced: true}).Says
	if want := "blocks, from tier at Sat-Sun"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestSeriesWithoutANumberAreEmptyLists: the page adds to them, also where it was opened in the first
// second of a process.
func TestSeriesWithoutANumberAreEmptyLists(t *testing.T) {
	p := open(t, nil)
	for _, path := range []string{"/data?range=minutes", "/data?range=hour", "/data?rule=none"} {
		var answer map[string]any
		if err := json.Unmarshal([]byte(get(t, p, path)), &answer); err != nil {
			t.Fatal(err)
		}
		for _, field := range []string{"at", "allowed", "denied", "shadow", "errors", "p50", "p99"} {
			if _, is := answer[field].([]any); !is {
				t.Errorf("%s: %s is %v", path, field, answer[field])
			}
		}
	}
}
