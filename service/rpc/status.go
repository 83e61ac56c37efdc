package rpc

import (
	"context"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weirgo/weir/service/engine"
)

var codeOf = map[engine.Code]codes.Code{
	engine.Internal:         codes.Internal,
	engine.Invalid:          codes.InvalidArgument,
	engine.UnknownLimit:     codes.NotFound,
	engine.Unavailable:      codes.Unavailable,
	engine.CrossNode:        codes.FailedPrecondition,
	engine.Unauthenticated:  codes.Unauthenticated,
	engine.PermissionDenied: codes.PermissionDenied,
	engine.SelfLimited:      codes.ResourceExhausted,
	engine.KeyReused:        codes.InvalidArgument,
	engine.Conflict:         codes.FailedPrecondition,
	engine.Canceled:         codes.Canceled,
	engine.DeadlineExceeded: codes.DeadlineExceeded,
}

// statusOf is an error as gRPC has it. What no answer says is logged.
func (s *Server) statusOf(ctx context.Context, err error) error {
	if e := engine.As(err); e.Code == engine.Internal {
		method, _ := grpc.Method(ctx)
		s.log.ErrorContext(ctx, "a request has failed", "method", method, "error", err)
	}
	return statusOf(err)
}

// statusOf is an error as gRPC has it. The cause stays here.
func statusOf(err error) error {
	e := engine.As(err)
	s := status.New(codeOf[e.Code], e.Public())
	var details []protoadapt.MessageV1
	if e.Code == engine.Invalid || e.Code == engine.KeyReused {
		bad := &errdetails.BadRequest{}
		for _, f := range e.Fields {
			bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{Field: f.Path, Description: f.Text()})
		}
		if e.Code == engine.KeyReused {
			bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{Field: "idempotency_key", Description: e.Public()})
		}
		details = append(details, bad)
	}
	if e.RetryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)})
	}
	if len(details) > 0 {
		if with, err := s.WithDetails(details...); err == nil { // fails only for the code OK
			s = with
		}
	}
	return s.Err()
}
