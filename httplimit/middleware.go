package httplimit

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/deadline"
)

// Options are the optional settings of a Middleware. nil means all defaults.
type Options struct {
	// Skip, where it is not nil, lets requests pass that it returns true for: no limit
	// is asked, and no header is sent. See IsPreflight and SkipAddresses.
	Skip func(*http.Request) bool
	// Cost returns the units of a request. nil is 1. 0 is a look, which is never
	// denied; below 0 is answered with status 500. A cost above the capacity is
	// never admitted.
	Cost func(*http.Request) int64
	// Absent says what happens to a request without a key. 0 is AbsentDeny.
	Absent Absent
	// MaxDelay is how long a request may have to wait for its turn in a leaky bucket
	// before the handler is called: a request that would wait longer is denied, with a
	// Retry-After after which its wait is short enough. 0 is no bound but the capacity;
	// below 0 is refused. The wait ends with the context of the request. Other
	// algorithms make no request wait.
	MaxDelay time.Duration
	// Headers says which headers are sent.
	Headers Headers
	// Denied, where it is not nil, answers requests that are not allowed, in place of
	// WriteProblem. The headers of Headers are set. Where it writes a body or nothing
	// without a status, the status is Verdict.Status; only its first status counts. It
	// may keep the Verdict.
	Denied func(w http.ResponseWriter, r *http.Request, v *Verdict)
	// Settle, where it is not nil, returns what an admitted request has really cost one
	// limit, 0 or more, once its handler has returned: see OnlyFailures, BodyBytes and
	// Outcome. Until then the request holds what Cost says, so that no number of
	// concurrent requests passes the limit. Then the rest is given back, or the excess
	// is charged, into debt where nothing is left. Equal costs ask nothing. What a failure
	// mode admitted is not settled: with weir.FailLocal it keeps its Cost there.
	Settle func(r *http.Request, o *Outcome) int64
	// SettleFailed, where it is not nil, gets the error of a request that could not be
	// settled, and keeps what it took: of the store, also where a failure mode has
	// answered for it, *weir.DebtError, and of a cost below 0. It is not tried again, so
	// what came of an error that matches store.ErrOutcomeUnknown is not known. nil: only
	// the Observer of the limiter sees it.
	SettleFailed func(r *http.Request, err error)
}

// Rule is one limit of NewMulti.
type Rule struct {
	// Limit is the limit; required. Two rules have two names.
	Limit weir.Limit
	// Key says whom a request is counted for; required.
	Key Key
	// Absent says what happens to a request without a key. 0 is Options.Absent.
	Absent Absent
	// Cost returns the units of a request. nil is Options.Cost.
	Cost func(*http.Request) int64
}

// Middleware asks limits about requests. It is safe for concurrent use.
//
// A request is asked about once, when it comes in; a client that goes away does not
// get its units back. The handler gets the ResponseWriter as it is, so flushing,
// hijacking and http.ResponseController work as without a Middleware. Asking costs what
// the limiter costs; with one limit, a Middleware allocates nothing besides, and twice
// for the headers.
//
// With Options.Settle each admitted request is settled once, also where its handler
// panics or its client is gone: one more call to the store, before the answer ends, within
// the time-out of a Limiter, and 5 s of a Decider or a policy. The handler then gets a ResponseWriter that counts, with the same optional
// interfaces: http.Flusher, http.Hijacker, io.ReaderFrom, http.Pusher and Unwrap. A
// request that leaves while it waits for its Delay gets everything back.
type Middleware struct {
	source       source
	skip         func(*http.Request) bool
	headers      Headers
	denied       func(http.ResponseWriter, *http.Request, *Verdict)
	settle       func(*http.Request, *Outcome) int64
	settleFailed func(*http.Request, error)
}

// New returns a Middleware for one limit. A nil limiter or key, and an option outside
// its bounds, give an error. The limiter stays the caller's; what is answered where its
// store fails is for weir.Options.OnFailure to say.
func New(limiter *weir.Limiter, key Key, opts *Options) (*Middleware, error) {
	if limiter == nil {
		return nil, refuse("limiter", "nil", "a *weir.Limiter")
	}
	opts, err := opts.checked()
	if err != nil {
		return nil, err
	}
	rule := Rule{Limit: limiter.Limit(), Key: key}
	if err := rule.check("", opts); err != nil {
		return nil, err
	}
	limits := []weir.Limit{rule.Limit}
	if err := opts.checkSettle(limits); err != nil {
		return nil, err
	}
	return newMiddleware(&single{limiter, rule, opts.MaxDelay, limits, policyOf(limits)}, opts), nil
}

// NewMulti returns a Middleware for several limits, all or nothing: a request that one
// of them refuses is charged to none. The Decider is mostly a *weir.MultiLimiter. A nil
// Decider, no rules, a rule without a limit or key, two rules with one name, and an
// option outside its bounds give an error.
func NewMulti(decider weir.Decider, opts *Options, rules ...Rule) (*Middleware, error) {
	if decider == nil {
		return nil, refuse("decider", "nil", "a weir.Decider")
	}
	opts, err := opts.checked()
	if err != nil {
		return nil, err
	}
	if len(rules) == 0 {
		return nil, refuse("rules", "empty", "1 or more")
	}
	m := &multi{decider: decider, rules: make([]Rule, len(rules)), maxDelay: opts.MaxDelay}
	names := map[string]bool{}
	limits := make([]weir.Limit, len(rules))
	for i, rule := range rules {
		where := fmt.Sprintf("rules[%d].", i)
		if err := rule.check(where, opts); err != nil {
			return nil, err
		}
		if names[rule.Limit.Name] {
			return nil, refuse(where+"Limit.Name", fmt.Sprintf("%q", rule.Limit.Name), "a name that no other rule has")
		}
		names[rule.Limit.Name] = true
		m.rules[i], limits[i] = rule, rule.Limit
	}
	if err := opts.checkSettle(limits); err != nil {
		return nil, err
	}
	m.policy = policyOf(limits)
	return newMiddleware(m, opts), nil
}

func newMiddleware(s source, opts *Options) *Middleware {
	m := &Middleware{
		source: s, skip: opts.Skip, headers: opts.Headers, denied: opts.Denied,
		settle: opts.Settle, settleFailed: opts.SettleFailed,
	}
	if m.denied == nil {
		m.denied = WriteProblem
	}
	return m
}

func (o *Options) checked() (*Options, error) {
	if o == nil {
		o = &Options{}
	}
	if err := checkAbsent("Options.Absent", o.Absent); err != nil {
		return nil, err
	}
	if o.MaxDelay < 0 {
		return nil, refuse("Options.MaxDelay", o.MaxDelay.String(), "0 (no bound) or more")
	}
	if o.Settle == nil && o.SettleFailed != nil {
		return nil, refuse("Options.SettleFailed", "a function", "nil without Options.Settle")
	}
	return o, o.Headers.check()
}

func checkAbsent(field string, a Absent) error {
	if a < 0 || a > AbsentShared {
		return refuse(field, fmt.Sprint(int(a)), "AbsentDeny, AbsentSkip or AbsentShared")
	}
	return nil
}

// check refuses an incomplete rule, and completes it.
func (rule *Rule) check(where string, o *Options) error {
	if len(rule.Limit.Name) < 1 || len(rule.Limit.Name) > 200 {
		return refuse(where+"Limit.Name", fmt.Sprintf("%d bytes long", len(rule.Limit.Name)), "1 to 200 bytes long")
	}
	if rule.Limit.Algorithm == nil {
		return refuse(where+"Limit.Algorithm", "nil", "an algorithm")
	}
	if rule.Key == nil {
		return refuse(where+"Key", "nil", "a Key; Everyone for one limit on all requests")
	}
	if err := checkAbsent(where+"Absent", rule.Absent); err != nil {
		return err
	}
	if rule.Absent == 0 {
		rule.Absent = max(o.Absent, AbsentDeny)
	}
	if rule.Cost == nil {
		rule.Cost = o.Cost
	}
	return nil
}

// Handler returns a handler that asks, and calls next where the request is allowed. Its
// method value limited.Handler is middleware for net/http and chi.
func (m *Middleware) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		end, allowed := m.Admit(w, r)
		switch {
		case !allowed:
		case end == nil:
			next.ServeHTTP(w, r)
		default:
			serveAndEnd(next, w, r, end)
		}
	})
}

// Admit asks about a request, writes the headers, and reports whether it may go on.
// Where it may not, the answer is written. Adapters for frameworks call it.
//
// end is nil where there is nothing to settle. Otherwise the caller calls it when the
// request has ended, whatever came of it: only the first call counts. It may be called
// from another goroutine.
func (m *Middleware) Admit(w http.ResponseWriter, r *http.Request) (end func(*Outcome), allowed bool) {
	if m.skip != nil && m.skip(r) {
		return nil, true
	}
	c := calls.Get().(*call)
	defer c.release()
	m.decide(r, c)
	m.headers.Write(w.Header(), &c.v)
	if !c.v.Allowed {
		answer(m.denied, w, r, c.v.clone())
	}
	return m.end(r, c), c.v.Allowed
}

// Decide asks about a request, waits the Delay of a leaky bucket, and writes nothing:
// the caller answers. The Verdict of a request that Options.Skip lets pass is Allowed
// without limits. end is that of Admit.
func (m *Middleware) Decide(r *http.Request) (v *Verdict, end func(*Outcome)) {
	if m.skip != nil && m.skip(r) {
		return &Verdict{Allowed: true}, nil
	}
	c := calls.Get().(*call)
	defer c.release()
	m.decide(r, c)
	return c.v.clone(), m.end(r, c)
}

// Headers returns Options.Headers, for adapters that write them elsewhere.
func (m *Middleware) Headers() Headers { return m.headers }

func (m *Middleware) decide(r *http.Request, c *call) {
	c.settles = m.settle != nil
	m.source.decide(r, c)
	if c.v.Allowed && c.v.Delay > 0 {
		if err := deadline.Sleep(r.Context(), c.v.Delay, nil); err != nil {
			m.cancel(r, c)
			c.v = Verdict{Err: err}
		}
	}
}

// answer has denied write one answer, and writes the status where it does not.
func answer(denied func(http.ResponseWriter, *http.Request, *Verdict), w http.ResponseWriter, r *http.Request, v *Verdict) {
	h := w.Header()
	h.Set("Cache-Control", "no-store") // RFC 6585: a 429 must not be stored
	for _, ofAnother := range [...]string{"Content-Length", "Content-Encoding", "Etag", "Last-Modified"} {
		h.Del(ofAnother)
	}
	once := &onceWriter{ResponseWriter: w, status: v.Status()}
	denied(once, r, v)
	once.finish()
}

// onceWriter lets one status through, and has one of its own.
type onceWriter struct {
	http.ResponseWriter
	status int
	wrote  bool
}

func (w *onceWriter) WriteHeader(status int) {
	if w.wrote {
		return
	}
	w.wrote = status >= 200 // what comes before, such as 103, is no answer
	w.ResponseWriter.WriteHeader(status)
}

func (w *onceWriter) Write(b []byte) (int, error) {
	w.finish()
	return w.ResponseWriter.Write(b)
}

// Unwrap, FlushError and Hijack are what http.ResponseController looks for.
func (w *onceWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *onceWriter) FlushError() error {
	w.finish()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *onceWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	w.wrote = w.wrote || err == nil // the answer is for Denied to write
	return conn, rw, err
}

func (w *onceWriter) finish() {
	if !w.wrote {
		w.WriteHeader(w.status)
	}
}
