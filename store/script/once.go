package script

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/deadline"
	"github.com/weirgo/weir/store"
)

// kindOfID stands in the stored names of IDs where those of states have their kind, which
// has no capital letters.
const kindOfID = "ID/1"

// idName returns the stored name of an ID, which lies beside the states of ops.
func (s *Store) idName(o store.Once, ops []store.Op) string {
	return s.nameOf(store.SlotID{Key: store.OnceTag(ops), Limit: o.ID, Kind: kindOfID})
}

// once is store.OnceFunc, with a time-out of which 0 is none. It is one round trip, which
// is not shared with others.
func (s *Store) once(ctx context.Context, timeout time.Duration, o store.Once, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
	if err := store.ValidateOnce(o, ops); err != nil {
		return 0, false, err
	}
	if !store.Takes(ops) {
		return s.decide(ctx, timeout, ops, &s.takes)
	}
	err = deadline.Call(ctx, timeout, func(ctx context.Context) error {
		at, committed, err = s.onceWithin(ctx, o, ops)
		return err
	})
	return at, committed, s.counters.failed(err)
}

func (s *Store) onceWithin(ctx context.Context, o store.Once, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
	if err := s.ready(ctx); err != nil {
		return 0, false, err
	}
	id := &stepID{name: s.idName(o, ops), digest: store.OnceDigest(ops), ttl: o.TTL}
	p := s.takes.pending(ctx, 0, len(ops))
	copy(p.ops, ops)
	if scripted, err := p.prepare(s); err != nil {
		return 0, false, err
	} else if !scripted {
		return s.compare(ctx, ops, true, id)
	}
	reply, err := s.sendOnce(ctx, p, id)
	if short, rest := cutReplicaError(err); short != nil {
		p.short, err = err, rest
	}
	if err == nil && strings.HasPrefix(reply, "~") {
		p.short = s.confirm(ctx, id)
	}
	if err == nil {
		err = p.decodeOnce(reply)
	}
	if err != nil {
		p.release()
		return 0, false, err
	}
	if at, committed, err = p.result(ops); err == errOutside {
		if at, committed, err = s.compare(ctx, ops, true, id); err == nil {
			s.sawClock(at)
		}
	}
	return at, committed, err
}

// stepID is an ID as it is stored.
type stepID struct {
	name   string
	digest string // of the ops
	ttl    time.Duration
}

// sendOnce sends p alone, as a group of once.lua.
func (s *Store) sendOnce(ctx context.Context, p *pending, id *stepID) (string, error) {
	now, err := s.instant()
	if err != nil {
		return "", err
	}
	args := append([]string{"", "", strconv.Itoa(len(p.ops) + 1)}, p.storedNames()...)
	args = append(args, id.name, now, s.least(), strconv.Itoa(len(p.ops)))
	for i, limit := range p.limits {
		args = append(args, strconv.Itoa(limit.source.index), strconv.Itoa(len(p.numbers[i])))
		args = append(args, p.numbers[i]...)
	}
	args = append(args, strconv.Itoa(len(p.ops)))
	for i := range p.ops {
		args = append(args, strconv.Itoa(i+1))
	}
	args = append(args, id.digest, strconv.FormatInt(id.ttl.Microseconds(), 10))
	s.counters.called(1, len(p.ops))
	reply, err := s.evalFor(ctx, s.onceScript, &Command{Args: args})
	return reply, explain("apply", err, true)
}

// decodeOnce answers p from the reply of once.lua, or returns why there is no answer.
func (p *pending) decodeOnce(reply string) error {
	switch reply {
	case "=":
		return errIDReused()
	case "!":
		return errIDCorrupt(nil)
	}
	reply, remembered := strings.CutPrefix(reply, "~")
	at, rest, err := cutInstant(reply, ';')
	switch {
	case remembered && err != nil:
		return errIDCorrupt(err)
	case remembered:
		return p.decodeRemembered(at, rest)
	case err != nil:
		return p.garbled()
	}
	p.guard(func() { p.inBatch(at, rest) })
	<-p.answered
	return nil
}

// decodeRemembered answers p from the reply of an earlier step with the ID.
func (p *pending) decodeRemembered(at algorithm.Instant, reply string) error {
	if outcomes, are := strings.CutPrefix(reply, "="); are {
		if err := parseOutcomes(outcomes, p.ops); err != nil {
			return errIDCorrupt(err)
		}
		p.answer(at, true, nil)
		<-p.answered
		return nil
	}
	if !strings.HasPrefix(reply, "+") {
		return errIDCorrupt(nil) // a refusal is not remembered
	}
	p.guard(func() { p.inBatch(at, reply) })
	<-p.answered
	if p.err != p.short && errors.Is(p.err, store.ErrOutcomeUnknown) { // the reply says nothing, and it is a stored one
		return errIDCorrupt(nil)
	}
	return nil
}

func errIDReused() error { return fmt.Errorf("script: apply: %w", store.ErrIDReused) }

// errIDCorrupt says that what is stored of an ID is not that. It was left as it is.
func errIDCorrupt(err error) error {
	if err == nil {
		err = errRecord
	}
	return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
}

var errRecord = errors.New("what is stored of an ID")

// A record is what is stored of an ID: the end in µs, the digest of the ops, and the reply
// of once.lua. Where no script decided, the reply is the instant, and after ";=" the
// outcomes, each in appendOutcome's words, with commas between them.

// record returns the record of a step that was decided in Go.
func (id *stepID) record(at algorithm.Instant, ops []store.Op) string {
	b := strconv.AppendInt(nil, int64(at)+id.ttl.Microseconds(), 10)
	b = append(append(append(b, ' '), id.digest...), ' ')
	b = append(strconv.AppendInt(b, int64(at), 10), ";="...)
	for i := range ops {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendOutcome(b, &ops[i].Outcome)
	}
	return string(b)
}

// readRecord takes a record apart. The reply is "" where the time of the ID is over.
func (id *stepID) readRecord(text string, now algorithm.Instant) (reply string, err error) {
	end, rest, _ := strings.Cut(text, " ")
	digest, reply, _ := strings.Cut(rest, " ")
	ends, err := parseWhole(end)
	switch {
	case err != nil || digest == "" || reply == "":
		return "", errIDCorrupt(nil)
	case ends <= int64(now):
		return "", nil
	case digest != id.digest:
		return "", errIDReused()
	}
	return reply, nil
}

// appendOutcome appends the numbers of an outcome that was admitted. Durations are in ns,
// as an algorithm of a user may have them.
func appendOutcome(b []byte, o *algorithm.Outcome) []byte {
	for i, n := range []int64{o.Limit, o.Remaining, int64(o.RetryAfter), int64(o.ResetAfter), int64(o.Delay), o.Debt} {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return b
}

// parseOutcomes writes the outcomes of a record to ops.
func parseOutcomes(text string, ops []store.Op) error {
	all := strings.Split(text, ",")
	if len(all) != len(ops) {
		return errRecord
	}
	for i, one := range all {
		words := strings.Split(one, " ")
		var n [6]int64
		if len(words) != len(n) {
			return errRecord
		}
		for k, word := range words {
			var err error
			if n[k], err = strconv.ParseInt(word, 10, 64); err != nil {
				return errRecord
			}
		}
		ops[i].Outcome = algorithm.Outcome{
			Allowed: true, Limit: n[0], Remaining: n[1],
			RetryAfter: time.Duration(n[2]), ResetAfter: time.Duration(n[3]), Delay: time.Duration(n[4]), Debt: n[5],
		}
	}
	return nil
}
