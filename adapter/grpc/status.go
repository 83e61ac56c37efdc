package grpclimit

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/httplimit"
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
//   - Unavailable where there is no decision for another reason.
//
// The text holds no key, and no message of a store.
func Status(v *httplimit.Verdict) *status.Status {
	switch {
	case v.Allowed:
		return status.New(codes.OK, "")
	case v.Err != nil && v.Status() == http.StatusInternalServerError:
		return status.New(codes.InvalidArgument, "the cost of the call is below 0")
	case errors.Is(v.Err, context.Canceled) && !weir.IsFailure(v.Err):
		return status.New(codes.Canceled, context.Canceled.Error())
	case errors.Is(v.Err, context.DeadlineExceeded) && !weir.IsFailure(v.Err): // not the time-out of the store
		return status.New(codes.DeadlineExceeded, context.DeadlineExceeded.Error())
	case v.Err != nil:
		return status.New(codes.Unavailable, "the rate limiter does not answer")
	case v.Blocked != "":
		return status.New(codes.PermissionDenied, v.Blocked)
	}
	failure := &errdetails.QuotaFailure{}
	for _, name := range v.Violated() {
		failure.Violations = append(failure.Violations, &errdetails.QuotaFailure_Violation{
			Subject: "limit:" + strings.ToValidUTF8(name, "?"), Description: "the limit " + strconv.Quote(name) + " has no units left for this call",
		})
	}
	details := []protoadapt.MessageV1{failure}
	text := "rate limit exceeded"
	if v.RetryAfter == weir.Never {
		text = "the call costs more than the limit can ever admit"
	} else {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(v.RetryAfter)})
	}
	s := status.New(codes.ResourceExhausted, text)
	if detailed, err := s.WithDetails(details...); err == nil {
		return detailed
	}
	return s
}

// pushbackOf returns grpc-retry-pushback-ms: the wait of a denial, rounded up, or -1
// where no wait helps; "" where there is no denial by a limit.
func pushbackOf(v *httplimit.Verdict) string {
	switch {
	case v.Allowed || v.Err != nil:
		return ""
	case v.Blocked != "" || v.RetryAfter == weir.Never:
		return "-1"
	}
	wait := (v.RetryAfter + time.Millisecond - 1) / time.Millisecond
	return strconv.FormatInt(min(int64(wait), math.MaxInt32), 10) // gRFC A6: 32 bits
}
