package policy

import (
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/weirgo/weir/internal/document"
)

func compiledSchema(t testing.TB) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(Schema(nil), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// onlyParse begins problems that a schema cannot see: they are between fields, or in the
// language of a text.
var onlyParse = []string{
	"unknown ", "a cycle", "conflicts with", "is the id of", "the rule is never active", "no tier for", "the tier ", "no address", "no network",
	"bits behind", "addresses are compared", "an IPv4 address", "the rule has several limits",
	// A pattern of ServeMux, and the numbers of a spec.
	"at offset", "empty", "host/path", "invalid", "limit ", "period ", "burst ", "rate ", "option ",
}

// onlyParseFields are fields whose values depend on others.
var onlyParseFields = []string{"ipv6_prefix", "secret", "calm_at", "replaces", "key", "default", "max", "attribute", "id", "attributes", "from", "until"}

// TestSchemaAcceptsWhatParseAccepts, for documents that were changed in one place: what
// the schema refuses Parse refuses, and what only Parse refuses is between fields.
func TestSchemaAcceptsWhatParseAccepts(t *testing.T) {
	schema := compiledSchema(t)
	opts := &CompileOptions{SecretKey: make([]byte, 16)}
	base := plainDocument(t, whole)
	random := rand.New(rand.NewPCG(1, 2))
	accepted, refused := 0, 0
	for range 8 * checks() {
		changed := clone(base)
		what := change(random, changed)
		text, err := json.Marshal(changed)
		if err != nil {
			t.Fatal(err)
		}
		_, parsed := Parse(text, opts)
		var instance any
		if err := json.Unmarshal(text, &instance); err != nil {
			t.Fatal(err)
		}
		valid := schema.Validate(instance)
		switch {
		case valid != nil && parsed == nil:
			t.Errorf("%s: Parse accepts what the schema refuses: %v", what, valid)
		case valid == nil && parsed != nil && !between(parsed):
			t.Errorf("%s: the schema accepts what Parse refuses: %v", what, parsed)
		case parsed == nil:
			accepted++
		case valid != nil:
			refused++
		}
	}
	if accepted < checks()/2 || refused < 4*checks() {
		t.Errorf("%d accepted and %d refused by both: the changes try too little", accepted, refused)
	}
}

// checks is the number of checks of a property: 100, or what -rapid.checks says.
func checks() int {
	n, _ := flag.Lookup("rapid.checks").Value.(flag.Getter).Get().(int)
	return n
}

// between reports whether all errors are ones that a schema cannot see.
func between(err error) bool {
	var invalid *InvalidError
	if !errors.As(err, &invalid) {
		return false
	}
	for _, e := range invalid.Fields {
		text := e.Problem
		known := strings.Contains(e.Allowed, ", as the tier ") || slices.ContainsFunc(onlyParse, func(begin string) bool { return strings.HasPrefix(text, begin) })
		for _, element := range e.Path {
			name, _ := element.(string)
			known = known || e.Problem == "" && slices.Contains(onlyParseFields, name)
		}
		if !known {
			return false
		}
	}
	return true
}

// plainDocument is a YAML text as encoding/json would read it.
func plainDocument(t *testing.T, text string) any {
	t.Helper()
	root, errs := document.Parse([]byte(text))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var plain func(n *document.Node) any
	plain = func(n *document.Node) any {
		switch n.Kind {
		case document.Mapping:
			m := map[string]any{}
			for _, f := range n.Fields {
				m[f.Name] = plain(f.Value)
			}
			return m
		case document.List:
			var l []any
			for _, i := range n.Items {
				l = append(l, plain(i))
			}
			return l
		case document.Integer:
			return json.Number(n.Text)
		case document.Bool:
			return n.Text == "true"
		}
		return n.Text
	}
	return plain(root)
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := map[string]any{}
		for k, e := range v {
			c[k] = clone(e)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = clone(e)
		}
		return c
	}
	return v
}

// strange are values that may stand where they do not belong.
var strange = []any{
	nil, true, false, 0, 1, 2, -1, 100, 101, 129, 1.5, 1e12, "", "x", "0", "1", "*", "!x", "a b", "enforce 0%", "enforce 100%", "shadow", "skip", "open",
	"2026-12-31", "2026-12-31T00:00:00Z", "2026-12-31T00:00:00", "gcra:1/1m", "gcra", "sliding-window:1/1m", "unlimited", "GET /x", "login", "api", "org", "units",
	[]any{}, []any{nil}, []any{"x"}, []any{"org"}, []any{1}, []any{[]any{}}, map[string]any{}, map[string]any{"x": "y"}, map[string]any{"org": "x"},
	map[string]any{"tier": "api"}, map[string]any{"spec": "gcra:1/1s"}, map[string]any{"x": nil},
}

// change changes one place of a document, and says what it did.
func change(random *rand.Rand, v any) string {
	switch at := v.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(at))
		if len(names) == 0 || random.IntN(12) == 0 {
			all := []string{"x", "limit", "match", "tier", "reason", "limits", "endpoints", "cost", "mode", "a b"}
			name := all[random.IntN(len(all))]
			at[name] = strange[random.IntN(len(strange))]
			return "." + name + " = " + asJSON(at[name])
		}
		name := names[random.IntN(len(names))]
		switch {
		case random.IntN(12) == 0:
			delete(at, name)
			return "." + name + " deleted"
		case random.IntN(3) > 0 && inside(at[name]):
			return "." + name + change(random, at[name])
		}
		at[name] = strange[random.IntN(len(strange))]
		return "." + name + " = " + asJSON(at[name])
	case []any:
		i := random.IntN(len(at))
		if random.IntN(4) > 0 && inside(at[i]) {
			return "[]" + change(random, at[i])
		}
		at[i] = strange[random.IntN(len(strange))]
		return "[] = " + asJSON(at[i])
	}
	return ""
}

func inside(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return true
	case []any:
		return len(v) > 0
	}
	return false
}

func asJSON(v any) string {
	text, _ := json.Marshal(v) // of this file
	return string(text)
}

func TestSchemaNamesCustomAlgorithms(t *testing.T) {
	if text := string(Schema(nil)); !strings.Contains(text, "(gcra|token-bucket|") || strings.Contains(text, "`") || strings.Contains(text, "](") {
		t.Errorf("%.2000s", text)
	}
}
