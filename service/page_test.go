package service

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/weirgo/weir/api/weirv1"
	"github.com/weirgo/weir/service/config"
)

// browser asks the listener of operators, and keeps cookies, but follows no redirect.
type browser struct {
	*running
	cookies map[string]*http.Cookie
}

func (b *browser) do(t *testing.T, method, path string, form url.Values, heads ...string) (*http.Response, string) {
	t.Helper()
	_, _, admin := b.Addresses()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+admin.String()+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(heads); i += 2 {
		r.Header.Set(heads[i], heads[i+1])
	}
	for _, c := range b.cookies {
		r.AddCookie(c)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range answer.Cookies() {
		if b.cookies == nil {
			b.cookies = map[string]*http.Cookie{}
		}
		if b.cookies[c.Name] = c; c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return answer, string(text)
}

// page returns the text of a page that is shown.
func (b *browser) page(t *testing.T, path string, heads ...string) string {
	t.Helper()
	answer, text := b.do(t, "GET", path, nil, heads...)
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d\n%s", path, answer.StatusCode, text)
	}
	return text
}

// total is a number of the page since the start.
func total(t *testing.T, page, name string) string {
	t.Helper()
	found := regexp.MustCompile(`data-total="` + regexp.QuoteMeta(name) + `">([^<]*)<`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("the page has no total of %s", name)
	}
	return strings.ReplaceAll(found[1], ",", "")
}

const shadowPolicy = `version: 1
rules:
  - {id: user, key: [user], limit: 'gcra:3/1h'}
  - {id: trial, key: [user], limit: 'gcra:2/1h', mode: shadow}
`

// TestThePageShowsTheNumbersOfMetrics: results, errors and rules, after decisions by the
// policy, by limits with names, for Envoy and for gubernator's clients; and nobody who asked.
func TestThePageShowsTheNumbersOfMetrics(t *testing.T) {
	folder := files(t, "policy.yaml", shadowPolicy, "envoy.yaml", "domain: shop\ndescriptors: [{key: path, rate_limit: {unit: hour, requests_per_unit: 2}}]\n",
		"weir.yaml", free+"policy: {file: policy.yaml}\nlimits: {api: 'fixed-window:2/1h'}\nrls: {files: [envoy.yaml]}\ngubernator: {enabled: true}\nstore: {max_keys: 4}\non_failure: closed\n")
	b := &browser{running: run(t, load(t, folder), nil)}
	for range 5 {
		if _, err := b.CheckRateLimit(t.Context(), user("marked-4711")); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Allow(t.Context(), &weirv1.AllowRequest{LimitName: "api", Key: "marked-4711"}); err != nil {
			t.Fatal(err)
		}
		_, at, _ := b.Addresses()
		for path, body := range map[string]string{
			"/json":             `{"domain":"shop","descriptors":[{"entries":[{"key":"path","value":"marked-4711"}]}]}`,
			"/v1/GetRateLimits": `{"requests":[{"name":"n","unique_key":"marked-4711","hits":1,"limit":2,"duration":3600000}]}`,
		} {
			answer, err := http.Post("http://"+at.String()+path, "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
		}
	}
	for i := range 5 { // the store is full
		_, _ = b.CheckRateLimit(t.Context(), user("marked-4711-"+strconv.Itoa(i)))
	}
	page := b.page(t, "/ui/")
	_, metrics := b.metricsPage(t, "")
	sum := func(line string) (n float64) {
		for _, found := range regexp.MustCompile(`(?m)^`+line+`\} (.*)$`).FindAllStringSubmatch(metrics, -1) {
			v, err := strconv.ParseFloat(found[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			n += v
		}
		return n
	}
	for name, line := range map[string]string{
		"allowed":           `rate_limiter_requests_total\{[^}]*result="allowed"`,
		"denied":            `rate_limiter_requests_total\{[^}]*result="denied"`,
		"allowed in shadow": `rate_limiter_requests_total\{[^}]*result="shadow_allowed"`,
		"denied in shadow":  `rate_limiter_requests_total\{[^}]*result="shadow_denied"`,
		"errors":            `rate_limiter_requests_total\{[^}]*result="error"`,
	} {
		if got, want := total(t, page, name), strconv.FormatFloat(sum(line), 'f', -1, 64); got != want || want == "0" {
			t.Errorf("%s: %s on the page, %s in metrics", name, got, want)
		}
	}
	if got := sum(`rate_limiter_requests_total\{algorithm="gubernator-window"[^}]*`); got != 5 {
		t.Errorf("%v answers to gubernator's clients are counted, want 5", got)
	}
	if strings.Contains(metrics, "marked") {
		t.Error("the metrics show who asked")
	}
	for rule, result := range map[string]string{"user": "denied", "trial": "shadow_denied"} {
		want := strconv.FormatFloat(sum(`rate_limiter_rule_decisions_total\{enforcer="default",result="`+result+`",rule="`+rule+`"`), 'f', -1, 64)
		cells := regexp.MustCompile(`rule\?id=` + rule + `">.*`).FindString(page)
		if !strings.Contains(cells, "<td>"+want+"</td>") || want == "0" {
			t.Errorf("%s: %s in metrics, and on the page %s", rule, want, cells)
		}
	}
	for _, path := range []string{"/ui/", "/ui/rules", "/ui/rule?id=user", "/ui/policy", "/ui/data", "/ui/explain"} {
		if text := b.page(t, path); strings.Contains(text, "marked") {
			t.Errorf("%s shows who asked", path)
		}
	}
	if text := b.page(t, "/ui/rule?id=trial"); !strings.Contains(text, "Rules are changed in the file ") {
		t.Error("the page does not say where rules are changed")
	}
}

// TestThePageShowsKeysWhereItIsTold: by ui.show_keys.
func TestThePageShowsKeysWhereItIsTold(t *testing.T) {
	b := &browser{running: run(t, load(t, files(t, "policy.yaml", userPolicy, "weir.yaml", free+"policy: {file: policy.yaml}\nui: {show_keys: true}\n")), nil)}
	if _, err := b.CheckRateLimit(t.Context(), user("marked-4711")); err != nil {
		t.Fatal(err)
	}
	if text := b.page(t, "/ui/"); !strings.Contains(text, "<code>user=marked-4711</code>") {
		t.Error("the key is not shown")
	}
}

// TestTheLogHasTheHashOfThePage: where log.key_hash says so, with a secret and without, so that
// the lines about a subject of the page can be found; and no key.
func TestTheLogHasTheHashOfThePage(t *testing.T) {
	for settings, hashed := range map[string]bool{"": false, "log: {key_hash: true}\n": true, "log: {key_hash: true}\nsecret_file: secret\n": true} {
		var log bytes.Buffer
		folder := files(t, "policy.yaml", userPolicy, "secret", "0123456789abcdef", "weir.yaml", free+"policy: {file: policy.yaml}\n"+settings)
		b := &browser{running: runLogged(t, load(t, folder), &Options{}, slog.New(slog.NewTextHandler(&synced{to: &log}, &slog.HandlerOptions{Level: slog.LevelDebug})))}
		if _, err := b.CheckRateLimit(t.Context(), user("marked-4711")); err != nil {
			t.Fatal(err)
		}
		shown := regexp.MustCompile(`<code>([0-9a-f]{16})</code>`).FindStringSubmatch(b.page(t, "/ui/"))
		if shown == nil {
			t.Fatal("the page shows no subject")
		}
		b.stop() // what was logged is read afterwards
		if err := b.wait(t); err != nil {
			t.Fatal(err)
		}
		line := regexp.MustCompile(`msg="rate limit: decided" tenant=default .*`).FindString(log.String())
		if line == "" || strings.Contains(line, " key_hash="+shown[1]+" ") != hashed || strings.Contains(line, "key_hash") != hashed {
			t.Errorf("%q: the page shows %s, the log says %s", settings, shown[1], line)
		}
		if strings.Contains(log.String(), "marked") {
			t.Errorf("%q: the log has the key", settings)
		}
	}
}

// guarded runs a service with callers, an audit, and a policy that may be changed.
func guarded(t *testing.T) *browser {
	t.Helper()
	folder := files(t, "weir.yaml", free+"auth: {file: callers.yaml}\naudit: {folder: audit}\ntenants: {acme: {}}\n",
		"callers.yaml", callers("reader read default", "writer write default", "checker check default", "acme read acme", "any read '*'"))
	return &browser{running: run(t, load(t, folder), &Options{Policy: []byte(shadowPolicy)})}
}

func (b *browser) signIn(t *testing.T, token, tenant string, heads ...string) int {
	t.Helper()
	answer, _ := b.do(t, "POST", "/ui/sign-in", url.Values{"token": {token}, "tenant": {tenant}}, heads...)
	return answer.StatusCode
}

// TestThePageAsksWhoComes: it is shown to those who may read, by a header or a cookie; and what
// it is made of to everybody.
func TestThePageAsksWhoComes(t *testing.T) {
	b := guarded(t)
	for token, want := range map[string]int{"": http.StatusUnauthorized, "no": http.StatusUnauthorized, "token-checker": http.StatusForbidden, "token-any": http.StatusForbidden, "token-reader": http.StatusOK} {
		for _, path := range []string{"/ui/", "/ui/events-that-are-none", "/ui/audit", "/ui/data", "/ui/rule?id=user"} {
			heads := []string{}
			if token != "" {
				heads = []string{"Authorization", "Bearer " + token}
			}
			answer, text := b.do(t, "GET", path, nil, heads...)
			if want == http.StatusOK && strings.HasSuffix(path, "none") {
				continue
			}
			if answer.StatusCode != want || want != http.StatusOK && !strings.Contains(text, `action="sign-in"`) {
				t.Errorf("%q, %s: %d, want %d", token, path, answer.StatusCode, want)
			}
		}
		if got := b.signIn(t, token, ""); want != http.StatusOK && (got != want || len(b.cookies) > 0) {
			t.Errorf("sign in with %q: %d, want %d; cookies %v", token, got, want, b.cookies)
		}
		b.cookies = nil
	}
	for _, path := range []string{"/ui/page.css", "/ui/page.js", "/ui/uplot.js", "/ui/icon.svg"} {
		b.page(t, path)
	}
	if got := b.signIn(t, "token-reader", "", "Sec-Fetch-Site", "cross-site"); got != http.StatusForbidden {
		t.Errorf("another site signs in: %d", got)
	}
	if got := b.signIn(t, strings.Repeat("x", mostCookie), ""); got != http.StatusUnprocessableEntity {
		t.Errorf("a long token: %d", got)
	}
	if got := b.signIn(t, " token-reader ", ""); got != http.StatusSeeOther {
		t.Fatalf("sign in: %d", got)
	}
	if c := b.cookies[sessionCookie]; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "" || c.Domain != "" || strings.Contains(c.Value, "token-reader") {
		t.Errorf("%+v", c)
	}
	if text := b.page(t, "/ui/"); !strings.Contains(text, "reader (read)") || !strings.Contains(text, `action="sign-out"`) {
		t.Error("the page does not say who has signed in")
	}
	if answer, _ := b.do(t, "POST", "/ui/sign-out", url.Values{}); answer.StatusCode != http.StatusSeeOther || len(b.cookies) > 0 {
		t.Errorf("sign out: %d, %v", answer.StatusCode, b.cookies)
	}
	if got := b.signIn(t, "token-any", "acme"); got != http.StatusSeeOther {
		t.Errorf("a caller for every tenant: %d", got)
	}
	if text := b.page(t, "/ui/"); !strings.Contains(text, "weir: acme") {
		t.Error("it is not the page of the tenant")
	}
}

// TestThePageOfATenantIsItsOwn: its rules, subjects and numbers.
func TestThePageOfATenantIsItsOwn(t *testing.T) {
	b := guarded(t)
	_, at, _ := b.Addresses()
	r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+at.String()+"/api/v1/check", strings.NewReader(`{"identifier":"u","dimension":"USER","endpoint":"/"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer token-writer")
	checked, err := http.DefaultClient.Do(r)
	if err != nil || checked.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", checked, err)
	}
	checked.Body.Close()
	for token, want := range map[string]string{"token-reader": "1", "token-acme": "0"} {
		if got := total(t, b.page(t, "/ui/", "Authorization", "Bearer "+token), "allowed"); got != want {
			t.Errorf("%s sees %s, want %s", token, got, want)
		}
	}
}

// TestARuleIsEnforcedOnThePage: by a writer alone, with a line in the audit; whatever else is
// tried changes nothing.
func TestARuleIsEnforcedOnThePage(t *testing.T) {
	b := guarded(t)
	writer := []string{"Authorization", "Bearer token-writer"}
	shown := b.page(t, "/ui/rule?id=trial", writer...)
	version := regexp.MustCompile(`name="version" value="([^"]+)"`).FindStringSubmatch(shown)
	if version == nil {
		t.Fatal("no form is offered to a writer")
	}
	if text := b.page(t, "/ui/rule?id=trial", "Authorization", "Bearer token-reader"); strings.Contains(text, `action="mode"`) {
		t.Error("a form is offered to a reader")
	}
	form := url.Values{"rule": {"trial"}, "mode": {"enforce"}, "version": {version[1]}}
	for name, try := range map[string]struct {
		heads []string
		want  int
	}{
		"nobody":            {nil, http.StatusUnauthorized},
		"a reader":          {[]string{"Authorization", "Bearer token-reader"}, http.StatusForbidden},
		"a wrong token":     {[]string{"Authorization", "Bearer no"}, http.StatusUnauthorized},
		"from another site": {append([]string{"Origin", "https://evil.example"}, writer...), http.StatusForbidden},
	} {
		if answer, _ := b.do(t, "POST", "/ui/mode", form, try.heads...); answer.StatusCode != try.want {
			t.Errorf("%s: %d, want %d", name, answer.StatusCode, try.want)
		}
	}
	if rule, _, err := b.tenants[config.DefaultTenant].rules.List(t.Context()); err != nil || rule[1].Mode != "shadow" {
		t.Fatalf("a refused change was made: %v, %v", rule, err)
	}
	if got := b.signIn(t, "token-writer", ""); got != http.StatusSeeOther {
		t.Fatalf("sign in: %d", got)
	}
	answer, text := b.do(t, "POST", "/ui/mode", form)
	if answer.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d\n%s", answer.StatusCode, text)
	}
	eventually(t, "the rule counts", func() bool {
		return strings.Contains(b.page(t, "/ui/rule?id=trial&done=enforce"), "<dt>Mode</dt><dd>enforce</dd>")
	})
	if answer, _ := b.do(t, "POST", "/ui/mode", form); answer.StatusCode != http.StatusConflict {
		t.Errorf("the same form again: %d", answer.StatusCode)
	}
	for what, path := range map[string]string{
		"rule.replace": "/ui/audit", "rule:trial": "/ui/audit", "refused": "/ui/audit", "rule trial: changed": "/ui/policy", `&#34;mode&#34;: &#34;shadow&#34;`: "/ui/policy",
	} {
		if text := b.page(t, path); !strings.Contains(text, what) {
			t.Errorf("%s says nothing of %s", path, what)
		}
	}
}

// TestThePageChangesNothingWithoutCallers: where anybody may be who asks.
func TestThePageChangesNothingWithoutCallers(t *testing.T) {
	b := &browser{running: run(t, load(t, files(t, "weir.yaml", free)), &Options{Policy: []byte(shadowPolicy)})}
	if text := b.page(t, "/ui/rule?id=trial"); strings.Contains(text, `action="mode"`) || !strings.Contains(text, "it needs auth.file") {
		t.Error("a form is offered")
	}
	rules, version, err := b.tenants[config.DefaultTenant].rules.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if answer, _ := b.do(t, "POST", "/ui/mode", url.Values{"rule": {"trial"}, "mode": {"enforce"}, "version": {version}}); answer.StatusCode != http.StatusForbidden {
		t.Errorf("%d, want 403", answer.StatusCode)
	}
	if after, _, err := b.tenants[config.DefaultTenant].rules.List(t.Context()); err != nil || after[1].Mode != rules[1].Mode {
		t.Errorf("%v, %v", after, err)
	}
}

// TestExplanationsOfThePageAreOfTheTenant: whatever tenant is sent.
func TestExplanationsOfThePageAreOfTheTenant(t *testing.T) {
	b := guarded(t)
	answer, text := b.do(t, "POST", "/ui/explain", url.Values{"method": {"GET"}, "path": {"/"}, "attributes": {"user=marked-4711"}}, "Authorization", "Bearer token-reader")
	if answer.StatusCode != http.StatusOK || !strings.Contains(text, "gcra:3/1h, from rule, costs 1") || strings.Contains(text, "marked") {
		t.Errorf("%d\n%s", answer.StatusCode, text)
	}
}

// TestStreamsEndWhenTheServiceStops: so that it does not wait for browsers until its time-out.
func TestStreamsEndWhenTheServiceStops(t *testing.T) {
	b := &browser{running: run(t, load(t, files(t, "weir.yaml", strings.Replace(free, "timeout: 20s", "timeout: 10m", 1))), nil)}
	_, _, admin := b.Addresses()
	answer, err := http.Get("http://" + admin.String() + "/ui/events")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b.stop()
	if err := b.wait(t); err != nil {
		t.Error(err)
	}
}

// TestEveryPathOfAFormIsAWrite: the page looks at the last part of a path alone.
func TestEveryPathOfAFormIsAWrite(t *testing.T) {
	folder := files(t, "weir.yaml", free+"auth: {file: callers.yaml}\nself_limits: {writes: 'fixed-window:2/1h'}\n", "callers.yaml", callers("writer write default"))
	b := &browser{running: run(t, load(t, folder), &Options{Policy: []byte(shadowPolicy)})}
	for i, want := range []int{http.StatusConflict, http.StatusConflict, http.StatusTooManyRequests} {
		form := url.Values{"rule": {"trial"}, "mode": {"enforce"}, "version": {"another"}}
		if answer, _ := b.do(t, "POST", "/ui/below/mode", form, "Authorization", "Bearer token-writer"); answer.StatusCode != want {
			t.Errorf("write %d: %d, want %d", i+1, answer.StatusCode, want)
		}
	}
}
