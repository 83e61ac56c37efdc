package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/cmd/weir/internal/trace"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/sim/scenario"
)

// Exit statuses.
const (
	exitOK          = 0
	exitNo          = 1 // the answer is no: a check failed, a rule was broken, an expectation or a bound was missed
	exitUsage       = 2 // the command line or what it names was wrong
	exitFailed      = 3 // something outside failed, such as a server or a disk
	exitInterrupted = 130
)

// usageError is a mistake in the command line that the parser cannot see.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// inputError is a mistake in a file that the command line names.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

// answerError is the answer no.
type answerError struct{ error }

func (e answerError) Unwrap() error { return e.error }

func misuse(errs io.Writer, err error) int {
	fmt.Fprintf(errs, "weir: %s\nTry 'weir --help' or 'weir COMMAND --help'.\n", report.Visible(err.Error()))
	return exitUsage
}

// fail shows an error and returns the exit status of it. Of several that were joined the gravest counts.
func fail(errs io.Writer, err error) int {
	if usage := (usageError{}); errors.As(err, &usage) {
		return misuse(errs, err)
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(errs, "weir: interrupted")
		left := (*leftError)(nil)
		if !errors.As(err, &left) {
			return exitInterrupted
		}
		err = left
	}
	// A line for each of several errors that were joined.
	fmt.Fprintf(errs, "weir: %s\n", strings.ReplaceAll(report.Visible(err.Error()), "\n", "\nweir: "))
	return statusOf(err)
}

func statusOf(err error) (status int) {
	if _, is := err.(*policy.InvalidError); is { // its parts are mistakes of one file
		return exitUsage
	}
	if joined, several := err.(interface{ Unwrap() []error }); several {
		for _, one := range joined.Unwrap() {
			status = max(status, statusOf(one))
		}
		return status
	}
	var (
		answer   answerError
		input    inputError
		contents *trace.InputError
		field    *scenario.Error
	)
	switch {
	case errors.As(err, &answer):
		return exitNo
	case errors.As(err, &input), errors.As(err, &contents), errors.As(err, &field):
		return exitUsage
	}
	return exitFailed
}
