package script

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/deadline"
	"github.com/weirgo/weir/store"
)

// Attempts and pauses of a compare-and-set.
const (
	maxAttempts = 1000
	firstPause  = 500 * time.Microsecond
	longestWait = 20 * time.Millisecond
)

// compare decides ops of which at least one has no Lua: it reads the states, steps
// in Go, and writes what changes if no state has changed meanwhile; otherwise it
// begins anew after a pause, until ctx ends. The ID of the step, where it has one, is
// read and written with the states.
func (s *Store) compare(ctx context.Context, ops []store.Op, take bool, id *stepID) (at algorithm.Instant, committed bool, err error) {
	c := comparison{store: s, ops: slices.Clone(ops), names: make([]string, len(ops)), id: id}
	for i := range ops {
		c.names[i] = s.name(&ops[i].Slot)
	}
	if _, err := s.tagOf(c.names); err != nil {
		return 0, false, err
	}
	if id != nil {
		c.names = append(c.names, id.name)
	}
	if take {
		// Callers of this process would only be in each other's way.
		release, err := s.locks.hold(ctx, c.names)
		if err != nil {
			return 0, false, err
		}
		defer release()
	}
	for attempt := range maxAttempts {
		done, err := c.attempt(ctx, take)
		if ended := deadline.Over(ctx); ended != nil && !done && !errors.Is(err, store.ErrOutcomeUnknown) {
			return 0, false, notMade(attempt, ended)
		}
		if err != nil {
			return 0, false, err
		}
		if done {
			for i := range ops {
				ops[i].Outcome = c.ops[i].Outcome
			}
			return c.at, c.committed, nil
		}
		if err := pause(ctx, attempt); err != nil {
			return 0, false, notMade(attempt+1, err)
		}
	}
	return 0, false, fmt.Errorf("script: apply: %w: %d attempts", store.ErrContention, maxAttempts)
}

// notMade is the error of a ctx that ended before the step was made: after attempts
// that failed because of others, it is theirs too.
func notMade(attempts int, ended error) error {
	if attempts == 0 {
		return ended
	}
	return fmt.Errorf("script: apply: %w: %d attempts: %w", store.ErrContention, attempts, ended)
}

// pause waits a random time, longer from attempt to attempt.
func pause(ctx context.Context, attempt int) error {
	most := min(firstPause<<min(attempt, 10), longestWait)
	return deadline.Sleep(ctx, rand.N(most), nil)
}

// comparison is one Apply or Peek by compare-and-set.
type comparison struct {
	store     *Store
	ops       []store.Op
	names     []string // the last is that of the ID, where there is one
	texts     []string // what was read: "-" for none, "=" and the state
	id        *stepID  // nil for none
	known     bool     // the ID has answered
	before    []algorithm.State
	after     []algorithm.State
	at        algorithm.Instant
	committed bool
}

// attempt makes one; it is done unless a state has changed meanwhile.
func (c *comparison) attempt(ctx context.Context, take bool) (done bool, err error) {
	if err := c.read(ctx); err != nil {
		return false, err
	}
	if c.known {
		return true, c.store.confirm(ctx, c.id)
	}
	c.after = make([]algorithm.State, len(c.ops))
	c.committed = store.Decide(c.at, c.ops, c.before, c.after)
	if !take || !c.committed || c.id == nil && !slices.ContainsFunc(c.ops, func(op store.Op) bool { return store.Changes(&op) }) {
		return true, nil
	}
	if deadline.Over(ctx) != nil {
		return false, nil
	}
	return c.swap(ctx)
}

// layout is how the state of a kind lies on the server.
func layout(kind string) string {
	if family, _ := algorithm.FamilyOf(kind); family.Log {
		return "list"
	}
	return "string"
}

// read reads the instant and all states.
func (c *comparison) read(ctx context.Context) error {
	now, err := c.store.instant()
	if err != nil {
		return err
	}
	args := append([]string{"", "", strconv.Itoa(len(c.names))}, c.names...)
	args = append(args, now)
	for i := range c.ops {
		args = append(args, layout(c.ops[i].Algorithm.Spec().Kind))
	}
	if c.id != nil {
		args = append(args, "string")
	}
	reply, err := c.store.evalFor(ctx, readProgram, &Command{Args: args, ReadOnly: true})
	if err != nil {
		return explain("read", err, false)
	}
	return c.decode(reply)
}

// decode takes the reply of the read script apart.
func (c *comparison) decode(reply string) (err error) {
	rest := ""
	if c.at, rest, err = cutInstant(reply, '\n'); err != nil {
		return explain("read", err, false)
	}
	c.texts, c.before = c.texts[:0], c.before[:0]
	for i := range c.ops {
		text, err := cutState(&rest, i == len(c.names)-1)
		if err != nil {
			return explain("read", err, false)
		}
		state := algorithm.State{}
		if text == "!" {
			return corrupt(i, &c.ops[i], nil)
		}
		if text != "-" {
			if state, err = algorithm.ParseState(text[1:]); err == nil && state.Fresh() {
				err = errEmpty
			}
			if err == nil {
				err = checkState(c.ops[i].Algorithm, state)
			}
			if err != nil {
				return corrupt(i, &c.ops[i], err)
			}
		}
		c.texts, c.before = append(c.texts, text), append(c.before, state)
	}
	if c.id != nil {
		return c.decodeID(rest)
	}
	return nil
}

// decodeID takes what the reply has of the ID, which may be the answer.
func (c *comparison) decodeID(rest string) error {
	text, err := cutState(&rest, true)
	if err != nil {
		return explain("read", err, false)
	}
	c.texts = append(c.texts, text)
	if text == "-" {
		return nil
	}
	if text == "!" {
		return errIDCorrupt(nil)
	}
	reply, err := c.id.readRecord(text[1:], c.at)
	if err != nil || reply == "" {
		return err
	}
	at, made, err := cutInstant(reply, ';')
	if err == nil {
		err = c.decodeMade(at, made)
	}
	if err != nil {
		return errIDCorrupt(err)
	}
	c.at, c.committed, c.known = at, true, true
	return nil
}

// decodeMade takes the outcomes of a step that was made, or the states before it where
// another process, which has Lua for all of it, made it.
func (c *comparison) decodeMade(at algorithm.Instant, made string) error {
	if outcomes, are := strings.CutPrefix(made, "="); are {
		return parseOutcomes(outcomes, c.ops)
	}
	states, are := strings.CutPrefix(made, "+")
	texts := strings.Split(states, ",")
	if !are || len(texts) != len(c.ops) {
		return errRecord
	}
	before := make([]algorithm.State, len(c.ops))
	for i, text := range texts {
		var err error
		if before[i], err = readState(&source{log: layout(c.ops[i].Algorithm.Spec().Kind) == "list"}, text); err == nil {
			err = checkState(c.ops[i].Algorithm, before[i])
		}
		if err != nil {
			return err
		}
	}
	if !store.Decide(at, c.ops, before, make([]algorithm.State, len(c.ops))) {
		return errRecord
	}
	return nil
}

var errEmpty = errors.New("an empty value")

// cutState takes the next state off the reply of the read script: "-", "!", or
// "=", the length of the state, ":" and the state; then a newline, but for the last.
func cutState(reply *string, last bool) (string, error) {
	rest := *reply
	if rest == "" {
		return "", errReply
	}
	text := rest[:1]
	rest = rest[1:]
	switch text {
	case "-", "!":
	case "=":
		length, after, _ := strings.Cut(rest, ":")
		n, err := parseWhole(length)
		if err != nil || n > int64(len(after)) {
			return "", errReply
		}
		text, rest = "="+after[:n], after[n:]
	default:
		return "", errReply
	}
	rest, more := strings.CutPrefix(rest, "\n")
	if more == last || last && rest != "" {
		return "", errReply
	}
	*reply = rest
	return text, nil
}

// swap writes what changes, if nothing has changed meanwhile.
func (c *comparison) swap(ctx context.Context) (done bool, err error) {
	args := append([]string{"", "", strconv.Itoa(len(c.names))}, c.names...)
	least := time.Duration(0)
	if c.store.opts.Clock != nil {
		least = time.Hour
	}
	for i := range c.ops {
		op := &c.ops[i]
		next, ttl := "", time.Duration(0)
		switch {
		case !store.Changes(op):
		case c.after[i].Fresh():
			next = "-"
		default:
			next = "=" + c.after[i].String()
			ttl = max(store.TTL(op.Outcome.ResetAfter), least)
		}
		args = append(args, layout(op.Algorithm.Spec().Kind), c.texts[i], next, strconv.FormatInt(ttl.Milliseconds(), 10))
	}
	if c.id != nil {
		ttl := max(store.TTL(c.id.ttl), least)
		args = append(args, "string", c.texts[len(c.ops)], "="+c.id.record(c.at, c.ops), strconv.FormatInt(ttl.Milliseconds(), 10))
	}
	reply, err := c.store.evalFor(ctx, swapProgram, &Command{Args: args})
	if short, rest := cutReplicaError(err); short != nil && reply == "0" {
		err = rest // nothing was written
	}
	if err != nil {
		return false, explain("apply", err, true)
	}
	if reply != "0" && reply != "1" {
		return false, explain("apply", errReply, true)
	}
	return reply == "1", nil
}

// evalFor is eval for one caller, who does not wait for it beyond its ctx.
func (s *Store) evalFor(ctx context.Context, p *program, c *Command) (reply string, err error) {
	return s.within(ctx, c, func(ctx context.Context, c *Command) (string, error) { return s.eval(ctx, p, c) })
}

// locks keeps the callers of this process that write the same slots by
// compare-and-set apart. Slots share locks at random; that costs time only.
type locks struct {
	seed    maphash.Seed
	stripes [64]chan struct{}
}

func (l *locks) init() {
	l.seed = maphash.MakeSeed()
	for i := range l.stripes {
		l.stripes[i] = make(chan struct{}, 1)
	}
}

// hold takes the locks of all names, in one order for everybody.
func (l *locks) hold(ctx context.Context, names []string) (release func(), err error) {
	wanted := make([]int, len(names))
	for i, name := range names {
		wanted[i] = int(maphash.String(l.seed, name) % uint64(len(l.stripes)))
	}
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	held := 0
	release = func() {
		for _, stripe := range wanted[:held] {
			<-l.stripes[stripe]
		}
	}
	for _, stripe := range wanted {
		select {
		case l.stripes[stripe] <- struct{}{}:
			held++
		case <-ctx.Done():
			release()
			return nil, ctx.Err()
		}
	}
	return release, nil
}
