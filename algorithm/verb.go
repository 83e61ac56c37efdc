package algorithm

import (
	"strconv"
	"time"

	"github.com/weirgo/weir/internal/exact"
)

// Verb says what a Request does with its cost.
type Verb int8

const (
	// Take asks for the cost: it is charged where the limit admits it, and denied
	// otherwise. It is the zero Verb.
	Take Verb = iota
	// Charge takes the cost whatever the state is, so the key may go into debt: it
	// is for a cost that is known when it has already been spent. It is denied only
	// where the debt would become larger than MaxDebt of a Charger.
	Charge
	// Refund gives back cost of what was admitted at the instant At. It is never
	// denied and never makes a key better than a fresh one; what the key has
	// regained by itself is not given back twice.
	Refund
)

// String returns "take", "charge" or "refund".
func (v Verb) String() string {
	switch v {
	case Take:
		return "take"
	case Charge:
		return "charge"
	case Refund:
		return "refund"
	}
	return "verb(" + strconv.Itoa(int(v)) + ")"
}

// Charger is an optional interface of an Algorithm whose Step also knows the verbs
// Charge and Refund. The algorithms of this package have it. Stores refuse the two
// verbs for an Algorithm without it.
//
// Both verbs answer what a look at the state after them answers, but for Allowed,
// RetryAfter and the Delay of a charge, which are those of a take. A denied charge
// and a refund that gives nothing back must return the state itself.
type Charger interface {
	Algorithm
	// MaxDebt is the largest Outcome.Debt that a charge may leave, from 0 to
	// MaxUnits: a charge that would leave more is denied. It must follow from the
	// Spec.
	MaxDebt() int64
}

// maxDebt is MaxDebt of a limit with a rate, in lowest terms: at most MaxUnits, and no
// more than is paid back, with the burst, within MaxTimeToFull.
func maxDebt(units, per, burst int64) int64 {
	most, _ := exact.MulDiv(int64(MaxTimeToFull/time.Microsecond), units, per)
	return min(MaxUnits, most-burst)
}

// answer completes the Outcome of a charge or a refund with that of a look at the
// state after it.
func (o *Outcome) answer(v Verb, look Outcome) {
	look.Allowed, look.RetryAfter = o.Allowed, o.RetryAfter
	if v != Refund || !o.Allowed {
		look.Delay = o.Delay
	}
	*o = look
}
