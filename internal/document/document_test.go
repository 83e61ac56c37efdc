package document

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// show writes a tree as JSON-like text with places.
func show(n *Node) string {
	switch n.Kind {
	case List:
		var items []string
		for _, i := range n.Items {
			items = append(items, show(i))
		}
		return "[" + strings.Join(items, " ") + "]"
	case Mapping:
		var fields []string
		for _, f := range n.Fields {
			fields = append(fields, fmt.Sprintf("%s=%s", f.Name, show(f.Value)))
		}
		return "{" + strings.Join(fields, " ") + "}"
	case Null:
		return "null"
	}
	return fmt.Sprintf("%q", n.Text)
}

func TestParseReads(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"block", "a: 1\nb:\n  - x\n  - y: 2\n    z: 3\n", `{a="1" b=["x" {y="2" z="3"}]}`},
		{"flow", "{a: 1, b: [x, {y: 2}]}", `{a="1" b=["x" {y="2"}]}`},
		{"json", "{\n\t\"a\": [1, true, null, \"\\u00e9\\/\\n\"]\n}", `{a=["1" "true" null "é/\n"]}`},
		{"json surrogates", `{"a": "\ud83d\ude00"}`, `{a="😀"}`},
		{"list in the column of its field", "a:\n- x: 1\n- y: 2\nb: 3\n", `{a=[{x="1"} {y="2"}] b="3"}`},
		{"words that are switches elsewhere", "a: off\nb: on\nc: yes\n", `{a="off" b="on" c="yes"}`},
		{"times and percents", "a: 2026-12-31T00:00:00Z\nb: enforce 10%\nc: 0\n", `{a="2026-12-31T00:00:00Z" b="enforce 10%" c="0"}`},
		{"literal", "a: |\n  x\n  y\nb: >\n  x\n  y\n", `{a="x\ny\n" b="x y\n"}`},
		{"alias", "a: &x [1, 2]\nb: *x\n", `{a=["1" "2"] b=["1" "2"]}`},
		{"merge", "a: &x {p: 1, q: 2}\nb:\n  q: 3\n  <<: *x\n", `{a={p="1" q="2"} b={q="3" p="1"}}`},
		{"merge several", "a: &x {p: 1}\nb: &y {p: 2, q: 2}\nc: {<<: [*x, *y]}\n", `{a={p="1"} b={p="2" q="2"} c={p="1" q="2"}}`},
		{"numbers as names", "1: a\ntrue: b\n", `{1="a" true="b"}`},
		{"quoted merge is a name", `{"<<": {p: 1}}`, `{<<={p="1"}}`},
		{"patterns as names", "\"POST /api/{id}\": x\n\"[::1]/\": y\n", `{POST /api/{id}="x" [::1]/="y"}`},
		{"markers", "---\na: 1\n...\n", `{a="1"}`},
		{"CRLF", "a: 1\r\nb: x\r\n", `{a="1" b="x"}`},
		{"comments", "# c\na: 1 # d\n# e\n", `{a="1"}`},
		{"empty value", "a:\nb: {}\nc: []\n", `{a=null b={} c=[]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, errs := Parse([]byte(c.text))
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if got := show(n); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "line 1, column 1: 0 documents: must be one"},
		{"comment only", "# x\n", "line 1, column 1: 0 documents"},
		{"two documents", "a: 1\n---\nb: 1\n", "2 documents"},
		{"twice", "a: 1\nb: 2\na: 3\n", `line 3, column 1: the field "a" is given twice: it stands in line 1 already`},
		{"twice in flow", "x: {a: 1, a}\n", `line 1, column 11: the field "a" is given twice`},
		{"twice as number", "1: a\n\"1\": b\n", `line 2, column 1: the field "1" is given twice`},
		{"syntax", "a: [", "line 1, column 4: "},
		{"tag", "a: !!str 1\n", "line 1, column 4: a value that begins with ! is a YAML tag, which is not allowed: write a text in quotes"},
		{"excluded value without quotes", "a: [b, !secret]\n", "line 1, column 8: a value that begins with ! is a YAML tag"},
		{"unknown alias", "a: *x\n", "line 1, column 5: no anchor &x stands before"},
		{"alias in its anchor", "a: &x [*x]\n", "line 1, column 9: the alias *x is a part of its own anchor"},
		{"merge of a text", "a: {<<: x}\n", "line 1, column 9: what << merges"},
		{"merge of a list of texts", "a: {<<: [x]}\n", "line 1, column 10: what << merges"},
		{"list as name", "[a]: 1\n", ""},
		{"nothing as name", "~: 1\n", "line 1, column 1: a name of a field must be a text"},
		{"byte order mark", "\ufeffa: 1\n", "line 1, column 1: a byte that is no text"},
		{"control character", "a: é\x00\n", "line 1, column 5: a byte that is no text"},
		{"not UTF-8", "a: 1\nb: \xff\n", "line 2, column 4: a byte that is no text"},
		{"tab as indent", "a:\n\tb: 1\n", "line 2, column 1: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, errs := Parse([]byte(c.text))
			if len(errs) == 0 {
				t.Fatalf("accepted: %s", show(n))
			}
			if got := errs[0].Error(); !strings.Contains(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestParseFindsSeveralMistakes(t *testing.T) {
	_, errs := Parse([]byte("a: 1\na: 2\nb: *x\nc: !y 1\n"))
	if len(errs) != 3 {
		t.Fatal(errs)
	}
}

// TestParseIsBounded: each of these texts took the parser minutes, or all memory.
func TestParseIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: documents of 50,000 lines")
	}
	lines := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	laughs := "a0: &a0 [x, x]\n"
	for i := range 40 {
		laughs += fmt.Sprintf("a%d: &a%[1]d [*a%d, *a%[2]d]\n", i+1, i)
	}
	for name, text := range map[string]string{
		"aliases":                laughs,
		"brackets":               strings.Repeat("[", 100_000),
		"braces":                 strings.Repeat("{a: ", 100_000),
		"dashes":                 strings.Repeat("- ", 100_000) + "a",
		"documents":              lines(50_000, "---\na%d: 1\n"),
		"fields":                 lines(50_000, "a%d: 1\n"),
		"fields inside":          "b:\n  - c: 1\n" + lines(50_000, "    a%d: 1\n"),
		"fields, quoted":         lines(50_000, "\"a%d\": 1\n"),
		"fields between braces":  "{" + lines(50_000, "a%d: 1, ") + "b: 1}",
		"names between braces":   "{" + lines(50_000, "a%d, ") + "b}",
		"fields with lists":      lines(50_000, "a%d:\n- x\n"),
		"fields with mappings":   lines(50_000, "a%d:\n  x: {y: 1}\n"),
		"fields with anchors":    lines(50_000, "a%d: &a 1\n"),
		"fields with literals":   lines(50_000, "a%d: |\n  x\n"),
		"names that are complex": lines(50_000, "? a%d\n: 1\n"),
		"words":                  "[" + strings.Repeat("a,", 600_000) + "]",
		"bytes":                  "a: " + strings.Repeat("x", 5<<20),
		"indents":                lines(3000, "%s")[:0] + deep(2000),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			n, errs := Parse([]byte(text))
			if len(errs) != 1 || n != nil {
				t.Errorf("%d errors", len(errs))
			}
			// Without a bound each takes minutes.
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("refused after %s", took)
			} else {
				t.Log(took, errs)
			}
		})
	}
}

func deep(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// TestParseTakesLongLists: the bounds of mappings are none of lists.
func TestParseTakesLongLists(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("- id: x\n  key: [ip]\n", 5000),
		"a:\n" + strings.Repeat("- id: x\n  key: [ip]\n", 5000) + "b: 1\n",
		"a:\n" + strings.Repeat("  - {id: x, key: [ip]}\n", 5000),
		"[" + strings.Repeat(`{"id": "x", "key": ["ip"]},`, 4999) + "{}]",
	} {
		n, errs := Parse([]byte(text))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		if n.Kind == Mapping {
			n = n.Fields[0].Value
		}
		if len(n.Items) != 5000 {
			t.Errorf("%d items", len(n.Items))
		}
	}
}

// FuzzParse: no text makes Parse panic, every place lies in the text, and what
// encoding/json reads has the same value here.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"a: 1\nb:\n- x\n- {y: [1, 2]}\n", "a: &x {p: 1}\nb: {<<: *x, q: *x}\n", `{"a": ["\u00e9", 1e3, null, true]}`,
		"? a\n: b\n", "a: |\n  x\n", "- - - a\n", "!!map {a: 1}", "a: 'it''s'\n", "%YAML 1.2\n---\na: 1\n", "a: [", "{a: 1, a: 2}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n, errs := Parse(text)
		lines := strings.Count(string(text), "\n") + strings.Count(string(text), "\r") + 1
		for _, e := range errs {
			if e.Line < 1 || e.Line > lines || e.Column < 1 || e.Message == "" {
				t.Errorf("%v, of %d lines", e, lines)
			}
		}
		if n == nil && len(errs) == 0 {
			t.Error("neither a document nor an error")
		}
		var want any
		if json.Unmarshal(text, &want) != nil || len(errs) > 0 {
			return
		}
		if got := plain(n); !same(got, want) {
			t.Errorf("%q: got %#v, encoding/json %#v", text, got, want)
		}
	})
}

// plain is a node as encoding/json gives it, with numbers as text.
func plain(n *Node) any {
	switch n.Kind {
	case List:
		items := []any{}
		for _, i := range n.Items {
			items = append(items, plain(i))
		}
		return items
	case Mapping:
		m := map[string]any{}
		for _, f := range n.Fields {
			m[f.Name] = plain(f.Value)
		}
		return m
	case Bool:
		return n.Text == "true"
	case Null:
		return nil
	case Integer, Float:
		return json.Number(n.Text)
	}
	return n.Text
}

func same(got, want any) bool {
	switch w := want.(type) {
	case []any:
		g, is := got.([]any)
		if !is || len(g) != len(w) {
			return false
		}
		for i := range w {
			if !same(g[i], w[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		g, is := got.(map[string]any)
		if !is || len(g) != len(w) {
			return false
		}
		for name := range w {
			if !same(g[name], w[name]) {
				return false
			}
		}
		return true
	case float64:
		n, is := got.(json.Number)
		if !is {
			return false
		}
		f, err := n.Float64()
		return err == nil && f == w
	}
	return got == want
}

// TestAliasStandsForWhatItsAnchorWas: an anchor of the same name behind it changes nothing.
func TestAliasStandsForWhatItsAnchorWas(t *testing.T) {
	root, errs := Parse([]byte("- &b one\n- &a [*b]\n- &b two\n- *a\n- *b\n- &c [&d x]\n- &d y\n- *c\n- *d\n"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var got []string
	for _, i := range []int{3, 4, 7, 8} {
		n := root.Items[i]
		if n.Kind == List {
			n = n.Items[0]
		}
		got = append(got, n.Text)
	}
	if want := []string{"one", "two", "x", "y"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
