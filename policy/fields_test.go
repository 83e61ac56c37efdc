package policy

import (
	"reflect"
	"slices"
	"testing"
)

// TestTableHasEveryField: each field of the structs has a row, in the order of the
// struct, and each row a field.
func TestTableHasEveryField(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(of reflect.Type) {
		switch {
		case of == timeType || seen[of]:
			return
		case of.Kind() == reflect.Map || of.Kind() == reflect.Slice:
			visit(of.Elem())
			return
		case of.Kind() != reflect.Struct:
			return
		}
		seen[of] = true
		var rows []string
		for _, s := range table {
			if s.of != of {
				continue
			}
			for _, f := range s.fields {
				rows = append(rows, f.name)
				if f.about == "" {
					t.Errorf("%s.%s is not explained", of, f.name)
				}
			}
		}
		if names := fieldsOf(of).names; !slices.Equal(rows, names) {
			t.Errorf("%s has fields %q, the table %q", of, names, rows)
		}
		for i := range of.NumField() {
			visit(of.Field(i).Type)
		}
	}
	visit(reflect.TypeFor[Policy]())
	if len(seen) != len(table) {
		t.Errorf("the policy has %d structs, the table %d", len(seen), len(table))
	}
}
