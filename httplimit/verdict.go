package httplimit

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/policy"
)

// Verdict is the answer for one request.
type Verdict struct {
	// Allowed reports whether the request may go on.
	Allowed bool
	// Limits are what was asked, and Decisions are their answers, in the same order.
	// Both are empty where no limit was asked: the request was skipped, it was
	// refused before, or there is an error.
	Limits    []weir.Limit
	Decisions []weir.Decision
	// Binding is the index of the limit that matters most; see weir.Result.
	Binding int
	// RetryAfter is the shortest wait after which the same request is admitted if
	// nobody else asks; 0 when allowed, weir.Never if no wait helps.
	RetryAfter time.Duration
	// Delay is how long an admitted request of a leaky bucket must wait before it
	// starts. Middleware waits before it calls the handler.
	Delay time.Duration
	// Blocked is why the request was refused without asking a limit, as where it has
	// no key; "" where it was not. It holds nothing that the client has sent.
	Blocked string
	// Err is why there is no decision, where the failure mode of the limiter is
	// weir.FailClosed; else nil.
	Err error

	overload  bool              // InFlightOptions.Status is 503
	policy    string            // RateLimit-Policy of all Limits, where it was made before
	standings []policy.Standing // of Limits, where a policy has decided
}

// VerdictOf returns the Verdict of an answer of a weir.Decider, for limits that are
// asked without a Middleware. The slices are not copied.
func VerdictOf(asks []weir.Ask, result weir.Result, err error) *Verdict {
	v := &Verdict{Err: err}
	if err != nil {
		return v
	}
	for i := range asks {
		v.Limits = append(v.Limits, asks[i].Limit)
	}
	v.set(result)
	return v
}

func (v *Verdict) set(r weir.Result) {
	v.Allowed, v.Decisions, v.Binding, v.RetryAfter, v.Delay = r.Allowed, r.Decisions, r.Binding, r.RetryAfter, r.Delay
}

// errCost is the error of a Cost function that returned a negative number.
var errCost = errors.New("httplimit: a Cost function returned a number below 0")

// Status returns the status of the answer:
//
//   - 200 OK where the request is allowed; the handler says what it really is.
//   - 429 Too Many Requests where a limit has refused it, also where no wait helps.
//   - 403 Forbidden where it was Blocked.
//   - 503 Service Unavailable where there is no decision, and where InFlightOptions.Status
//     says so.
//   - 500 Internal Server Error where a Cost function returned a number below 0.
func (v *Verdict) Status() int {
	switch {
	case v.Allowed:
		return http.StatusOK
	case errors.Is(v.Err, errCost):
		return http.StatusInternalServerError
	case v.Err != nil:
		return http.StatusServiceUnavailable
	case v.Blocked != "":
		return http.StatusForbidden
	case v.overload:
		return http.StatusServiceUnavailable
	}
	return http.StatusTooManyRequests
}

// Violated returns the names of the limits that refused the request.
func (v *Verdict) Violated() (names []string) {
	if v.Allowed {
		return nil
	}
	for i, d := range v.Decisions {
		if !d.Allowed {
			names = append(names, v.Limits[i].Name)
		}
	}
	return names
}

// problem is a problem document (RFC 9457). The types are those of
// draft-ietf-httpapi-ratelimit-headers-10.
type problem struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Detail   string   `json:"detail,omitempty"`
	Violated []string `json:"violated-policies,omitempty"`
}

const problemTypes = "https://iana.org/assignments/http-problem-types#"

// Problem returns the problem document of a Verdict that is not Allowed, in JSON: its
// media type is application/problem+json.
func (v *Verdict) Problem() []byte {
	p := problem{Type: "about:blank", Title: http.StatusText(v.Status()), Status: v.Status()}
	switch p.Status {
	case http.StatusTooManyRequests:
		p.Type, p.Title = problemTypes+"quota-exceeded", "Request cannot be satisfied as assigned quota has been exceeded"
		p.Violated = v.Violated()
		if v.RetryAfter == weir.Never {
			p.Detail = "The request costs more than the limit can ever admit: do not repeat it."
		}
	case http.StatusServiceUnavailable:
		p.Type, p.Title = problemTypes+"temporary-reduced-capacity", "Request cannot be satisfied due to temporary server capacity constraints"
	case http.StatusForbidden:
		p.Detail = v.Blocked
	}
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and a number
	}
	return append(body, '\n')
}

// WriteProblem answers with the problem document of v, which is not Allowed. It is the
// answer where Options.Denied is nil.
func WriteProblem(w http.ResponseWriter, r *http.Request, v *Verdict) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(v.Status())
	_, _ = w.Write(v.Problem()) // the client may be gone
}

// clone returns a copy that the caller may keep.
func (v *Verdict) clone() *Verdict {
	kept := *v
	kept.Limits, kept.Decisions = slices.Clone(v.Limits), slices.Clone(v.Decisions)
	kept.standings = slices.Clone(v.standings)
	return &kept
}
