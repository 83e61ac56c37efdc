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
// call has two tags or too many groups, each tag has so many calls in flight and waits
// for no other tag while not all tags have too many, and everybody gets the answer of the
// call that carried him.
func TestCallsOfManyTagsKeepTheirBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeld()
		stores := map[[2]int]*Store{}                           // by their options: to make one takes longer than a journey
		rapid.Check(struct{ testing.TB }{t}, func(r *rapid.T) { // without the Deadline that a bubble refuses
			j := &journey{held: h, byName: map[string]*traveller{}}
			j.share, j.inFlight = rapid.IntRange(1, 4).Draw(r, "share"), rapid.IntRange(1, 3).Draw(r, "in flight")
			opts := [2]int{j.share, j.inFlight}
			if stores[opts] == nil {
				stores[opts] = open(t, shardedClient{h}, &Options{Share: j.share, InFlight: j.inFlight})
			}
			j.store = stores[opts]
			j.travel(drawSteps(r))
			if j.wrong != nil {
				r.Fatal(strings.Join(j.wrong, "\n"))
			}
		})
		for _, s := range stores {
			wantNoBatchers(t, s)
		}
	})
}

// journey is a drawn sequence of callers who come and leave, and of answers.
type journey struct {
	share      int
	inFlight   int
	store      *Store
	held       *heldClient
	flying     []*heldCall
	travellers []*traveller
	byName     map[string]*traveller
	wrong      []string
}

// step is what happens next. which is modulo how many there are.
type step struct {
	verb    string // start, admit, fail, leave
	keys    []string
	take    bool
	patient bool // the caller has no context that ends
	which   int
}

// traveller is a caller of a journey.
type traveller struct {
	*caller
	take   bool
	tag    string // "" for more than one
	sent   bool
	stays  bool
	gone   bool
	failed bool // the call that carried it
}

func drawSteps(t *rapid.T) (steps []step) {
	if rapid.IntRange(0, 4).Draw(t, "a crowd at 0") == 0 {
		for n := range maxFlying - 2 { // on as many keys: it nearly fills what may be in flight
			steps = append(steps, step{verb: "start", take: true, keys: []string{fmt.Sprint("crowd ", n)}})
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
		tag := rapid.SampledFrom([]string{"a", "b", "c", strings.Repeat("k", 250)}).Draw(t, "tag")
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

func (j *journey) travel(steps []step) {
	for _, one := range steps {
		switch {
		case one.verb == "start":
			j.start(one)
		case one.verb == "leave" && len(j.travellers) > 0:
			j.leave(j.travellers[one.which%len(j.travellers)])
		case one.verb != "leave" && len(j.flying) > 0:
			j.answer(one.which%len(j.flying), one.verb == "fail")
		}
	}
	for len(j.flying) > 0 {
		j.answer(len(j.flying)-1, false)
	}
	for _, c := range j.travellers {
		switch {
		case c.waiting():
			j.bad("one of %.40q was not answered", c.tag)
		case c.tag != "" && !c.gone && c.failed != (c.err != nil || c.ops[0].Outcome.Remaining != 9):
			j.bad("one of %.40q: %v, %+v, its call has failed: %v", c.tag, c.err, c.ops[0].Outcome, c.failed)
		}
	}
}

func (j *journey) bad(format string, args ...any) {
	j.wrong = append(j.wrong, fmt.Sprintf(format, args...))
}

// start lets a caller come.
func (j *journey) start(one step) {
	c := &traveller{caller: &caller{cancel: func() {}, done: make(chan struct{})}, take: one.take, stays: one.patient}
	ctx := context.Background()
	if !one.patient {
		ctx, c.cancel = context.WithCancel(ctx)
	}
	var tags []string
	for _, key := range one.keys {
		op := oneOp(key, windowOf10)[0]
		name := j.store.name(&op.Slot)
		j.byName[name], tags = c, append(tags, clusterTag(name))
		c.ops = append(c.ops, op)
	}
	if len(slices.Compact(tags)) == 1 {
		c.tag = tags[0]
	}
	go func() {
		defer close(c.done)
		defer c.cancel()
		if one.take {
			c.at, c.committed, c.err = j.store.Apply(ctx, c.ops)
		} else {
			c.at, c.err = j.store.Peek(ctx, c.ops)
		}
	}()
	j.travellers = append(j.travellers, c)
	j.look()
	if c.tag == "" && (c.waiting() || !errors.Is(c.err, store.ErrCrossNode)) {
		j.bad("%.80q: %v", one.keys, c.err)
	}
}

// leave ends the context of a caller who waits.
func (j *journey) leave(c *traveller) {
	if c.stays || c.gone || !c.waiting() {
		return
	}
	c.gone = true
	c.cancel()
	j.look()
	charged := errors.Is(c.err, store.ErrOutcomeUnknown) || errors.Is(c.err, store.ErrUnavailable) && !c.take
	if c.waiting() || !errors.Is(c.err, context.Canceled) || charged != c.sent {
		j.bad("one who leaves, sent %v: %v", c.sent, c.err)
	}
}

// answer answers a call in flight.
func (j *journey) answer(which int, fail bool) {
	call := j.flying[which]
	j.flying = slices.Delete(j.flying, which, which+1)
	for _, word := range call.args {
		if c := j.byName[word]; c != nil {
			c.failed = fail
		}
	}
	if fail {
		call.fail(io.EOF)
	} else {
		call.admit()
	}
	j.look()
}

// look takes what is sent, and checks what must hold whenever nothing moves.
func (j *journey) look() {
	j.receive()
	flying, all := map[string]int{}, map[bool]int{}
	for _, call := range j.flying {
		take := !strings.HasSuffix(call.args[0], "_RO")
		flying[laneOf(tagsOf(call.args)[0], take)]++
		all[take]++
	}
	if most := max(all[true], all[false]); most > maxFlying && j.share > 1 {
		j.bad("%d calls in flight", most)
	}
	for lane, n := range flying {
		if n > j.inFlight && j.share > 1 {
			j.bad("%d calls of %.40q in flight", n, lane)
		}
	}
	for _, c := range j.travellers {
		n := flying[laneOf(c.tag, c.take)]
		if free := n < j.inFlight && all[c.take] < maxFlying || j.share == 1; free && c.tag != "" && !c.sent && c.waiting() {
			j.bad("one of %.40q waits for %d calls in flight, %d of all tags", c.tag, n, all[c.take])
		}
	}
}

func laneOf(tag string, take bool) string { return fmt.Sprint(tag, " ", take) }

func (j *journey) receive() {
	for {
		synctest.Wait()
		select {
		case call := <-j.held.calls:
			j.flying = append(j.flying, call)
			if n, tags := len(call.groups), tagsOf(call.args); len(tags) != 1 || n > j.share {
				j.bad("a call of %d groups, tags %.80q", n, tags)
			}
			for _, word := range call.args {
				if c := j.byName[word]; c != nil {
					c.sent = true
				}
			}
		default:
			return
		}
	}
}
