package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weirgo/weir/httplimit"
	"pgregory.net/rapid"
)

func TestKeys(t *testing.T) {
	basic := get("203.0.113.7:1")
	basic.SetBasicAuth("alice", "secret")
	nobody := get("203.0.113.7:1")
	nobody.SetBasicAuth("", "secret")
	path := get("203.0.113.7:1")
	path.SetPathValue("tenant", "acme")
	const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // SHA-256 of "abc"
	for name, test := range map[string]struct {
		key  httplimit.Key
		r    *http.Request
		want string
	}{
		"header":                    {httplimit.Header("x-user"), get("", "X-User", " 42 "), "42"},
		"header, first line":        {httplimit.Header("X-User"), get("", "X-User", "1", "X-User", "2"), "1"},
		"no header":                 {httplimit.Header("X-User"), get(""), ""},
		"API key":                   {httplimit.APIKey("X-Api-Key"), get("", "X-Api-Key", "abc"), abc},
		"bearer":                    {httplimit.APIKey("Authorization"), get("", "Authorization", "Bearer  abc"), abc},
		"bearer without scheme":     {httplimit.APIKey("authorization"), get("", "Authorization", "abc"), abc},
		"no API key":                {httplimit.APIKey("X-Api-Key"), get(""), ""},
		"cookie":                    {httplimit.Cookie("session"), get("", "Cookie", "a=b; session=abc"), abc},
		"empty cookie":              {httplimit.Cookie("session"), get("", "Cookie", "session="), ""},
		"no cookie":                 {httplimit.Cookie("session"), get(""), ""},
		"basic user":                {httplimit.BasicUser, basic, "alice"},
		"basic user without a name": {httplimit.BasicUser, nobody, ""},
		"no basic user":             {httplimit.BasicUser, get(""), ""},
		"path value":                {httplimit.PathValue("tenant"), path, "acme"},
		"no path value":             {httplimit.PathValue("other"), path, ""},
		"no pattern":                {httplimit.Pattern, path, ""},
		"join":                      {httplimit.Join(httplimit.PathValue("tenant"), httplimit.Header("X-User")), withHeader(path, "X-User", "1:x"), "4:acme3:1:x"},
		"join, one absent":          {httplimit.Join(httplimit.PathValue("tenant"), httplimit.Header("X-User")), path, ""},
		"join of nothing":           {httplimit.Join(), path, ""},
		"first":                     {httplimit.First(httplimit.Header("X-User"), httplimit.PathValue("tenant")), path, "1:acme"},
		"first of nothing":          {httplimit.First(), path, ""},
		"a key that is empty":       {httplimit.First(func(*http.Request) (string, bool) { return "", true }), path, ""},
	} {
		got, ok := test.key(test.r)
		if ok != (test.want != "") || ok && got != test.want {
			t.Errorf("%s: %q, %v; want %q", name, got, ok, test.want)
		}
	}
}

func withHeader(r *http.Request, name, value string) *http.Request {
	r = r.Clone(r.Context())
	r.Header.Set(name, value)
	return r
}

func TestJoinedKeysDoNotCollide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringOfN(rapid.RuneFrom([]rune("1:a|%")), 1, 4, -1)
		parts := func(name string) (key string, texts []string) {
			texts = rapid.SliceOfN(part, 1, 3).Draw(t, name)
			keys := make([]httplimit.Key, len(texts))
			for i, text := range texts {
				keys[i] = func(*http.Request) (string, bool) { return text, true }
			}
			key, _ = httplimit.Join(keys...)(nil)
			return key, texts
		}
		a, of := parts("a")
		b, from := parts("b")
		if same := strings.Join(of, "\x00") == strings.Join(from, "\x00"); (a == b) != same {
			t.Fatalf("%q is %q and %q is %q", of, a, from, b)
		}
	})
}

func TestSkipAddresses(t *testing.T) {
	behind, err := httplimit.NewClientAddress(&httplimit.AddressOptions{Trusted: []string{"10.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	skip, err := httplimit.SkipAddresses(behind, "192.0.2.0/24", "2001:db8::1")
	if err != nil {
		t.Fatal(err)
	}
	any := httplimit.SkipAny(httplimit.IsPreflight, skip)
	for remote, want := range map[string]bool{
		"192.0.2.7:1": true, "[2001:db8::1]:1": true, "[2001:db8::2]:1": false, "203.0.113.7:1": false, "10.0.0.1:1": false, "@": false,
	} {
		if got := any(get(remote)); got != want {
			t.Errorf("%s: %v", remote, got)
		}
	}
	if !skip(get("10.0.0.1:1", "X-Forwarded-For", "192.0.2.9")) || skip(get("203.0.113.7:1", "X-Forwarded-For", "192.0.2.9")) {
		t.Error("the header is believed of the wrong peer")
	}
	if _, err := httplimit.SkipAddresses(nil, "192.0.2.0/24", "office"); err == nil || !strings.Contains(err.Error(), `addresses[1] is "office"`) {
		t.Errorf("error %v", err)
	}
	if none, err := httplimit.SkipAddresses(nil); err != nil || none(httptest.NewRequest("GET", "/", nil)) {
		t.Errorf("no addresses: %v", err)
	}
}
