package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Error is an error of a call: there is no decision. It unwraps to the error of gRPC, and
// to the error of the caller's context where that has ended.
type Error struct {
	// Code is what kind of error it is:
	//
	//   - InvalidArgument: Fields names what is not valid;
	//   - NotFound: no limit has the name;
	//   - Unauthenticated, PermissionDenied: the token, its role or its tenant;
	//   - FailedPrecondition: a reservation that was settled with another cost, or limits
	//     that a cluster keeps on different nodes;
	//   - ResourceExhausted: the caller exceeds the limit of the service itself;
	//   - Unavailable, DeadlineExceeded: the service cannot be asked, or its store cannot;
	//   - Canceled: the caller's context was.
	Code codes.Code
	// Message is what the service says.
	Message string
	// Fields are the fields of the request that are not valid.
	Fields []FieldError
	// RetryAfter is how long to wait before the next call. 0 where the service does not
	// say.
	RetryAfter time.Duration
	// MayHaveCounted reports that the request may have reached the service, and what it
	// asked for may have been done. Without it, nothing was charged.
	MayHaveCounted bool
	// Attempts is how often the call was sent.
	Attempts int

	err error
}

// FieldError is a field of a request that is not valid.
type FieldError struct {
	// Field is its name in the .proto file, such as "cost".
	Field string
	// Description says what is allowed.
	Description string
}

// Error returns the code, the message and the fields.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "client: %s: %s", e.Code, e.Message)
	for i, f := range e.Fields {
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		fmt.Fprintf(&b, "%s%s: %s", separator, f.Field, f.Description)
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, " (%d attempts)", e.Attempts)
	}
	return b.String()
}

// Unwrap returns the error of gRPC, joined with that of the caller's context.
func (e *Error) Unwrap() error { return e.err }

func (e *Error) after(unknown bool) *Error {
	e.MayHaveCounted = e.MayHaveCounted || unknown
	return e
}

// errorOf reads the error of an attempt.
func errorOf(ctx context.Context, err error, attempts int) *Error {
	s := status.Convert(err)
	e := &Error{Code: s.Code(), Message: s.Message(), Attempts: attempts, err: err}
	switch e.Code {
	case codes.Canceled, codes.Unknown, codes.DeadlineExceeded, codes.Internal, codes.Unavailable, codes.DataLoss:
		e.MayHaveCounted = true
	}
	if ended := ctx.Err(); ended != nil {
		e.err = errors.Join(ended, err)
	}
	for _, detail := range s.Details() {
		switch d := detail.(type) {
		case *errdetails.BadRequest:
			for _, f := range d.GetFieldViolations() {
				e.Fields = append(e.Fields, FieldError{f.GetField(), f.GetDescription()})
			}
		case *errdetails.RetryInfo:
			e.RetryAfter = d.GetRetryDelay().AsDuration()
		}
	}
	return e
}
