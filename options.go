package weir

import (
	"cmp"
	"strconv"
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

	// IDTTL is how long a Take with an ID is remembered (Ask.ID), and the settlement of
	// a Reservation. 0 is 10 minutes; else 1 ms to 24 h in whole µs. Each takes memory
	// of the store: about 200 bytes on a server. Resolve, and whoever else asks again, has
	// to end before: what is asked again later counts again.
	IDTTL time.Duration

	// ResolveWithin lets the limiter find out by itself what came of a call whose outcome
	// is unknown, for as long as this and as the caller's ctx allows: every Take gets an
	// ID, at random where it has none, and is asked for again under it. What is answered
	// after that is for OnFailure to say. 0 does not; at most 1 minute, and IDTTL less Timeout:
	// the ID must be remembered still. It needs a store that knows IDs, and costs what they
	// cost.
	ResolveWithin time.Duration

	// SettleIntoDebt lets a Reservation that cost more than was reserved take the excess
	// whatever remains, as Charge does. Without it, only what the limit has left is taken.
	SettleIntoDebt bool

	// ReservationKey, where it is not nil, signs the text of a Reservation, and Resume
	// refuses a text that was signed otherwise or changed: 16 bytes or more, the same
	// in all processes. Without it a text is checked for damage only, and whoever
	// changes it on purpose can have more given back than was taken.
	ReservationKey []byte

	// Replaces lets a Limiter take the place of one with the same name but another
	// algorithm or other parameters on the same store, as a new configuration does.
	// Without it New refuses the second of the two. A MultiLimiter ignores it: its
	// asks bring their limits along.
	Replaces bool
}

const defaultTimeout = 100 * time.Millisecond

func (o *Options) check(s store.Store) error {
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
	if err := o.checkIDs(s); err != nil {
		return err
	}
	if o.Observer != nil && nilcheck.IsNil(o.Observer) {
		return refuse("Options.Observer", "a nil pointer", "an observer, or nil")
	}
	return nil
}

func (o *Options) checkIDs(s store.Store) error {
	if t := o.IDTTL; t != 0 && (t < store.MinTTL || t > store.MaxTTL || t%time.Microsecond != 0) {
		return refuse("Options.IDTTL", t.String(), "0 (10m), or 1ms to 24h in whole µs")
	}
	// The step may have been made when the first call began.
	remembered := cmp.Or(o.IDTTL, defaultIDTTL) - cmp.Or(o.Timeout, defaultTimeout)
	longest := max(0, min(longestResolve, remembered))
	if r := o.ResolveWithin; r < 0 || r > longest {
		return refuse("Options.ResolveWithin", r.String(), "0 (not) to "+longest.String()+": 1m, and Options.IDTTL less Options.Timeout")
	}
	if f := store.FeaturesOf(s); o.ResolveWithin > 0 && f.Once == nil {
		return refuse("Options.ResolveWithin", o.ResolveWithin.String(), "0, since the store knows no IDs")
	}
	if k := o.ReservationKey; k != nil && len(k) < minReservationKey {
		return refuse("Options.ReservationKey", strconv.Itoa(len(k))+" bytes long", "nil, or "+strconv.Itoa(minReservationKey)+" bytes or longer")
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
