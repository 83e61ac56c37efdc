package ui

import (
	"context"
	"errors"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/policy"
	memorystore "github.com/weirgo/weir/store/memory"
)

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
		if !shown && strings.Contains(all, "-4711") {
			t.Errorf("a key is shown: %s", all[max(0, strings.Index(all, "-4711")-200):][:300])
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
