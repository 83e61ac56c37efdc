// Package nilcheck finds values that cannot be called: nil, and nil in an interface.
package nilcheck

import "reflect"

// IsNil reports whether v is nil, or a nil pointer, function, map, channel or slice
// in an interface.
func IsNil(v any) bool {
	if v == nil {
		return true
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Chan, reflect.Slice:
		return r.IsNil()
	}
	return false
}
