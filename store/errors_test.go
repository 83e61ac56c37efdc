package store_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/weirgo/weir/store"
)

func TestErrorsAreToldApart(t *testing.T) {
	all := []error{
		store.ErrInvalid, store.ErrUnavailable, store.ErrOutcomeUnknown, store.ErrContention, store.ErrCrossNode,
		store.ErrDuplicateSlot, store.ErrCorrupt, store.ErrFull, store.ErrClosed,
	}
	typed := map[error]error{
		&store.InputError{Op: 3, Field: "Slot.Key", Value: `""`, Allowed: "at least one byte"}: store.ErrInvalid,
		&store.DuplicateError{First: 1, Second: 4}:                                             store.ErrDuplicateSlot,
	}
	for _, err := range all {
		typed[err] = err
	}
	for err, means := range typed {
		for _, target := range all {
			if got := errors.Is(fmt.Errorf("mystore: apply: %w", err), target); got != (target == means) {
				t.Errorf("errors.Is(%v, %v) is %t", err, target, got)
			}
		}
	}
}

func TestErrorTexts(t *testing.T) {
	for want, err := range map[string]error{
		`store: invalid input: op 3: Request.Cost -1 is not allowed: must be 0 or more`:         &store.InputError{Op: 3, Field: "Request.Cost", Value: "-1", Allowed: "0 or more"},
		`store: invalid input: Options.MaxKeys -1 is not allowed: must be 0 (no bound) or more`: &store.InputError{Op: -1, Field: "Options.MaxKeys", Value: "-1", Allowed: "0 (no bound) or more"},
		`store: duplicate slot: ops 0 and 2`:                                                    &store.DuplicateError{First: 0, Second: 2},
	} {
		if err.Error() != want {
			t.Errorf("got  %q\nwant %q", err, want)
		}
	}
}
