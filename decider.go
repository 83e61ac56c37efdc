package weir

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// Limit is a limit with a name. The name is required: it keeps the states of two
// limits of one key apart, and names the limit for observers and in metrics. Give
// two limits two names; a limit whose parameters change keeps its name, and runs on
// from the state that it has.
type Limit struct {
	// Name is 1 to 200 bytes. It stands in the stored name of every state and is
	// no secret.
	Name string
	// Algorithm decides; required.
	Algorithm algorithm.Algorithm
}

// ParseLimit returns a Limit from a name and the text of an algorithm, such as
// "gcra:100/1m,burst=20"; see algorithm.ParseSpec. A text that it refuses gives an
// *algorithm.ParameterError, a name an *store.InputError.
func ParseLimit(name, spec string) (Limit, error) {
	a, err := algorithm.ParseSpec(spec)
	if err != nil {
		return Limit{}, fmt.Errorf("limit %q: %w", name, err)
	}
	l := Limit{Name: name, Algorithm: a}
	return l, l.check(-1)
}

// For returns an Ask for one unit.
func (l Limit) For(key string) Ask { return Ask{Limit: l, Key: key, Cost: 1} }

// ForN returns an Ask for n units. 0 is a look: it is never denied and charges
// nothing. An n above the capacity is never admitted, and one below 0 is an error of
// the call that the Ask is given to.
func (l Limit) ForN(key string, n int64) Ask {
	return Ask{Limit: l, Key: key, Cost: n, look: n == 0}
}

// Charge returns an Ask that takes n units whatever remains: the key may go into debt,
// and then waits longer. It is for a cost that was spent before it was known. Only where
// the debt would pass the largest one (algorithm.Charger) it is refused, and nothing is
// taken, by a *DebtError. 0 is a look.
func (l Limit) Charge(key string, n int64) Ask {
	return Ask{Limit: l, Key: key, Cost: n, Verb: algorithm.Charge, look: n == 0}
}

// Refund returns an Ask that gives back n units of what was taken at an instant: the At
// of the Decision that took them. It is never refused. It never makes a key better than a
// fresh one, and what the limit has regained by itself, or counts no longer, is not given
// back twice. 0 is a look.
//
// To give back what one did not take, or twice, admits as much more: it is for the caller
// to know what was taken.
func (l Limit) Refund(key string, n int64, at time.Time) Ask {
	return Ask{Limit: l, Key: key, Cost: n, Verb: algorithm.Refund, At: at, look: n == 0}
}

// Settle returns an Ask that replaces a cost that was taken at an instant, the At of the
// Decision that took it, by the actual cost: a Refund of the rest or a Charge of the
// excess. differs is false where the two are equal, and there is nothing to ask. An actual
// cost below 0 gives an Ask that is refused.
func (l Limit) Settle(key string, taken, actual int64, at time.Time) (ask Ask, differs bool) {
	switch {
	case actual < 0:
		return l.Charge(key, actual), true
	case actual < taken:
		return l.Refund(key, taken-actual, at), true
	}
	return l.Charge(key, actual-taken), actual != taken
}

// check refuses a limit without a name or an algorithm; i is the index of the Ask
// for the error, -1 where there is none.
func (l *Limit) check(i int) error {
	if len(l.Name) < 1 || len(l.Name) > maxName {
		return &store.InputError{
			Op: i, Field: "Limit.Name", Value: strconv.Itoa(len(l.Name)) + " bytes long",
			Allowed: "1 to " + strconv.Itoa(maxName) + " bytes long",
		}
	}
	return store.ValidateLimit(i, l.Algorithm)
}

const maxName = 200

// Ask is what one limit is asked for: units, for one key. Limit.For and
// Limit.ForN make one, Limit.Charge and Limit.Refund others.
type Ask struct {
	Limit Limit
	// Key is whom the limit is asked for: any non-empty byte string.
	Key string
	// Cost is the units, 1 or more. Only an Ask of Limit.ForN may have 0: an Ask
	// written by hand that leaves the Cost out is refused instead of asking for
	// nothing.
	Cost int64
	// MaxDelay bounds the Delay of a leaky bucket: see algorithm.Request.
	MaxDelay time.Duration
	// Verb is what is done with the Cost: the zero Verb takes it where the limit
	// admits it. The others are for an algorithm that is an algorithm.Charger, as all
	// algorithms of this project are, and not for Wait.
	Verb algorithm.Verb
	// At is, of a refund, when the Cost was taken: Decision.At. The others have none.
	At time.Time

	// ID, where it is not "", names the Take that the Ask is part of, so that it counts once:
	// a Take that was charged is remembered for Options.IDTTL, and one with the same ID
	// and the same asks gets the same answer and is not charged again, also where both
	// run at the same time, and where a reply was lost. With other asks it is an error that
	// matches store.ErrIDReused. A refused Take is not remembered, and may be asked for
	// again under its ID.
	//
	// Whoever repeats an ID is admitted again and charged nothing. Of an ID that a client
	// chooses, the work must be done once, too: otherwise it is a way around the limit.
	//
	// All asks of a Take have the same ID, of at most 200 bytes; Once sets it. It names the
	// Take among those whose smallest hash tag (store.HashTag) of the keys is the same. Peek
	// and Reset ignore it, and a Wait has none. A store that knows no IDs gives
	// store.ErrUnsupported. A Take with an ID does not share its call to a server with others.
	ID string

	// Shadow says that nobody obeys the answer: a rule is tried out. It changes nothing but
	// Observation.Shadow.
	Shadow bool

	look bool // a Cost of 0 is meant
}

// Decider answers asks: the one seam through which everything above the limits of
// this package asks. *MultiLimiter is one. Implementations are safe for concurrent
// use.
type Decider interface {
	// Take asks all limits for their cost, all or nothing, at one instant. A
	// refusal is a Result; an error means that there is no decision, and that
	// Result.Allowed is false. Only the refusal of a charge is both: a *DebtError
	// and the Result.
	Take(ctx context.Context, asks ...Ask) (Result, error)
	// Peek returns what Take would answer now, and changes nothing.
	Peek(ctx context.Context, asks ...Ask) (Result, error)
}

// opsOf turns asks into ops of a store, which refuses what is left to refuse.
func opsOf(asks []Ask) ([]store.Op, error) {
	ops := make([]store.Op, len(asks))
	for i := range asks {
		a := &asks[i]
		if err := a.Limit.check(i); err != nil {
			return nil, err
		}
		if a.Cost == 0 && !a.look {
			return nil, &store.InputError{Op: i, Field: "Ask.Cost", Value: "0", Allowed: "1 or more; Limit.ForN(key, 0) is a look"}
		}
		ops[i] = store.Op{
			Slot:    store.Slot{Key: a.Key, Limit: a.Limit.Name, Algorithm: a.Limit.Algorithm},
			Request: algorithm.Request{Cost: a.Cost, MaxDelay: a.MaxDelay, Verb: a.Verb},
		}
		if a.Verb == algorithm.Refund {
			at, err := takenAt(i, "Ask.At", a.At)
			if err != nil {
				return nil, err
			}
			ops[i].Request.At = at
		}
	}
	return ops, nil
}

// takenAt is the instant of a take that is given back.
func takenAt(i int, field string, at time.Time) (algorithm.Instant, error) {
	instant, err := algorithm.InstantOf(at)
	if err != nil {
		return 0, &store.InputError{Op: i, Field: field, Value: at.Format(time.RFC3339Nano), Allowed: "the At of the Decision that took the cost"}
	}
	return instant, nil
}

// DebtError is the error of a charge that would leave a debt above the largest one; see
// algorithm.Charger. Nothing was charged.
type DebtError struct {
	Ask      int      // the index of the charge; 0 where there is one
	Decision Decision // not Allowed; its RetryAfter says when the charge would pass
}

// Error names the Ask and the numbers, and no key.
func (e *DebtError) Error() string {
	text := fmt.Sprintf("weir: ask %d: the charge would leave a debt above the largest: the debt is %d", e.Ask, e.Decision.Debt)
	if e.Decision.RetryAfter == Never {
		return text
	}
	return text + fmt.Sprintf(", and it would pass after %v", e.Decision.RetryAfter)
}

// Must returns v, or panics if err is not nil. It is for variables, examples and
// programs that cannot run without v.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
