package policy

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/weirgo/weir/algorithm"
)

var update = flag.Bool("update", false, "write the table of fields into the reference")

const reference = "../docs/reference/policy.md"

// TestReferenceHasEveryField: the tables of the page are those of the package.
func TestReferenceHasEveryField(t *testing.T) {
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- fields: written by go test ./policy -run Reference -update -->\n", "<!-- end of fields -->"
	before, rest, ok1 := strings.Cut(string(text), begin)
	written, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatal("the page has no place for the fields")
	}
	want := "\n" + fieldTables()
	if written == want {
		return
	}
	if !*update {
		t.Fatal("the fields of the page are not current: run go test ./policy -run Reference -update")
	}
	if err := os.WriteFile(reference, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fieldTables are the tables of all fields.
func fieldTables() string {
	var b strings.Builder
	for _, s := range table {
		fmt.Fprintf(&b, "### %s\n\n", s.title)
		if s.about != "" {
			fmt.Fprintf(&b, "%s\n\n", s.about)
		}
		b.WriteString("| field | value | meaning | default |\n|---|---|---|---|\n")
		for _, f := range s.fields {
			usual := f.usual
			switch {
			case f.required:
				usual = "required"
			case usual == "":
				usual = "none"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.name, valueText(&f, s.of.Field(fieldsOf(s.of).index[f.name]).Type), f.about, usual)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// valueText says what stands in a field.
func valueText(f *fieldInfo, t reflect.Type) string {
	switch {
	case f.choices != nil:
		return "`" + strings.Join(f.choices, "`, `") + "`"
	case f.max == f.min && f.max > 0:
		return fmt.Sprint(f.max)
	case f.max == algorithm.MaxUnits:
		return "1 to 10^12"
	case f.max > 0:
		return fmt.Sprintf("%d to %d", f.min, f.max)
	}
	switch t {
	case timeType:
		return "time"
	case specType:
		return "[spec](spec.md)"
	case conditionsType:
		return "[conditions](#conditions)"
	case reflect.TypeFor[Mode]():
		return "`enforce`, `enforce N%`, `shadow`, `off`"
	}
	switch t.Kind() {
	case reflect.Struct:
		for _, s := range table {
			if s.of == t {
				return "[" + strings.ToLower(s.title) + "](#" + strings.ReplaceAll(strings.ToLower(s.title), " ", "-") + ")"
			}
		}
	case reflect.Map:
		return "mapping of " + valueText(&fieldInfo{}, t.Elem())
	case reflect.Slice:
		return "list of " + valueText(&fieldInfo{}, t.Elem())
	case reflect.Bool:
		return "`true`, `false`"
	}
	return "text"
}
