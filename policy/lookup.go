package policy

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// SubjectLookup is how an application says which tier and which limits of their own
// somebody has.
type SubjectLookup struct {
	// Attributes are whom the answer depends on; 1 or more. A request that lacks one of
	// them is not looked up.
	Attributes []string
	// Lookup returns what is kept for somebody; the zero Terms where there is nothing. It
	// gets the values of the Attributes as the request has them: secrets are not replaced.
	// It must be safe for concurrent use, and heed its context. Terms with a spec that
	// cannot be read, or an override without an end, are a look-up that failed.
	Lookup func(ctx context.Context, who Attributes) (Terms, error)
	// Life is how long an answer counts. 0 is 60 s. An older answer counts on while the
	// next look-up runs, and when it fails.
	Life time.Duration
	// Entries bounds how many answers are kept. 0 is 10,000. When it is reached, others
	// are dropped.
	Entries int
	// Timeout bounds how long a request waits for a look-up. 0 is 100 ms. The request is
	// decided without the answer then; the answer counts for the next one.
	Timeout time.Duration
}

const (
	defaultLife    = time.Minute
	defaultEntries = 10_000
	defaultTimeout = 100 * time.Millisecond
	// retryLookup is how long a look-up that failed is not tried again.
	retryLookup = time.Second
)

// termsCache keeps the answers of a SubjectLookup.
type termsCache struct {
	SubjectLookup
	now             func() time.Time
	lookups, errors atomic.Int64

	mu      sync.Mutex
	answers map[string]*termsAnswer
}

// termsAnswer is what is known of somebody.
type termsAnswer struct {
	terms   *terms
	known   bool
	until   time.Time     // when the next look-up is due
	loading chan struct{} // closed when a look-up ends; nil while none runs
}

func newTermsCache(l *SubjectLookup, now func() time.Time) (*termsCache, error) {
	t := &termsCache{SubjectLookup: *l, now: now, answers: map[string]*termsAnswer{}}
	switch {
	case l.Lookup == nil:
		return nil, refused("SubjectLookup.Lookup", "nil", "a function")
	case len(l.Attributes) == 0:
		return nil, refused("SubjectLookup.Attributes", "none", "1 or more")
	case l.Life < 0:
		return nil, refused("SubjectLookup.Life", l.Life.String(), "0 (60s) or more")
	case l.Entries < 0:
		return nil, refused("SubjectLookup.Entries", strconv.Itoa(l.Entries), "0 (10,000) or more")
	case l.Timeout < 0:
		return nil, refused("SubjectLookup.Timeout", l.Timeout.String(), "0 (100ms) or more")
	}
	if t.Life == 0 {
		t.Life = defaultLife
	}
	if t.Entries == 0 {
		t.Entries = defaultEntries
	}
	if t.Timeout == 0 {
		t.Timeout = defaultTimeout
	}
	return t, nil
}

// lookup returns the look-up for a request; nil where there is none.
func (e *Enforcer) lookup(ctx context.Context, c *Compiled, r *Request) func() *terms {
	if e.subjects == nil {
		return nil
	}
	return func() *terms { return e.subjects.of(ctx, c, r) }
}

// Forget drops what EnforcerOptions.Subjects has answered for somebody, so that the next
// request asks again: for the process that has changed it. who has the attributes of the
// look-up. Without a look-up it does nothing.
func (e *Enforcer) Forget(who Attributes) {
	if e.subjects == nil {
		return
	}
	if key, known := e.subjects.key(e.Policy(), who); known {
		e.subjects.mu.Lock()
		defer e.subjects.mu.Unlock()
		delete(e.subjects.answers, key)
	}
}

// key returns what tells somebody apart; false where an attribute is missing.
func (t *termsCache) key(c *Compiled, who Attributes) (string, bool) {
	var key []byte
	for _, name := range t.Attributes {
		v := value{text: who[name], set: who[name] != ""}
		if number, known := c.attributes.number[name]; known {
			v = c.attributes.read(number, v.text)
		}
		if !v.set {
			return "", false
		}
		if v.addr.IsValid() {
			key = v.addr.AppendTo(key)
		}
		key = append(appendEscaped(key, v.text), '&')
	}
	return string(key), true
}

// of returns what is known for a request; nil where nothing is.
func (t *termsCache) of(ctx context.Context, c *Compiled, r *Request) *terms {
	key, known := t.key(c, r.Attributes)
	if !known {
		return nil
	}
	a, found, wait := t.find(ctx, c, key, r.Attributes)
	if wait == nil {
		return found
	}
	timer := time.NewTimer(t.Timeout)
	defer timer.Stop()
	select {
	case <-wait:
	case <-timer.C:
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return a.terms
}

// find returns what is known of somebody, or a channel that is closed when it may be. It
// starts a look-up where one is due.
func (t *termsCache) find(ctx context.Context, c *Compiled, key string, given Attributes) (a *termsAnswer, found *terms, wait <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a = t.answers[key]
	if a == nil {
		t.makeRoom()
		a = &termsAnswer{}
		t.answers[key] = a
	}
	if a.loading == nil && !t.now().Before(a.until) {
		a.loading = make(chan struct{})
		who := make(Attributes, len(t.Attributes))
		for _, name := range t.Attributes {
			who[name] = given[name]
		}
		go t.load(context.WithoutCancel(ctx), c, a, who) // others may wait for it, too
	}
	if !a.known && a.loading != nil {
		return a, nil, a.loading
	}
	return a, a.terms, nil
}

func (t *termsCache) load(ctx context.Context, c *Compiled, a *termsAnswer, who Attributes) {
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	t.lookups.Add(1)
	answer, err := t.Lookup(ctx, who)
	var read *terms
	if err == nil {
		read, err = readTerms(&answer, c.registry)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.errors.Add(1)
		a.until = t.now().Add(min(retryLookup, t.Life))
	} else {
		a.terms, a.known, a.until = read, true, t.now().Add(t.Life)
	}
	close(a.loading)
	a.loading = nil
}

// makeRoom drops an answer where there are as many as there may be: one that is due among
// a few, or else any.
func (t *termsCache) makeRoom() {
	if len(t.answers) < t.Entries {
		return
	}
	now, looked, drop := t.now(), 0, ""
	for key, a := range t.answers {
		drop = key
		if looked++; !now.Before(a.until) || looked == 16 {
			break
		}
	}
	delete(t.answers, drop)
}
