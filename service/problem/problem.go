// Package problem writes the errors of the HTTP interface: problem documents of RFC 9457.
package problem

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// Docs is where the types of problems are described: a Kind is an anchor of the page.
const Docs = "https://github.com/weirgo/weir/blob/main/docs/reference/rest.md"

// Kind is what a client may branch on.
type Kind struct {
	// Anchor is the end of the type, after Docs and '#'.
	Anchor string
	Status int
	Title  string
}

// The kinds of problems.
var (
	Malformed        = Kind{"malformed", http.StatusBadRequest, "The request cannot be read"}
	Unauthenticated  = Kind{"unauthenticated", http.StatusUnauthorized, "The caller is not known"}
	Forbidden        = Kind{"forbidden", http.StatusForbidden, "The caller may not do this"}
	NotFound         = Kind{"not-found", http.StatusNotFound, "There is no such thing"}
	MethodNotAllowed = Kind{"method-not-allowed", http.StatusMethodNotAllowed, "The route does not have this method"}
	Conflict         = Kind{"conflict", http.StatusConflict, "The request conflicts with what there is"}
	FileManaged      = Kind{"file-managed", http.StatusConflict, "The rules come from a file"}
	CrossNode        = Kind{"cross-node", http.StatusConflict, "The limits cannot be decided together"}
	Changed          = Kind{"changed", http.StatusPreconditionFailed, "It has changed in between"}
	TooLarge         = Kind{"too-large", http.StatusRequestEntityTooLarge, "The body is too large"}
	MediaType        = Kind{"media-type", http.StatusUnsupportedMediaType, "The body is not JSON"}
	Invalid          = Kind{"invalid", http.StatusUnprocessableEntity, "A value is not allowed"}
	IdempotencyReuse = Kind{"idempotency-reuse", http.StatusUnprocessableEntity, "The Idempotency-Key belongs to another request"}
	NoCondition      = Kind{"condition-required", http.StatusPreconditionRequired, "If-Match is missing"}
	SelfLimited      = Kind{"self-limited", http.StatusTooManyRequests, "Too many requests to the service itself"}
	Internal         = Kind{"internal", http.StatusInternalServerError, "The service has failed"}
	Unavailable      = Kind{"unavailable", http.StatusServiceUnavailable, "The service cannot answer now"}
)

// Kinds returns all kinds, in the order of their status.
func Kinds() []Kind {
	return []Kind{
		Malformed, Unauthenticated, Forbidden, NotFound, MethodNotAllowed, Conflict, FileManaged, CrossNode, Changed, TooLarge, MediaType,
		Invalid, IdempotencyReuse, NoCondition, SelfLimited, Internal, Unavailable,
	}
}

// Field is one value that is not allowed.
type Field struct {
	// Pointer is a JSON pointer into the body, or the name of a parameter or header.
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}

// Problem is an error of the HTTP interface. It is an error of Go, too.
type Problem struct {
	Kind   Kind
	Detail string
	Fields []Field
	// RetryAfter is sent in whole seconds, rounded up, where it is above 0.
	RetryAfter time.Duration
}

// New returns a problem.
func New(k Kind, detail string, fields ...Field) *Problem {
	return &Problem{Kind: k, Detail: detail, Fields: fields}
}

// Error returns the title and the detail.
func (p *Problem) Error() string {
	if p.Detail == "" {
		return p.Kind.Title
	}
	return p.Kind.Title + ": " + p.Detail
}

// Type returns the URI of a kind.
func (k Kind) Type() string { return Docs + "#" + k.Anchor }

// body is a problem as JSON.
type body struct {
	Type   string  `json:"type"`
	Title  string  `json:"title"`
	Status int     `json:"status"`
	Detail string  `json:"detail"`
	Errors []Field `json:"errors,omitempty"`
}

// Write writes the problem as the answer to a request. 401 has WWW-Authenticate.
func (p *Problem) Write(w http.ResponseWriter) {
	text, err := json.Marshal(body{p.Kind.Type(), p.Kind.Title, p.Kind.Status, p.Detail, p.Fields})
	if err != nil {
		panic(err) // texts and numbers
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if p.Kind == Unauthenticated {
		h.Set("WWW-Authenticate", `Bearer realm="weir"`)
	}
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((p.RetryAfter+time.Second-1)/time.Second), 10))
	}
	w.WriteHeader(p.Kind.Status)
	_, _ = w.Write(text) // a client that has left reads no answer
}
