package script

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// manualClient is a Client whose calls wait until the test answers them.
type manualClient struct{ calls chan *manualCall }

// manualCall is a call that has been sent.
type manualCall struct {
	ctx    context.Context
	args   []string
	groups [][]string // the keys that they hold
	answer chan func() (string, error)
}

func newManual() *manualClient { return &manualClient{calls: make(chan *manualCall)} }

func (h *manualClient) Do(ctx context.Context, c *Command) (string, error) {
	call := &manualCall{ctx, append([]string(nil), c.Args...), groupsOf(c.Args), make(chan func() (string, error))}
	h.calls <- call
	return (<-call.answer)()
}

// groupsOf takes the words of a call apart: the keys of users, by group.
func groupsOf(args []string) (groups [][]string) {
	if !strings.HasPrefix(args[0], "EVAL") {
		return nil
	}
	count, _ := strconv.Atoi(args[2])
	var keys []string
	for _, name := range args[3 : 3+count] {
		key, _, _ := strings.Cut(strings.TrimPrefix(name, "w{"), "}")
		keys = append(keys, key)
	}
	if args[1] == readProgram.sha || args[1] == swapProgram.sha {
		return [][]string{keys}
	}
	rest := args[3+count+2:] // the instant and the least time to live
	if len(keys) == 1 && len(rest) == 3 {
		return [][]string{keys} // limit, period and cost of a window
	}
	calls, _ := strconv.Atoi(rest[0])
	rest = rest[1:]
	for range calls {
		numbers, _ := strconv.Atoi(rest[1])
		rest = rest[2+numbers:]
	}
	for len(rest) > 0 {
		size, _ := strconv.Atoi(rest[0])
		if size == 0 { // coalesced groups
			groups, keys, rest = append(groups, keys[:1]), keys[1:], rest[4:]
			continue
		}
		groups, keys, rest = append(groups, keys[:size]), keys[size:], rest[1+size:]
	}
	return groups
}

// next waits for the next call, which must come without anything else happening.
func (h *manualClient) next(t *testing.T) *manualCall {
	t.Helper()
	synctest.Wait()
	select {
	case call := <-h.calls:
		return call
	default:
		t.Fatal("nothing is sent")
		return nil
	}
}

// none makes sure that nothing is about to be sent.
func (h *manualClient) none(t *testing.T) {
	t.Helper()
	synctest.Wait()
	select {
	case call := <-h.calls:
		t.Errorf("a call for %v is sent", call.groups)
		call.fail(errors.New("unexpected"))
	default:
	}
}

// admit answers that every slot was fresh at instant 5, and every group is admitted.
func (c *manualCall) admit() {
	c.answer <- func() (string, error) { return admission(c.groups), nil }
}

func admission(groups [][]string) string {
	if len(groups) == 1 && len(groups[0]) == 1 {
		return "+5 "
	}
	reply := "5"
	for _, keys := range groups {
		reply += ";+" + strings.Repeat(",", len(keys)-1)
	}
	return reply
}

func (c *manualCall) fail(err error) { c.answer <- func() (string, error) { return "", err } }

// caller is an Apply or a Peek that runs on its own.
type caller struct {
	ops       []store.Op
	at        algorithm.Instant
	committed bool
	err       error
	cancel    context.CancelFunc
	done      chan struct{}
}

// start makes an Apply or a Peek of cost 1 on keys, and returns while it runs.
func start(s store.Store, take bool, keys ...string) *caller {
	ctx, cancel := context.WithCancel(context.Background())
	c := &caller{cancel: cancel, done: make(chan struct{})}
	for _, key := range keys {
		c.ops = append(c.ops, oneOp(key, windowOf10)...)
	}
	if _, is := s.(bounds); !is && callersBind && len(c.ops) == 1 {
		s = bounds{s}
	}
	go func() {
		defer close(c.done)
		defer cancel()
		if take {
			c.at, c.committed, c.err = s.Apply(ctx, c.ops)
		} else {
			c.at, c.err = s.Peek(ctx, c.ops)
		}
	}()
	synctest.Wait()
	return c
}

// wantAdmitted waits for the answer of an admission.
func (c *caller) wantAdmitted(t *testing.T, who string) {
	t.Helper()
	<-c.done
	if c.err != nil || c.at != 5 || !c.ops[0].Outcome.Allowed || c.ops[len(c.ops)-1].Outcome.Remaining != 9 {
		t.Errorf("%s: at %d, %+v, %v", who, c.at, c.ops[0].Outcome, c.err)
	}
}

// wantError waits for an error that means one thing, and looks that it is no decision.
func (c *caller) wantError(t *testing.T, who string, want, cause error) {
	t.Helper()
	<-c.done
	if c.committed || c.at != 0 || c.ops[0].Outcome != (algorithm.Outcome{}) {
		t.Errorf("%s: at %d, %+v and %v", who, c.at, c.ops[0].Outcome, c.err)
	}
	wantMeaning(t, who, c.err, want, cause)
}

// waiting reports whether the answer is still to come.
func (c *caller) waiting() bool {
	synctest.Wait()
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// onOneServer runs a test in a bubble, with a store whose calls the test answers: once with
// callers of Apply and Peek, and once with callers of a Bound where they have one op.
func onOneServer(t *testing.T, opts *Options, f func(t *testing.T, s *Store, h *manualClient)) {
	t.Helper()
	for _, callersBind = range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := newManual()
			f(t, open(t, h, opts), h)
			h.none(t)
		})
	}
	callersBind = false
}

// callersBind says that start makes a Bound for one op.
var callersBind bool

// micros is a whole number of µs.
func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
