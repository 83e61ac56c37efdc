package nilcheck

import "testing"

func TestIsNil(t *testing.T) {
	var f func()
	for name, c := range map[string]struct {
		v    any
		want bool
	}{
		"nil":           {nil, true},
		"a nil pointer": {(*int)(nil), true},
		"a nil func":    {f, true},
		"a nil map":     {map[string]int(nil), true},
		"a pointer":     {new(int), false},
		"a struct":      {struct{}{}, false},
		"zero":          {0, false},
	} {
		if got := IsNil(c.v); got != c.want {
			t.Errorf("IsNil of %s is %t", name, got)
		}
	}
}
