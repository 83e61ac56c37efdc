package rest

import (
	"net/http"
	"strings"
	"time"

	"github.com/weirgo/weir/api"
	"github.com/weirgo/weir/httplimit"
	"github.com/weirgo/weir/service/engine"
	"github.com/weirgo/weir/service/problem"
)

const (
	idempotencyHeader = "Idempotency-Key"
	idempotencyAlias  = "X-Idempotency-Key"
)

// subjectFields are the fields of a request that a policy decides.
var subjectFields = []string{"identifier", "dimension", "endpoint", "method", "attributes"}

// check decides a request, and charges it. The body is JSON, also where curl calls it a
// form.
func (c *call) check() error {
	text, err := c.body(typeJSON, typeForm)
	if err != nil {
		return err
	}
	f, err := object(text, append([]string{"cost", "timestamp", "idempotency_key"}, subjectFields...)...)
	if err != nil {
		return err
	}
	r := engine.Request{Subject: f.subject()}
	var cost, timestamp int64
	if f.get("cost", "a whole number of units", &cost) {
		r.Cost = &cost
	}
	sent := f.get("timestamp", "a whole number of microseconds since 1970", &timestamp)
	r.Once = c.once(f)
	if err := f.err(); err != nil {
		return err
	}
	if sent && c.handler.skew != nil {
		c.handler.skew(time.UnixMicro(timestamp).Sub(c.handler.now()))
	}
	a, err := c.tenant.Engine.Check(c.ctx, r)
	if err != nil {
		return err
	}
	c.headers(&a)
	status := http.StatusOK
	if !a.Allowed {
		status = http.StatusTooManyRequests
	}
	return c.write(status, checkAnswer{quotaOf(&a), a.Replayed})
}

func (f *fields) subject() engine.Subject {
	f.need("identifier", "dimension", "endpoint")
	s := engine.Subject{
		Identifier: f.text("identifier"), Dimension: engine.Dimension(f.text("dimension")), Endpoint: f.text("endpoint"), Method: f.text("method"),
	}
	f.get("attributes", "an object of texts", &s.Attributes)
	return s
}

// once reads the idempotency key, which may stand in two headers and in the body: nil where
// it is nowhere. Where it stands twice it must be the same.
func (c *call) once(f *fields) *engine.Once {
	all := append(c.r.Header.Values(idempotencyHeader), c.r.Header.Values(idempotencyAlias)...)
	if key := f.text("idempotency_key"); key != "" {
		all = append(all, key)
	}
	if len(all) == 0 {
		return nil
	}
	for _, key := range all[1:] {
		if key != all[0] {
			f.wrong = append(f.wrong, problem.Field{Pointer: idempotencyHeader, Detail: "must be the same wherever it is given"})
			return nil
		}
	}
	return &engine.Once{Key: all[0], Caller: c.caller.Name}
}

// quota says how the limits of a request stand.
func (c *call) quota() error {
	values, err := c.query([]string{"attribute"}, "identifier", "dimension", "endpoint", "method")
	if err != nil {
		return err
	}
	s := engine.Subject{
		Identifier: values.Get("identifier"), Dimension: engine.Dimension(values.Get("dimension")), Endpoint: values.Get("endpoint"),
		Method: values.Get("method"), Attributes: map[string]string{},
	}
	for _, text := range values["attribute"] {
		name, value, found := strings.Cut(text, "=")
		if _, twice := s.Attributes[name]; twice || !found || name == "" {
			return invalid([]problem.Field{{Pointer: "attribute", Detail: "must be name=value, once for each name"}})
		}
		s.Attributes[name] = value
	}
	a, err := c.tenant.Engine.Quota(c.ctx, s)
	if err != nil {
		return err
	}
	c.headers(&a)
	return c.write(http.StatusOK, quotaOf(&a))
}

// headers writes the headers of limits as the middleware does. Retry-After is for a denial,
// not for a look.
func (c *call) headers(a *engine.Answer) {
	v := httplimit.PolicyVerdict(&a.Verdict)
	v.Blocked = "" // a denial by a list is 429 here, too, with the wait that helps
	httplimit.Headers{}.Write(c.w.Header(), &v)
	if c.r.Method != http.MethodPost {
		c.w.Header().Del("Retry-After")
	}
}

// describe is the description of this interface.
func (c *call) describe() error {
	if _, err := c.query(nil); err != nil {
		return err
	}
	return c.send(http.StatusOK, typeJSON, api.OpenAPI())
}
