package inflight

import (
	"context"
	"strconv"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/nilcheck"
	"github.com/weirgo/weir/store"
)

// Bounds of what a Store accepts.
const (
	// MaxUnits is the largest limit and the largest cost.
	MaxUnits = 1_000_000_000_000
	// MinLife and MaxLife bound the life of a hold, in whole µs.
	MinLife = time.Millisecond
	MaxLife = 24 * time.Hour
	// MaxHolders is how many holders a slot has at most.
	MaxHolders = 65536
	// maxID is the most bytes of an ID, and maxName of the name of a limit.
	maxID, maxName = 64, 200
)

// Slot says where units are counted: for whom, and by which limit.
type Slot struct {
	Key   string // any bytes, not empty
	Limit string // the name of the limit, 1 to 200 bytes
}

// Holder is somebody who holds units of a slot, or wants to.
type Holder struct {
	Slot
	// ID tells the holders of a slot apart: 1 to 64 bytes, such as weir.NewID() gives. Two
	// holders with one ID and two costs are two holders.
	ID string
	// Cost is how many units it holds, 1 to MaxUnits.
	Cost int64
	// Life is how long it holds them after an Acquire or a Renew: MinLife to MaxLife in
	// whole µs. Release does not need it.
	Life time.Duration
}

// Standing is what a Store answers.
type Standing struct {
	// Held reports whether the holder holds its units after an Acquire or a Renew, and
	// whether it held them until a Release. false is a refusal, or says that the hold has
	// expired: it is no error.
	Held bool
	// InUse are the units that live holders of the slot hold after the call.
	InUse int64
	// At is the clock reading of the call.
	At algorithm.Instant
	// Until is when the hold expires: the holder is live before, and not at this instant. 0
	// where it is not held, and after a Release.
	Until algorithm.Instant
	// Next is when the first live hold of the slot expires, 0 for none. It is known where
	// Acquire has refused, and of a Peek; else 0.
	Next algorithm.Instant
}

// Store keeps the holders of units. Each call is one atomic step at one reading of the
// clock, and a call that is made again, since its reply was lost, changes nothing more.
// NewMemory makes one, and package resilience/inflight/server. All methods are safe for
// concurrent use.
//
// Errors are those of package store: an error that matches store.ErrOutcomeUnknown leaves
// open whether the call was carried out; all others mean that it was not. Input outside of
// the bounds is a *store.InputError, before anything is sent.
type Store interface {
	// Acquire takes the units of h, if the units of live holders and these are at most
	// limit together, 1 to MaxUnits; never more. Who is live already keeps its units,
	// whatever the limit is, until At + Life or as long as before, whichever is later. A
	// refusal changes nothing. A slot with MaxHolders live holders is store.ErrFull.
	Acquire(ctx context.Context, h Holder, limit int64) (Standing, error)
	// Renew keeps the units of a live holder until At + Life or as long as before,
	// whichever is later, also where the limit has become lower. It gives none to who is
	// not live.
	Renew(ctx context.Context, h Holder) (Standing, error)
	// Release gives the units of a live holder back. For who is not live, since its hold
	// has expired or was released, it changes nothing.
	Release(ctx context.Context, h Holder) (Standing, error)
	// Peek changes nothing. Held is false.
	Peek(ctx context.Context, s Slot) (Standing, error)
}

// ValidateAcquire returns the *store.InputError of an Acquire that no Store accepts, for
// authors of a Store; else nil.
func ValidateAcquire(h Holder, limit int64) error {
	if limit < 1 || limit > MaxUnits {
		return refuse("limit", strconv.FormatInt(limit, 10), "1 to "+strconv.Itoa(MaxUnits))
	}
	return ValidateRenew(h)
}

// ValidateRenew is ValidateAcquire for a Renew.
func ValidateRenew(h Holder) error {
	if h.Life < MinLife || h.Life > MaxLife || h.Life%time.Microsecond != 0 {
		return refuse("Holder.Life", h.Life.String(), "1ms to 24h in whole µs")
	}
	return ValidateRelease(h)
}

// ValidateRelease is ValidateAcquire for a Release.
func ValidateRelease(h Holder) error {
	if len(h.ID) < 1 || len(h.ID) > maxID {
		return refuse("Holder.ID", strconv.Itoa(len(h.ID))+" bytes long", "1 to 64 bytes long")
	}
	if h.Cost < 1 || h.Cost > MaxUnits {
		return refuse("Holder.Cost", strconv.FormatInt(h.Cost, 10), "1 to "+strconv.Itoa(MaxUnits))
	}
	return ValidatePeek(h.Slot)
}

// ValidatePeek is ValidateAcquire for a Peek.
func ValidatePeek(s Slot) error {
	if s.Key == "" {
		return refuse("Slot.Key", "empty", "not empty")
	}
	if len(s.Limit) < 1 || len(s.Limit) > maxName {
		return refuse("Slot.Limit", strconv.Itoa(len(s.Limit))+" bytes long", "1 to 200 bytes long")
	}
	return nil
}

func checkStore(s Store) error {
	if nilcheck.IsNil(s) {
		return refuse("store", "nil", "a Store")
	}
	return nil
}

func refuse(field, value, allowed string) error {
	return &store.InputError{Op: -1, Field: field, Value: value, Allowed: allowed}
}
