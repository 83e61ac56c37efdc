package rest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/service/engine"
	"github.com/weirgo/weir/service/problem"
	"github.com/weirgo/weir/service/rules"
	"github.com/weirgo/weir/service/users"
	"github.com/weirgo/weir/store"
)

// retryUnavailable is the wait that a caller is told where the service cannot answer.
const retryUnavailable = time.Second

// write answers with a value as JSON.
func (c *call) write(status int, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return c.send(status, typeJSON, text)
}

func (c *call) send(status int, media string, text []byte) error {
	h := c.w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	c.w.WriteHeader(status)
	_, _ = c.w.Write(text) // a client that has left reads no answer
	return nil
}

// problemOf returns the answer to an error.
func (c *call) problemOf(err error) *problem.Problem {
	var p *problem.Problem
	var failed *engine.Error
	var wrong *rules.InvalidError
	var input *store.InputError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &failed):
		return c.engineProblem(failed)
	case errors.As(err, &wrong):
		return ruleProblem(wrong)
	case errors.Is(err, rules.ErrNotFound):
		return problem.New(problem.NotFound, "there is no rule with this id")
	case errors.Is(err, rules.ErrExists):
		return problem.New(problem.Conflict, "there is a rule with this id", problem.Field{Pointer: "/id", Detail: "must be an id that no rule has"})
	case errors.Is(err, rules.ErrChanged):
		return problem.New(problem.Changed, "the rule has another ETag: read it again", problem.Field{Pointer: "If-Match", Detail: "must be the ETag that the rule has now"})
	case errors.Is(err, users.ErrNotFound):
		return problem.New(problem.NotFound, "the user has no override with this id")
	case errors.Is(err, users.ErrTooMany):
		return problem.New(problem.Conflict, "the user has "+strconv.Itoa(users.MaxOverrides)+" overrides, which is the most")
	case errors.As(err, &input):
		return problem.New(problem.Invalid, "the policy would be too large: "+input.Allowed+" are allowed")
	case errors.Is(err, store.ErrOutcomeUnknown):
		return unavailable("the store did not answer in time; a change may have been made")
	case weir.IsFailure(err), errors.Is(err, store.ErrClosed), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return unavailable("the store is unavailable")
	}
	c.handler.log.Error("a request has failed", "route", c.route.name(), "request_id", c.id, "error", err)
	return problem.New(problem.Internal, "")
}

func unavailable(detail string) *problem.Problem {
	p := problem.New(problem.Unavailable, detail)
	p.RetryAfter = retryUnavailable
	return p
}

func (c *call) engineProblem(e *engine.Error) *problem.Problem {
	switch e.Code {
	case engine.Invalid:
		p := problem.New(problem.Invalid, "values are not valid")
		for _, f := range e.Fields {
			p.Fields = append(p.Fields, problem.Field{Pointer: c.place(f.Path), Detail: f.Text()})
		}
		return p
	case engine.KeyReused:
		return problem.New(problem.IdempotencyReuse, e.Public(), problem.Field{Pointer: idempotencyHeader, Detail: "must be of this request alone"})
	case engine.Unavailable, engine.Canceled, engine.DeadlineExceeded:
		return unavailable(e.Public())
	case engine.CrossNode:
		return problem.New(problem.CrossNode, e.Public())
	case engine.Conflict:
		return problem.New(problem.Conflict, e.Public())
	case engine.UnknownLimit:
		return problem.New(problem.NotFound, e.Public())
	case engine.PermissionDenied, engine.Unauthenticated:
		return problem.New(problem.Forbidden, e.Public())
	}
	c.handler.log.Error("a request has failed", "route", c.route.name(), "request_id", c.id, "error", e)
	return problem.New(problem.Internal, "")
}

// place is where a field of package engine stands in the request: a pointer into the body,
// or the name of a parameter.
func (c *call) place(path string) string {
	if path == "idempotency_key" {
		return idempotencyHeader
	}
	name, rest, _ := strings.Cut(path, ".")
	if c.r.Method == http.MethodGet || c.r.Method == http.MethodHead {
		if name == "attributes" {
			return "attribute"
		}
		return name
	}
	if rest != "" {
		return pointer(name, rest)
	}
	return pointer(name)
}

// ruleProblem says what is wrong in a rule: a field that is not known is 400, a value 422,
// and what other parts of the policy need of the rule is 409.
func ruleProblem(e *rules.InvalidError) *problem.Problem {
	kind, detail := problem.Invalid, "values are not valid"
	var at []problem.Field
	for _, f := range e.Fields {
		if f.Unknown {
			kind, detail = problem.Malformed, "a field is not known"
		}
		at = append(at, problem.Field{Pointer: pathPointer(f.Path), Detail: detailOf(f)})
	}
	if len(at) > 0 {
		return problem.New(kind, detail, at...)
	}
	texts := []string{}
	for _, f := range e.Others {
		if len(f.Path) == 0 {
			return problem.New(problem.Malformed, "the rule cannot be read: "+f.Problem)
		}
		texts = append(texts, f.Error())
	}
	return problem.New(problem.Conflict, "another part of the policy needs the rule as it is: "+strings.Join(texts, "; "))
}

// detailOf is an error of a policy without its path.
func detailOf(f *policy.FieldError) string {
	shown := *f
	shown.Path, shown.Line, shown.Column = nil, 0, 0
	return strings.TrimSpace(shown.Error())
}

// pathPointer is a path in a policy as a JSON pointer.
func pathPointer(path policy.Path) string {
	names := make([]string, len(path))
	for i, element := range path {
		switch e := element.(type) {
		case int:
			names[i] = strconv.Itoa(e)
		case string:
			names[i] = e
		}
	}
	return pointer(names...)
}
