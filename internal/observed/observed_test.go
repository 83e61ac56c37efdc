package observed

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/store"
)

// TestDenialsAreTheErrorsOfAChargeOrAWaitThatWasDenied: no failure is one, nor a caller who
// went away.
func TestDenialsAreTheErrorsOfAChargeOrAWaitThatWasDenied(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{&weir.DebtError{}, true},
		{&weir.WaitError{Cause: weir.ErrNeverAdmitted}, true},
		{&weir.WaitError{Cause: weir.ErrQueueFull}, true},
		{&weir.WaitError{Cause: weir.ErrMaxDelay}, true},
		{&weir.WaitError{Cause: context.DeadlineExceeded}, false},
		{store.ErrUnavailable, false},
		{store.ErrInvalid, false},
	} {
		if got := IsDenial(c.err); got != c.want {
			t.Errorf("%v: %t, want %t", c.err, got, c.want)
		}
	}
}

// TestErrorThatMatchesTwoClassesHasTheWorse: a time-out of a context may have charged.
func TestErrorThatMatchesTwoClassesHasTheWorse(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.Join(context.DeadlineExceeded, store.ErrOutcomeUnknown), "unknown"},
		{errors.Join(context.Canceled, store.ErrUnavailable), "unavailable"},
		{fmt.Errorf("user:4711: %w", &weir.WaitError{Cause: context.Canceled}), "context"},
		{errors.New("user:4711"), Other},
	} {
		if got := ClassOf(c.err); got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
	}
}
