package policy

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// reporter is what both a test and a check of rapid are.
type reporter interface{ Fatalf(string, ...any) }

// ruleSet is a policy with one rule for each set of patterns.
func ruleSet(sets [][]string, attributes func(i int) Conditions) Policy {
	p := Policy{Version: FormatVersion, Attributes: map[string]Attribute{"a": {}}}
	for i, patterns := range sets {
		r := Rule{ID: fmt.Sprint("r", i), Endpoints: map[string]LimitRef{}}
		for _, pattern := range patterns {
			r.Endpoints[pattern] = LimitRef{Spec: "gcra:1/1s"}
		}
		if attributes != nil {
			r.Match.Attributes = attributes(i)
		}
		p.Rules = append(p.Rules, r)
	}
	return p
}

// comparison holds rules, each with a set of patterns, against a ServeMux for each of them.
type comparison struct {
	sets     [][]string
	compiled []*Compiled // rules that are found by their endpoints, and by their attributes
	muxes    []*http.ServeMux
}

func newComparison(t reporter, sets [][]string) *comparison {
	c := &comparison{sets: sets}
	for _, attributes := range []func(int) Conditions{nil, func(i int) Conditions { return Conditions{"a": {"x", fmt.Sprint("only", i)}} }} {
		compiled, err := Compile(ruleSet(sets, attributes), nil)
		if err != nil {
			t.Fatalf("%v", err)
		}
		c.compiled = append(c.compiled, compiled)
	}
	for _, patterns := range sets {
		mux := http.NewServeMux()
		for _, p := range patterns {
			mux.Handle(p, http.NotFoundHandler())
		}
		c.muxes = append(c.muxes, mux)
	}
	return c
}

// compare holds the patterns that a request meets, by rule, against ServeMux.
func (c *comparison) compare(t reporter, method, host, target string) {
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return
	}
	if u.Host == "" {
		u.Host = host
	}
	request := Request{Method: method, Host: u.Host, Path: u.EscapedPath(), Attributes: Attributes{"a": "x"}}
	served := &http.Request{Method: method, Host: strings.ToLower(u.Host), URL: u}
	for _, compiled := range c.compiled {
		var p Plan
		compiled.Resolve(&p, request, 1)
		got := map[string]string{}
		for _, l := range p.Limits {
			got[l.Rule] = l.Name
		}
		for i, mux := range c.muxes {
			_, want := mux.Handler(served)
			if rule := fmt.Sprint("r", i); got[rule] != want {
				t.Fatalf("%s %s %s: rule %s with %q meets %q, ServeMux says %q", method, host, target, rule, c.sets[i], got[rule], want)
			}
		}
	}
}

// drawnSets draws sets of patterns that do not conflict.
func drawnSets(t *rapid.T) [][]string {
	segment := rapid.SampledFrom([]string{"a", "b", "{x}", "{y}", "a%2Fb", "A", "api", "%2F", "."})
	var sets [][]string
	for range rapid.IntRange(1, 4).Draw(t, "rules") {
		mux := http.NewServeMux()
		var patterns []string
		for range rapid.IntRange(1, 5).Draw(t, "patterns") {
			var b strings.Builder
			b.WriteString(rapid.SampledFrom([]string{"", "", "GET ", "POST ", "HEAD ", "get "}).Draw(t, "method"))
			b.WriteString(rapid.SampledFrom([]string{"", "", "h.example", "other"}).Draw(t, "host"))
			for range rapid.IntRange(0, 3).Draw(t, "segments") {
				b.WriteString("/" + segment.Draw(t, "segment"))
			}
			for _, end := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"", "/", "/{$}", "/{rest...}"}), 1, 3, rapid.ID[string]).Draw(t, "ends") {
				text := b.String() + end
				if _, err := parsePattern(text); err == nil && accept(mux, text) == nil {
					patterns = append(patterns, text)
				}
			}
		}
		if len(patterns) > 0 {
			sets = append(sets, patterns)
		}
	}
	return sets
}

func TestEndpointsMatchAsServeMuxDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newComparison(t, drawnSets(t))
		segment := rapid.SampledFrom([]string{"a", "b", "c", "", ".", "..", "%2e", "%2E%2e", "a%2Fb", "a%2fb", "%2F", "a;x", "A", "%61", "api", "a b"})
		for range 20 {
			var b strings.Builder
			b.WriteString(rapid.SampledFrom([]string{"", "", "", "http://h.example", "http://h.example:80"}).Draw(t, "absolute"))
			for range rapid.IntRange(0, 5).Draw(t, "segments") {
				b.WriteString("/" + segment.Draw(t, "segment"))
			}
			b.WriteString(rapid.SampledFrom([]string{"", "/", "//", "?q=/x"}).Draw(t, "end"))
			method := rapid.SampledFrom([]string{"GET", "POST", "HEAD", "get", "Get", "PUT"}).Draw(t, "method")
			host := rapid.SampledFrom([]string{"", "h.example", "h.example:8080", "other", "[::1]:80", "elsewhere"}).Draw(t, "host")
			c.compare(t, method, host, b.String())
		}
	})
}

// FuzzEndpoints compares a fixed set of rules with ServeMux on any request.
func FuzzEndpoints(f *testing.F) {
	sets := [][]string{
		{"POST /login", "/login/{$}", "/"},
		{"/api/", "GET /api/orders/{id}", "POST /api/orders", "/api/v1/{rest...}"},
		{"GET /{x}", "/{x}/b", "h.example/", "h.example/a%2Fb"},
		{"/a/{$}", "/a/b"},
		{"/{a}/{b}/"},
		{"/both", "/both/", "/both/{x}/", "/both/{x}", "/both/deep/{$}"},
	}
	for _, target := range []string{
		"/login", "/login/", "//login", "/./login", "/x/../login", "/%6cogin", "/login%2F", "/login;x", "/LOGIN", "/%2e/login",
		"/%2e%2e/login", "http://h.example/login", "http://h.example:80/a", "/both", "/both/", "/both/a", "/both/a/", "/both/deep", "/api", "/api/", "/api//orders", "/api/orders/7", "/a%2fb", "/a/%2F", "/a/%2F/", "*", "/%zz",
	} {
		f.Add("POST", "h.example:80", target)
		f.Add("HEAD", "", target)
	}
	c := newComparison(f, sets)
	f.Fuzz(func(t *testing.T, method, host, target string) {
		if method == "CONNECT" || strings.ContainsAny(host, "/\x00") || strings.HasSuffix(host, ".") || strings.ToLower(host) != host {
			t.Skip() // CONNECT is not cleaned by ServeMux; hosts are lower case here, and end without a dot
		}
		if u, err := url.ParseRequestURI(target); err == nil && method == "" && u.EscapedPath() == "" {
			t.Skip() // it is no HTTP request to a policy, and no server has one
		} else if err != nil || u.Opaque != "" || u.Path == "*" || canonicalHost(u.Host) != strings.ToLower(u.Hostname()) || strings.ToLower(u.Host) != u.Host {
			t.Skip()
		}
		c.compare(t, method, host, target)
	})
}

func TestEndpointsOfTricks(t *testing.T) {
	c, err := Compile(ruleSet([][]string{{"POST /login"}, {"/api/"}, {"POST login.example/"}}, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		method, host, path string
		rules              string
	}{
		{"POST", "", "/login", "r0"},
		{"POST", "", "//login", "r0"},
		{"POST", "", "/./login", "r0"},
		{"POST", "", "/x/../login", "r0"},
		{"POST", "", "/%6Cogin", "r0"},
		{"POST", "", "login", "r0"},
		{"POST", "", "/LOGIN", ""},     // another resource
		{"post", "", "/login", ""},     // another method
		{"POST", "", "/login/", ""},    // no mux serves it as /login
		{"POST", "", "/login;x", ""},   // nor this
		{"POST", "", "/login%2F", ""},  // one segment, "login/"
		{"POST", "", "/%2e/login", ""}, // a segment "."
		{"POST", "", "/login%", ""},    // cannot be decoded
		{"GET", "", "/api", "r1"},      // answered by a redirect to /api/
		{"GET", "", "/api/", "r1"},
		{"GET", "", "/api/x/y%2Fz", "r1"},
		{"GET", "", "/apix", ""},
		{"POST", "LOGIN.example:443", "/", "r2"},
		{"POST", "login.example.", "", "r2"},
		{"", "login.example", "", ""}, // not HTTP
	} {
		var p Plan
		c.Resolve(&p, Request{Method: test.method, Host: test.host, Path: test.path}, 1)
		var rules []string
		for _, l := range p.Limits {
			rules = append(rules, l.Rule)
		}
		if got := strings.Join(rules, " "); got != test.rules {
			t.Errorf("%s %s%s meets %q, want %q", test.method, test.host, test.path, got, test.rules)
		}
	}
}
