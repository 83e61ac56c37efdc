package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/store"
)

// Code says what kind of error an Error is. Protocols map it to a status of their own.
type Code int

// The codes of errors.
const (
	// Internal: something that should not happen, such as a state that is corrupt.
	Internal Code = iota
	// Invalid: a field of the request is not valid. Error.Fields names each one.
	Invalid
	// UnknownLimit: no limit has the name.
	UnknownLimit
	// Unavailable: the store failed, and the failure mode is closed.
	Unavailable
	// CrossNode: a cluster keeps the limits of the request on different nodes.
	CrossNode
	// Unauthenticated: the caller is not known.
	Unauthenticated
	// PermissionDenied: the caller lacks the role, or the tenant is not known.
	PermissionDenied
	// SelfLimited: the caller exceeds a limit of the service itself. Error.RetryAfter says
	// how long to wait.
	SelfLimited
	// KeyReused: the idempotency key is of another request.
	KeyReused
	// Conflict: the reservation was settled with another cost, or the operation does not
	// fit the state in another way.
	Conflict
	// Canceled: the caller has gone.
	Canceled
	// DeadlineExceeded: the time of the caller has ended.
	DeadlineExceeded
)

// String returns the name, such as "unknown_limit".
func (c Code) String() string {
	names := []string{"internal", "invalid", "unknown_limit", "unavailable", "cross_node", "unauthenticated", "permission_denied",
		"self_limited", "key_reused", "conflict", "canceled", "deadline_exceeded"}
	if c < 0 || int(c) >= len(names) {
		return fmt.Sprintf("Code(%d)", int(c))
	}
	return names[c]
}

// Error is an error of the service: there is no decision. Its text and its fields never
// hold a key.
type Error struct {
	Code Code
	// Message says what was refused; "" where Fields or Err say it.
	Message string
	// Fields are the fields that are not valid.
	Fields []FieldError
	// RetryAfter is how long to wait before the next call; 0 where that is not known.
	RetryAfter time.Duration
	// Err is the cause, or nil. It is for logs, and not for callers.
	Err error
}

// FieldError says what is wrong in one field.
type FieldError struct {
	// Path names the field as in JSON and in the proto: identifier, attributes.org.
	Path string
	// Problem describes the value, such as "1,025 bytes long", without a key.
	Problem string
	// Allowed is what may stand there.
	Allowed string
}

// Text is the problem and what is allowed, without the path.
func (f FieldError) Text() string { return f.Problem + ": must be " + f.Allowed }

// Public returns the text for the caller: without Err.
func (e *Error) Public() string {
	if e.Message != "" || len(e.Fields) == 0 {
		return strings.TrimSpace(e.Message)
	}
	texts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		texts[i] = f.Path + " " + f.Text()
	}
	return strings.Join(texts, "; ")
}

func (e *Error) Error() string {
	text := "service: " + e.Public()
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of an error: Internal for one that is no *Error.
func CodeOf(err error) Code {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

// As returns err as an *Error: itself, or what a store, a policy and a context mean.
func As(err error) *Error {
	if err == nil {
		return nil
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	var cross *policy.CrossNodeError
	var input *store.InputError
	var debt *weir.DebtError
	switch {
	case errors.As(err, &cross):
		return &Error{Code: CrossNode, Message: cross.Error(), Err: err}
	case errors.Is(err, store.ErrCrossNode):
		return &Error{Code: CrossNode, Message: "the limits lie on different nodes of the cluster", Err: err}
	case errors.Is(err, context.Canceled):
		return &Error{Code: Canceled, Message: "the caller has gone", Err: err}
	case errors.Is(err, context.DeadlineExceeded) && !weir.IsFailure(err):
		return &Error{Code: DeadlineExceeded, Message: "the time of the caller has ended", Err: err}
	case errors.Is(err, store.ErrOutcomeUnknown):
		return &Error{Code: Unavailable, Message: "the store did not answer in time; the request may have been charged", Err: err}
	case weir.IsFailure(err), errors.Is(err, store.ErrClosed):
		return &Error{Code: Unavailable, Message: "the store is unavailable", Err: err}
	case errors.Is(err, weir.ErrSettled):
		return &Error{Code: Conflict, Message: "the reservation was settled with another cost", Err: err}
	case errors.Is(err, store.ErrIDReused):
		return &Error{Code: KeyReused, Message: "the idempotency key is of another request", Err: err}
	case errors.As(err, &debt):
		return &Error{Code: Conflict, Message: "the charge would leave a debt above the largest one", Err: err}
	case errors.As(err, &input):
		return &Error{Code: Invalid, Fields: []FieldError{{input.Field, input.Value, input.Allowed}}, Err: err}
	case errors.Is(err, store.ErrUnsupported):
		return &Error{Code: Conflict, Message: "the store cannot do this", Err: err}
	}
	return &Error{Code: Internal, Message: "internal error", Err: err}
}

// problems collects what is wrong in a request.
type problems []FieldError

func (p *problems) add(path, problem, allowed string) {
	*p = append(*p, FieldError{path, problem, allowed})
}

func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return &Error{Code: Invalid, Fields: p}
}
