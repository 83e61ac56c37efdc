package adapter

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
)

// The codes of gRPC and of Connect, which have the same numbers.
const (
	ok                = 0
	canceled          = 1
	invalidArgument   = 3
	deadlineExceeded  = 4
	permissionDenied  = 7
	resourceExhausted = 8
	unavailable       = 14
)

// Status is what a call gets for a Verdict, in the terms of google.rpc.
type Status struct {
	Code uint32
	// Err is the text; nil with OK. It holds no key, and no message of a store.
	Err error
	// Violations are those of a QuotaFailure.
	Violations []Violation
	// RetryDelay is that of a RetryInfo, where HasRetryDelay.
	RetryDelay    time.Duration
	HasRetryDelay bool
	// Pushback is grpc-retry-pushback-ms: the wait of a denial, rounded up, or -1 where
	// no wait helps; "" where there is no denial.
	Pushback string
}

var (
	errCost     = errors.New("the cost of the call is below 0")
	errNoAnswer = errors.New("the rate limiter does not answer")
	errExceeded = errors.New("rate limit exceeded")
	errOverload = errors.New("the service is overloaded")
	errNever    = errors.New("the call costs more than the limit can ever admit")
)

// Violation is a limit that has refused a call.
type Violation struct{ Subject, Description string }

// StatusOf returns the status of a Verdict.
func StatusOf(v *httplimit.Verdict) Status {
	switch {
	case v.Allowed:
		return Status{Code: ok}
	case v.Err != nil && v.Status() == http.StatusInternalServerError:
		return Status{Code: invalidArgument, Err: errCost}
	case errors.Is(v.Err, context.Canceled) && !weir.IsFailure(v.Err):
		return Status{Code: canceled, Err: context.Canceled}
	case errors.Is(v.Err, context.DeadlineExceeded) && !weir.IsFailure(v.Err): // not the time-out of the store
		return Status{Code: deadlineExceeded, Err: context.DeadlineExceeded}
	case v.Err != nil:
		return Status{Code: unavailable, Err: errNoAnswer}
	case v.Blocked != "":
		return Status{Code: permissionDenied, Err: errors.New(v.Blocked), Pushback: "-1"}
	}
	s := Status{Code: resourceExhausted, Err: errExceeded}
	if v.Status() == http.StatusServiceUnavailable { // of an InFlight
		s = Status{Code: unavailable, Err: errOverload}
	}
	for _, name := range v.Violated() {
		s.Violations = append(s.Violations, Violation{
			Subject:     "limit:" + strings.ToValidUTF8(name, "?"),
			Description: "the limit " + strconv.Quote(name) + " has no units left for this call",
		})
	}
	if v.RetryAfter == weir.Never {
		s.Err, s.Pushback = errNever, "-1"
		return s
	}
	s.RetryDelay, s.HasRetryDelay = v.RetryAfter, true
	millis := (v.RetryAfter + time.Millisecond - 1) / time.Millisecond
	s.Pushback = strconv.FormatInt(min(int64(millis), math.MaxInt32), 10) // gRFC A6: 32 bits
	return s
}

// HTTPStatus returns the HTTP status that a code stands for, by google/rpc/code.proto.
func HTTPStatus(code uint32) int {
	statuses := [...]int{200, 499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401}
	if int64(code) >= int64(len(statuses)) {
		return http.StatusInternalServerError
	}
	return statuses[code]
}
