package grpclimit

import (
	"github.com/weirgo/weir/httplimit"
	"github.com/weirgo/weir/internal/adapter"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Status returns the status of a Verdict:
//
//   - OK where it is Allowed.
//   - ResourceExhausted where a limit has refused it, with a QuotaFailure that names the
//     limits, and a RetryInfo with the exact wait, where a wait helps.
//   - PermissionDenied where it was Blocked.
//   - Canceled or DeadlineExceeded where the context of the call has ended.
//   - InvalidArgument where a Cost function returned a number below 0.
//   - Unavailable where there is no decision for another reason, and where a
//     *httplimit.InFlight with a Status of 503 has refused it, with a RetryInfo.
//
// The text holds no key, and no message of a store.
func Status(v *httplimit.Verdict) *status.Status {
	of := adapter.StatusOf(v)
	if of.Err == nil {
		return status.New(codes.OK, "")
	}
	s := status.New(codes.Code(of.Code), of.Err.Error())
	var details []protoadapt.MessageV1
	if s.Code() == codes.ResourceExhausted {
		failure := &errdetails.QuotaFailure{}
		for _, violation := range of.Violations {
			failure.Violations = append(failure.Violations, &errdetails.QuotaFailure_Violation{Subject: violation.Subject, Description: violation.Description})
		}
		details = append(details, failure)
	}
	if of.HasRetryDelay {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(of.RetryDelay)})
	}
	if len(details) == 0 {
		return s
	}
	if detailed, err := s.WithDetails(details...); err == nil {
		return detailed
	}
	return s
}
