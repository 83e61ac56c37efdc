package policy

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/weirgo/weir"
	memorystore "github.com/weirgo/weir/store/memory"
)

// bench is an Enforcer on a store in memory, with a clock that the test moves.
type bench struct {
	t     *testing.T
	clock *clock.Mock
	asked *counting
	*Enforcer
}

// counting counts the calls of a decider, and may fail in its place.
type counting struct {
	weir.Decider
	takes, asks atomic.Int64
	fail        func(asks []weir.Ask) error
}

func (c *counting) Take(ctx context.Context, asks ...weir.Ask) (weir.Result, error) {
	c.takes.Add(1)
	c.asks.Add(int64(len(asks)))
	if c.fail != nil {
		if err := c.fail(asks); err != nil {
			return weir.Result{}, err
		}
	}
	return c.Decider.Take(ctx, asks...)
}

func newBench(t *testing.T, p Policy, opts *EnforcerOptions) *bench {
	t.Helper()
	b := &bench{t: t, clock: clock.NewMock()}
	b.clock.Set(noon)
	s := weir.Must(memorystore.New(&memorystore.Options{Clock: b.clock}))
	t.Cleanup(func() { s.Close() })
	b.asked = &counting{Decider: weir.Must(weir.NewMultiLimiter(s, nil))}
	if opts == nil {
		opts = &EnforcerOptions{}
	}
	opts.Clock = b.clock
	b.Enforcer = weir.Must(NewEnforcer(b.asked, compile(t, p), opts))
	return b
}

func (b *bench) decide(r Request) Verdict {
	b.t.Helper()
	v, err := b.Decide(context.Background(), r)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// admitted returns how many of n requests pass.
func (b *bench) admitted(n int, r Request) (passed int) {
	b.t.Helper()
	for range n {
		if b.decide(r).Allowed {
			passed++
		}
	}
	return passed
}

// at moves the clock to so many seconds after noon.
func (b *bench) at(seconds float64) {
	b.clock.Set(noon.Add(time.Duration(seconds * float64(time.Second))))
}

func of(pairs ...string) Request {
	r := Request{Attributes: Attributes{}}
	for i := 0; i < len(pairs); i += 2 {
		r.Attributes[pairs[i]] = pairs[i+1]
	}
	return r
}

func on(method, path string, pairs ...string) Request {
	r := of(pairs...)
	r.Method, r.Path = method, path
	return r
}

// one is a policy of rules.
func one(rules ...Rule) Policy { return Policy{Version: FormatVersion, Rules: rules} }

func specOf(spec Spec) LimitRef { return LimitRef{Spec: spec} }
