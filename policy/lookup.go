package policy

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// TierLookup is how an application says which tier somebody has.
type TierLookup struct {
	// Attributes are whom the tier depends on; 1 or more. A request that lacks one of
	// them is not looked up.
	Attributes []string
	// Lookup returns the name of a tier, or "" where there is none. It gets the values of
	// the Attributes as the request has them: secrets are not replaced. It must be safe
	// for concurrent use, and heed its context.
	Lookup func(ctx context.Context, who Attributes) (tier string, err error)
	// Life is how long an answer counts. 0 is 60 s. An older answer counts on while the
	// next look-up runs, and when it fails.
	Life time.Duration
	// Entries bounds how many answers are kept. 0 is 10,000. When it is reached, others
	// are dropped.
	Entries int
	// Timeout bounds how long a request waits for a look-up. 0 is 100 ms. The request has
	// the default tier then; the answer counts for the next one.
	Timeout time.Duration
}

const (
	defaultLife    = time.Minute
	defaultEntries = 10_000
	defaultTimeout = 100 * time.Millisecond
	// retryLookup is how long a look-up that failed is not tried again.
	retryLookup = time.Second
)

// tierCache keeps the answers of a TierLookup.
type tierCache struct {
	TierLookup
	now             func() time.Time
	lookups, errors atomic.Int64

	mu      sync.Mutex
	answers map[string]*tierAnswer
}

// tierAnswer is what is known of somebody.
type tierAnswer struct {
	tier    string
	known   bool
	until   time.Time     // when the next look-up is due
	loading chan struct{} // closed when a look-up ends; nil while none runs
}

func newTierCache(l *TierLookup, now func() time.Time) (*tierCache, error) {
	t := &tierCache{TierLookup: *l, now: now, answers: map[string]*tierAnswer{}}
	switch {
	case l.Lookup == nil:
		return nil, refused("TierLookup.Lookup", "nil", "a function")
	case len(l.Attributes) == 0:
		return nil, refused("TierLookup.Attributes", "none", "1 or more")
	case l.Life < 0:
		return nil, refused("TierLookup.Life", l.Life.String(), "0 (60s) or more")
	case l.Entries < 0:
		return nil, refused("TierLookup.Entries", strconv.Itoa(l.Entries), "0 (10,000) or more")
	case l.Timeout < 0:
		return nil, refused("TierLookup.Timeout", l.Timeout.String(), "0 (100ms) or more")
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
func (e *Enforcer) lookup(ctx context.Context, c *Compiled, r *Request) func() string {
	if e.tiers == nil {
		return nil
	}
	return func() string { return e.tiers.of(ctx, c, r) }
}

// of returns the tier of a request, "" where it is not known.
func (t *tierCache) of(ctx context.Context, c *Compiled, r *Request) string {
	who := make(Attributes, len(t.Attributes))
	var key []byte
	for _, name := range t.Attributes {
		v := value{text: r.Attributes[name], set: r.Attributes[name] != ""}
		if number, known := c.attributes.number[name]; known {
			v = c.attributes.read(number, v.text)
		}
		if !v.set {
			return ""
		}
		who[name] = r.Attributes[name]
		if v.addr.IsValid() {
			key = v.addr.AppendTo(key)
		}
		key = append(appendEscaped(key, v.text), '&')
	}
	a, tier, wait := t.find(ctx, string(key), who)
	if wait == nil {
		return tier
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
	return a.tier
}

// find returns what is known of somebody, or a channel that is closed when it may be. It
// starts a look-up where one is due.
func (t *tierCache) find(ctx context.Context, key string, who Attributes) (a *tierAnswer, tier string, wait <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a = t.answers[key]
	if a == nil {
		t.makeRoom()
		a = &tierAnswer{}
		t.answers[key] = a
	}
	if a.loading == nil && !t.now().Before(a.until) {
		a.loading = make(chan struct{})
		go t.load(context.WithoutCancel(ctx), a, who) // others may wait for it, too
	}
	if !a.known && a.loading != nil {
		return a, "", a.loading
	}
	return a, a.tier, nil
}

func (t *tierCache) load(ctx context.Context, a *tierAnswer, who Attributes) {
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	t.lookups.Add(1)
	tier, err := t.Lookup(ctx, who)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.errors.Add(1)
		a.until = t.now().Add(min(retryLookup, t.Life))
	} else {
		a.tier, a.known, a.until = tier, true, t.now().Add(t.Life)
	}
	close(a.loading)
	a.loading = nil
}

// makeRoom drops an answer where there are as many as there may be: one that is due among
// a few, or else any.
func (t *tierCache) makeRoom() {
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
