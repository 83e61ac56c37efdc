package weir

import (
	"time"

	"github.com/weirgo/weir/internal/nilcheck"
	"github.com/weirgo/weir/store"
)

// Options are the optional settings of a Limiter or a MultiLimiter. nil means all
// defaults.
type Options struct {
	// OnFailure says what to answer when the store cannot. The default, FailClosed,
	// returns the error.
	OnFailure FailureMode

	// Local is the store that OnFailure: FailLocal asks; needed there, and refused
	// in the other modes. It stays the caller's.
	Local store.Store

	// Timeout bounds one call to the store, in addition to the caller's
	// context. 0 is 100 ms; below 0 is refused. A store that never waits, such
	// as one in memory, has no time-out.
	Timeout time.Duration

	// Observer, where it is not nil, sees each decision and each error. See
	// Observers for several, and NewLogObserver.
	Observer Observer

	// Replaces lets a Limiter take the place of one with the same name but another
	// algorithm or other parameters on the same store, as a new configuration does.
	// Without it New refuses the second of the two. A MultiLimiter ignores it: its
	// asks bring their limits along.
	Replaces bool
}

const defaultTimeout = 100 * time.Millisecond

func (o *Options) check() error {
	if o.OnFailure < FailClosed || o.OnFailure > FailLocal {
		return refuse("Options.OnFailure", o.OnFailure.String(), "FailClosed, FailOpen or FailLocal")
	}
	if o.Local == nil && o.OnFailure == FailLocal {
		return refuse("Options.Local", "nil", "a store, which OnFailure: FailLocal asks")
	}
	if o.Local != nil && o.OnFailure != FailLocal {
		return refuse("Options.Local", "a store", "nil without OnFailure: FailLocal")
	}
	if o.Local != nil {
		if err := checkStore("Options.Local", o.Local); err != nil {
			return err
		}
	}
	if o.Timeout < 0 {
		return refuse("Options.Timeout", o.Timeout.String(), "0 (100ms) or more")
	}
	if o.Observer != nil && nilcheck.IsNil(o.Observer) {
		return refuse("Options.Observer", "a nil pointer", "an observer, or nil")
	}
	return nil
}

// checkStore refuses no store, and a nil pointer to one.
func checkStore(field string, s store.Store) error {
	if nilcheck.IsNil(s) {
		return refuse(field, "nil", "a store")
	}
	return nil
}

func refuse(field, value, allowed string) error {
	return &store.InputError{Op: -1, Field: field, Value: value, Allowed: allowed}
}
