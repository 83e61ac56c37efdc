package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weirgo/weir/store"
	"pgregory.net/rapid"
)

// TestCallsOfManyTagsKeepTheirBounds: whoever comes, leaves and is answered when. No
// call has two tags or too many groups, each tag has so many calls in flight that somebody
// waits for, and waits for no other tag while its server has not too many, and everybody
// gets the answer of the call that he was in.
func TestCallsOfManyTagsKeepTheirBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newManual()
		stores := map[[2]int]*Store{}                           // by their options: to make one takes longer than a run
		rapid.Check(struct{ testing.TB }{t}, func(r *rapid.T) { // without the Deadline that a bubble refuses
			f := &traffic{client: h, byName: map[string]*visitor{}}
			f.share, f.inFlight = rapid.IntRange(1, 4).Draw(r, "share"), rapid.IntRange(1, 3).Draw(r, "in flight")
			opts := [2]int{f.share, f.inFlight}
			if stores[opts] == nil {
				stores[opts] = open(t, shardedClient{h}, &Options{Share: f.share, InFlight: f.inFlight})
			}
			f.store = stores[opts]
			f.run(drawSteps(r))
			if f.wrong != nil {
				r.Fatal(strings.Join(f.wrong, "\n"))
			}
		})
		for _, s := range stores {
			wantNothingLeft(t, s)
		}
	})
}

// traffic is a drawn sequence of callers who come and leave, and of answers.
type traffic struct {
	share    int
	inFlight int
	store    *Store
	client   *manualClient
	calls    []*manualCall // in flight
	visitors []*visitor
	byName   map[string]*visitor
	wrong    []string
}

// step is what happens next. which is modulo how many there are.
type step struct {
	verb    string // start, admit, fail, leave
	keys    []string
	take    bool
	patient bool // the caller has no context that ends
	which   int
}

// visitor is a caller in traffic.
type visitor struct {
	*caller
	take   bool
	tag    string // "" for more than one
	sent   bool
	stays  bool
	gone   bool
	failed bool // the call that it was in
}

func drawSteps(t *rapid.T) (steps []step) {
	if rapid.IntRange(0, 4).Draw(t, "concurrent callers at 0") == 0 {
		for n := range maxCalls - 2 { // on as many keys: it nearly fills what may be in flight
			steps = append(steps, step{verb: "start", take: true, keys: []string{fmt.Sprint("concurrent ", n)}})
		}
	}
	for n := range rapid.IntRange(1, 40).Draw(t, "steps") {
		one := step{verb: rapid.SampledFrom([]string{"start", "start", "start", "admit", "admit", "fail", "leave"}).Draw(t, "verb")}
		if one.verb != "start" {
			one.which = rapid.IntRange(0, 99).Draw(t, "which")
			steps = append(steps, one)
			continue
		}
		one.take = rapid.IntRange(0, 3).Draw(t, "a look at 0") > 0
		one.patient = rapid.IntRange(0, 3).Draw(t, "patient at 0") == 0
		tag := rapid.SampledFrom([]string{"a", "far", "lost", strings.Repeat("k", 250)}).Draw(t, "tag")
		for i := range rapid.IntRange(1, 3).Draw(t, "keys") {
			if rapid.IntRange(0, 19).Draw(t, "another tag at 0") == 0 {
				tag = "other"
			}
			before := rapid.SampledFrom([]string{"", "x", "}"}).Draw(t, "before the tag")
			one.keys = append(one.keys, fmt.Sprintf("%s{%s}%d.%d", before, tag, n, i)) // no two are one
		}
		steps = append(steps, one)
	}
	return steps
}

func (f *traffic) run(steps []step) {
	for _, one := range steps {
		switch {
		case one.verb == "start":
			f.start(one)
		case one.verb == "leave" && len(f.visitors) > 0:
			f.leave(f.visitors[one.which%len(f.visitors)])
		case one.verb != "leave" && len(f.calls) > 0:
			f.answer(one.which%len(f.calls), one.verb == "fail")
		}
	}
	for len(f.calls) > 0 {
		f.answer(len(f.calls)-1, false)
	}
	for _, c := range f.visitors {
		switch {
		case c.waiting():
			f.bad("one of %.40q was not answered", c.tag)
		case c.tag != "" && !c.gone && c.failed != (c.err != nil || c.ops[0].Outcome.Remaining != 9):
			f.bad("one of %.40q: %v, %+v, its call has failed: %v", c.tag, c.err, c.ops[0].Outcome, c.failed)
		}
	}
}

func (f *traffic) bad(format string, args ...any) {
	f.wrong = append(f.wrong, fmt.Sprintf(format, args...))
}

// start lets a caller come.
func (f *traffic) start(one step) {
	c := &visitor{caller: &caller{cancel: func() {}, done: make(chan struct{})}, take: one.take, stays: one.patient}
	ctx := context.Background()
	if !one.patient {
		ctx, c.cancel = context.WithCancel(ctx)
	}
	var tags []string
	for _, key := range one.keys {
		op := oneOp(key, windowOf10)[0]
		name := f.store.name(&op.Slot)
		f.byName[name], tags = c, append(tags, clusterTag(name))
		c.ops = append(c.ops, op)
	}
	if len(slices.Compact(tags)) == 1 {
		c.tag = tags[0]
	}
	go func() {
		defer close(c.done)
		defer c.cancel()
		if one.take {
			c.at, c.committed, c.err = f.store.Apply(ctx, c.ops)
		} else {
			c.at, c.err = f.store.Peek(ctx, c.ops)
		}
	}()
	f.visitors = append(f.visitors, c)
	f.look()
	if c.tag == "" && (c.waiting() || !errors.Is(c.err, store.ErrCrossNode)) {
		f.bad("%.80q: %v", one.keys, c.err)
	}
}

// leave ends the context of a caller who waits.
func (f *traffic) leave(c *visitor) {
	if c.stays || c.gone || !c.waiting() {
		return
	}
	c.gone = true
	c.cancel()
	f.look()
	charged := errors.Is(c.err, store.ErrOutcomeUnknown) || errors.Is(c.err, store.ErrUnavailable) && !c.take
	if c.waiting() || !errors.Is(c.err, context.Canceled) || charged != c.sent {
		f.bad("one who leaves, sent %v: %v", c.sent, c.err)
	}
}

// answer answers a call in flight.
func (f *traffic) answer(which int, fail bool) {
	call := f.calls[which]
	f.calls = slices.Delete(f.calls, which, which+1)
	for _, word := range call.args {
		if c := f.byName[word]; c != nil {
			c.failed = fail
		}
	}
	if fail {
		call.fail(io.EOF)
	} else {
		call.admit()
	}
	f.look()
}

// look takes what is sent, and checks what must hold whenever nothing moves.
func (f *traffic) look() {
	f.receive()
	byQueue, byNode := map[string]inFlight{}, map[string]inFlight{}
	for _, call := range f.calls {
		queue, node := queueOf(tagsOf(call.args)[0], !strings.HasSuffix(call.args[0], "_RO"))
		byQueue[queue] = byQueue[queue].with(f.isAbandoned(call))
		byNode[node] = byNode[node].with(f.isAbandoned(call))
	}
	if f.share == 1 {
		for _, c := range f.visitors {
			if c.tag != "" && !c.sent && c.waiting() {
				f.bad("one of %.40q waits, though nothing is bounded", c.tag)
			}
		}
		return
	}
	for queue, n := range byQueue {
		if n.calls > f.inFlight {
			f.bad("%d calls of %.40q in flight", n.calls, queue)
		}
	}
	for node, n := range byNode {
		if n.calls > maxCalls || n.abandoned > f.mostAbandoned(node)+maxCalls {
			f.bad("%+v of %.40q", n, node)
		}
	}
	for _, c := range f.visitors {
		queue, node := queueOf(c.tag, c.take)
		free := byQueue[queue].calls < f.inFlight && byNode[node].calls < maxCalls && byNode[node].abandoned < f.mostAbandoned(node)
		if free && c.tag != "" && !c.sent && c.waiting() {
			f.bad("one of %.40q waits for %+v, of its node %+v", c.tag, byQueue[queue], byNode[node])
		}
	}
}

// inFlight counts calls.
type inFlight struct{ calls, abandoned int }

func (n inFlight) with(abandoned bool) inFlight {
	if abandoned {
		return inFlight{n.calls, n.abandoned + 1}
	}
	return inFlight{n.calls + 1, n.abandoned}
}

// isAbandoned reports whether all callers of a call have left.
func (f *traffic) isAbandoned(call *manualCall) bool {
	for _, word := range call.args {
		if c := f.byName[word]; c != nil && !c.gone {
			return false
		}
	}
	return true
}

// mostAbandoned is how many calls of a node may be abandoned before it makes no more.
func (f *traffic) mostAbandoned(node string) int {
	if strings.HasPrefix(node, "lost") {
		return abandonedFor * f.inFlight
	}
	return maxCalls
}

// queueOf names a queue, and its node.
func queueOf(tag string, take bool) (queue, node string) {
	node = shardedClient{}.Node("{" + tag + "}")
	if node == "" {
		node = tag
	}
	return fmt.Sprint(tag, " ", take), fmt.Sprint(node, " ", take)
}

func (f *traffic) receive() {
	for {
		synctest.Wait()
		select {
		case call := <-f.client.calls:
			f.calls = append(f.calls, call)
			if n, tags := len(call.groups), tagsOf(call.args); len(tags) != 1 || n > f.share {
				f.bad("a call of %d groups, tags %.80q", n, tags)
			}
			for _, word := range call.args {
				if c := f.byName[word]; c != nil {
					c.sent = true
				}
			}
		default:
			return
		}
	}
}
