package weir

import (
	"reflect"
	"strconv"

	"github.com/weirgo/weir/store"
)

// Options are the optional settings of a Limiter. nil means all defaults.
type Options struct {
	// Name names the limit in the store. Limiters on one store with the same
	// Name and the same kind of algorithm share their states; give two limits
	// for the same keys two names. "" is a name. At most 200 bytes.
	Name string
}

const maxName = 200

func (o *Options) check() error {
	if len(o.Name) > maxName {
		return &store.InputError{
			Op: -1, Field: "length of Options.Name",
			Value: strconv.Itoa(len(o.Name)), Allowed: "0 to " + strconv.Itoa(maxName) + " bytes",
		}
	}
	return nil
}

// checkStore refuses no store, and a nil pointer to one.
func checkStore(s store.Store) error {
	if v := reflect.ValueOf(s); s == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return &store.InputError{Op: -1, Field: "store", Value: "nil", Allowed: "a store"}
	}
	return nil
}
