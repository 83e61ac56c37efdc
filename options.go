package weir

import (
	"reflect"
	"strconv"
	"time"

	"github.com/weirgo/weir/store"
)

// Options are the optional settings of a Limiter or a Taker. nil means all
// defaults.
type Options struct {
	// Name names the limit of a Limiter in the store. Limiters on one store with
	// the same Name and the same kind of algorithm share their states; give two
	// limits for the same keys two names. "" is a name. At most 200 bytes. A
	// Taker has none: each op names its limit.
	Name string

	// OnFailure says what to answer when the store cannot. The default, Closed,
	// returns the error.
	OnFailure FailureMode

	// Local is the store that OnFailure: Local asks; needed there, and refused
	// in the other modes. It stays the caller's.
	Local store.Store

	// Timeout bounds one call to the store, in addition to the caller's
	// context. 0 is 100 ms; below 0 is refused. A store that never waits, such
	// as one in memory, has no time-out.
	Timeout time.Duration

	// Observe, where it is not nil, is called after each decision and each
	// error, on the caller's goroutine: it sees and cannot change. It must be
	// safe for concurrent use, and quick. See NewLogObserver.
	Observe func(Observation)
}

const (
	maxName        = 200
	defaultTimeout = 100 * time.Millisecond
)

func (o *Options) check() error {
	if len(o.Name) > maxName {
		return refuse("length of Options.Name", strconv.Itoa(len(o.Name)), "0 to "+strconv.Itoa(maxName)+" bytes")
	}
	if o.OnFailure < Closed || o.OnFailure > Local {
		return refuse("Options.OnFailure", o.OnFailure.String(), "Closed, Open or Local")
	}
	if given := o.Local != nil; given != (o.OnFailure == Local) {
		return refuse("Options.Local", map[bool]string{false: "nil", true: "a store"}[given],
			"a store with OnFailure: Local, and nil without")
	}
	if o.Local != nil {
		if err := checkStore("Options.Local", o.Local); err != nil {
			return err
		}
	}
	if o.Timeout < 0 {
		return refuse("Options.Timeout", o.Timeout.String(), "0 (100ms) or more")
	}
	return nil
}

// checkStore refuses no store, and a nil pointer to one.
func checkStore(field string, s store.Store) error {
	if v := reflect.ValueOf(s); s == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return refuse(field, "nil", "a store")
	}
	return nil
}

func refuse(field, value, allowed string) error {
	return &store.InputError{Op: -1, Field: field, Value: value, Allowed: allowed}
}
