package store

import (
	"errors"
	"fmt"
)

// Errors that callers branch on, with errors.Is. None of them is a decision.
var (
	// ErrInvalid: the call can never be right as it is. See InputError.
	ErrInvalid = errors.New("store: invalid input")
	// ErrUnavailable: the store did not answer, and certainly changed nothing.
	ErrUnavailable = errors.New("store: unavailable")
	// ErrOutcomeUnknown: the request was sent and not answered; it may have
	// been charged.
	ErrOutcomeUnknown = errors.New("store: outcome unknown")
	// ErrContention: others changed the slots each time; nothing was charged.
	ErrContention = errors.New("store: contention")
	// ErrCrossNode: the keys lie on different nodes of a cluster; nothing was
	// sent.
	ErrCrossNode = errors.New("store: keys on different nodes")
	// ErrDuplicateSlot: one call names the same slot twice.
	ErrDuplicateSlot = errors.New("store: duplicate slot")
	// ErrCorrupt: what is stored is not a state of this kind. It was left as
	// it is; Reset removes it.
	ErrCorrupt = errors.New("store: corrupt state")
	// ErrFull: there is no room for a new key, and no fresh one to drop.
	ErrFull = errors.New("store: full")
	// ErrClosed: the store, or what was asked, has been closed.
	ErrClosed = errors.New("store: closed")
)

// InputError says which part of a call was refused. It matches ErrInvalid. It
// never holds a key: keys are often personal data.
type InputError struct {
	Op      int    // the index of the op or slot; -1 where it is not about one
	Field   string // such as "Request.Cost"
	Value   string // as it was given
	Allowed string // the values that are accepted
}

func (e *InputError) Error() string {
	at := ""
	if e.Op >= 0 {
		at = fmt.Sprintf("op %d: ", e.Op)
	}
	return fmt.Sprintf("%v: %s%s %s is not allowed: must be %s", ErrInvalid, at, e.Field, e.Value, e.Allowed)
}

// Is makes errors.Is(err, ErrInvalid) true.
func (e *InputError) Is(target error) bool { return target == ErrInvalid }

// DuplicateError says which two ops name the same slot. It matches
// ErrDuplicateSlot.
type DuplicateError struct{ First, Second int }

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("%v: ops %d and %d", ErrDuplicateSlot, e.First, e.Second)
}

// Is makes errors.Is(err, ErrDuplicateSlot) true.
func (e *DuplicateError) Is(target error) bool { return target == ErrDuplicateSlot }
