package clienttest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/weirgo/weir/internal/servertest"
)

// faults lose the reply to a command that was carried out, and end when the client
// could send it again.
var faults = map[string]struct {
	set    func(p *servertest.Proxy, on bool)
	struck func(p *servertest.Proxy) int
}{
	"reply after the read time-out": {func(p *servertest.Proxy, on bool) {
		if p.DelayReplies(0); on {
			p.DelayReplies(time.Minute)
		}
	}, (*servertest.Proxy).Connections},
	"reply lost": {(*servertest.Proxy).DropReplies, (*servertest.Proxy).Dropped},
}

// For comparison, the same fault hits a command that the library may repeat: it shows
// that it does so here.
func commandsAreSentOnce(t *testing.T, lib *Library) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
				for _, mode := range lib.Few {
					t.Run(mode, func(t *testing.T) {
						t.Parallel()
						count := func(key string, call func(o *Opened)) any {
							p := servertest.NewProxy(t, s.Addr())
							o := lib.Open(t, At{Addr: p.Addr(), Mode: mode, Answer: 300 * time.Millisecond})
							Do(t, o.Client, Words("GET", "k"))
							o.Warm(t, 3) // to repeat it over: a greeting that gets no reply is the end
							before, done := fault.struck(p), make(chan struct{})
							fault.set(p, true)
							go func() {
								defer close(done)
								call(o)
							}()
							servertest.Await(t, "the fault strikes", func() bool {
								select {
								case <-done:
									return true
								default:
									return fault.struck(p) > before
								}
							})
							fault.set(p, false)
							<-done
							return s.Do("GET", key)
						}
						ours, theirs := "ours "+mode, "theirs "+mode
						if n := count(ours, func(o *Opened) {
							ctx := context.Background()
							if slices.Contains(lib.ContextOnly, mode) {
								var cancel context.CancelFunc
								ctx, cancel = context.WithTimeout(ctx, time.Second)
								defer cancel()
							}
							_, err := o.Client.Do(ctx, Words("INCR", ours))
							WantClass(t, err, "unknown")
						}); n != "1" {
							t.Errorf("carried out %v times, want 1", n)
						}
						if n := count(theirs, func(o *Opened) {
							_ = o.Repeated(theirs) // it may fail in the end
						}); n == "1" || n == nil {
							t.Errorf("what may be repeated is carried out %v times: this test shows nothing", n)
						}
					})
				}
			})
		})
	}
}

// A reply that says that nothing was carried out is no reason to send again either:
// that is for the store to decide.
func refusalsAreNotRepeated(t *testing.T, lib *Library) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, mode := range lib.Few {
			c := lib.Open(t, At{Addr: s.Addr(), Mode: mode}).Client
			for _, code := range []string{"LOADING", "READONLY", "MASTERDOWN", "TRYAGAIN", "CLUSTERDOWN", "NOREPLICAS", "BUSY"} {
				key := mode + code
				lua := "redis.call('INCR', KEYS[1]) return redis.error_reply('" + code + " test')"
				_, err := c.Do(context.Background(), Eval(lua, key))
				WantClass(t, err, "reply "+code)
				if n := s.Do("GET", key); n != "1" {
					t.Errorf("%s, %s: sent %v times, want 1", mode, code, n)
				}
			}
		}
	})
}

func endedContextSendsNothing(t *testing.T, lib *Library) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, mode := range lib.Modes {
			p := servertest.NewProxy(t, s.Addr())
			c := lib.Open(t, At{Addr: p.Addr(), Mode: mode}).Client
			Do(t, c, Words("PING"))
			before := p.Requests()
			cancelled, cancel := context.WithCancel(context.Background())
			cancel()
			late, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
			defer cancel()
			for _, ctx := range []context.Context{cancelled, late} {
				_, err := c.Do(ctx, Words("INCR", "k"))
				WantClass(t, err, "not sent")
				if !errors.Is(err, ctx.Err()) {
					t.Errorf("%s: %v does not match %v", mode, err, ctx.Err())
				}
			}
			if sent := p.Requests() - before; sent != 0 {
				t.Errorf("%s: %d requests", mode, sent)
			}
		}
	})
}

func deadlineEndsTheWait(t *testing.T, lib *Library) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, mode := range lib.Modes {
			c := lib.Open(t, At{Addr: s.Addr(), Mode: mode, Answer: time.Minute}).Client
			Do(t, c, Words("PING"))
			s.Freeze()
			for _, callers := range []int{1, 8} { // some share a connection then
				short, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
				until, _ := short.Deadline()
				for _, ctx := range []context.Context{short, deadlineOnly{context.Background(), until}} {
					answered := make(chan error)
					for range callers {
						go func() {
							_, err := c.Do(ctx, Words("INCR", "k"))
							answered <- err
						}()
					}
					for range callers {
						if class := Class(within(t, answered)); class != "unknown" && class != "not sent" {
							t.Errorf("%s, %d callers: %s", mode, callers, class)
						}
					}
				}
				cancel()
			}
			s.Thaw()
		}
	})
}

// deadlineOnly is a context that has a deadline and never ends, as a store has it that
// shares its calls.
type deadlineOnly struct {
	context.Context
	until time.Time
}

func (d deadlineOnly) Deadline() (time.Time, bool) { return d.until, true }

// within is the answer that must come long before the library would give up.
func within(tb testing.TB, answered <-chan error) (err error) {
	tb.Helper()
	servertest.Await(tb, "the call returns", func() bool {
		select {
		case err = <-answered:
			return true
		default:
			return false
		}
	})
	return err
}
