package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
	redisstore "github.com/weirgo/weir/store/redis"
)

const (
	// dialTimeout is how long a server may take to accept a connection.
	dialTimeout = 3 * time.Second
	// callTimeout is how long it may take to answer: longer than an
	// application would wait, since a slow answer is worth more than none.
	callTimeout = 5 * time.Second
	// resetSlots is how many slots a call of the clean-up removes.
	resetSlots = 1000
	// maxPrefix is what a store on a server takes.
	maxPrefix = 200
)

// checkPrefix refuses a prefix that is no good, or longer than most bytes. nil is
// none.
func (p *place) checkPrefix(prefix *string, most int) error {
	switch {
	case prefix == nil:
		return nil
	case !p.server:
		return usageError{fmt.Errorf("--prefix: %q is for a server: must be left out with %s", *prefix, p.shown)}
	case *prefix == "" || len(*prefix) > most || strings.ContainsAny(*prefix, "{}\ufffd"): // the parser's mark for what is no UTF-8
		return usageError{fmt.Errorf("--prefix: %q is not allowed: must be 1 to %d bytes of UTF-8 without braces", *prefix, most)}
	}
	return nil
}

// open opens the store for a replay of some limits, which are slots without
// keys. On a server it works under a prefix, a random one where none is given.
// Closing it removes all that it wrote there; the error says what was not
// removed.
func (p *place) open(ctx context.Context, clock store.Clock, prefix *string, limits []store.Slot) (store.Store, error) {
	if !p.server {
		return memorystore.New(&memorystore.Options{Clock: clock})
	}
	w := &workspace{where: p.shown, limits: limits, keys: map[string]struct{}{}}
	if prefix != nil {
		w.prefix, w.given = *prefix, true
	} else {
		w.prefix = "weir-replay:" + randomName() + ":"
	}
	// An output that nobody reads any more must not end the process, but the
	// replay, with an error: there is cleaning up to do.
	signal.Ignore(syscall.SIGPIPE)
	c, err := p.connect(ctx, true)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.shown, err)
	}
	w.disconnect = c.close
	// It is asked one thing at a time, so calls are not shared.
	w.Store, err = c.open(&redisstore.Options{Prefix: w.prefix, Clock: clock, Share: 1, Timeout: callTimeout})
	if err != nil {
		c.close()
		return nil, fmt.Errorf("%s: %w", p.shown, err)
	}
	// The first question, before any file is created: does it answer?
	if _, err := w.peek(ctx, "weir"); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// workspace is a store on a server that one replay works in and leaves as it
// was. It is for one goroutine.
//
// It remembers the keys that it was asked about: some 40 bytes for each, since
// their text is the trace's.
type workspace struct {
	store.Store
	where      string // the URL, as people may see it
	prefix     string
	given      bool                // by the user, so that others may have it too
	limits     []store.Slot        // without keys
	keys       map[string]struct{} // that may have a state
	unanswered bool                // a call may yet write
	disconnect func()
}

// Apply implements store.Store. A call that has been sent is waited for, even
// where the replay is interrupted: it could write behind the clean-up.
func (w *workspace) Apply(ctx context.Context, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	key := ops[0].Key
	if _, known := w.keys[key]; !known {
		if err := w.claim(ctx, key); err != nil {
			return 0, false, err
		}
		w.keys[key] = struct{}{}
	}
	patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	at, committed, err = w.Store.Apply(patient, ops)
	if errors.Is(err, store.ErrOutcomeUnknown) {
		w.unanswered = true
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", w.where, err)
	}
	return at, committed, err
}

// claim makes sure that no state of a key is there before the first one of this
// replay: that of another replay under the same prefix, or of one that was
// killed, would show in the decisions, and be removed by the clean-up.
func (w *workspace) claim(ctx context.Context, key string) error {
	if !w.given {
		return nil // nobody else has the random prefix
	}
	used, err := w.peek(ctx, key)
	if err == nil && used {
		err = fmt.Errorf("--prefix: %q is in use on %s: there is a state that this replay did not write", w.prefix, w.where)
	}
	return err
}

// peek reports whether a key has a state that is not as good as none.
func (w *workspace) peek(ctx context.Context, key string) (used bool, err error) {
	ops := make([]store.Op, len(w.limits))
	for i, limit := range w.limits {
		ops[i].Slot = limit
		ops[i].Key = key
	}
	within, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := w.Store.Peek(within, ops); err != nil {
		return false, fmt.Errorf("%s: %w", w.where, err)
	}
	for i := range ops {
		used = used || ops[i].Outcome.ResetAfter != 0
	}
	return used, nil
}

// Close implements store.Store: it cleans up and disconnects.
func (w *workspace) Close() error {
	err := w.cleanUp()
	w.keys, w.unanswered = nil, false
	w.Store.Close() // which leaves the connection open
	w.disconnect()
	return err
}

// cleanUp removes the states of all keys, without looking at what else the
// server holds: to scan all of it takes long, and finds the keys of others too
// where they begin alike. It has no context, since an interrupt waits for it.
func (w *workspace) cleanUp() error {
	slots := make([]store.Slot, 0, resetSlots)
	for key := range w.keys {
		for _, slot := range w.limits {
			slot.Key = key
			slots = append(slots, slot)
		}
		if len(slots)+len(w.limits) > resetSlots {
			if err := w.remove(slots); err != nil {
				return err
			}
			slots = slots[:0]
		}
	}
	if err := w.remove(slots); err != nil {
		return err
	}
	if w.unanswered {
		return &leftError{w.where, w.prefix, errUnanswered}
	}
	return nil
}

func (w *workspace) remove(slots []store.Slot) error {
	if err := removeSlots(w.Store, slots); err != nil {
		return &leftError{w.where, w.prefix, err}
	}
	return nil
}

// removeSlots removes the states of at most resetSlots slots, whatever else ends.
func removeSlots(s store.Store, slots []store.Slot) (err error) {
	if len(slots) == 0 {
		return nil
	}
	for range 2 { // the first try may find that the connection is broken
		within, cancel := context.WithTimeout(context.Background(), callTimeout)
		err = s.Reset(within, slots)
		cancel()
		if err == nil {
			return nil
		}
	}
	return err
}

// randomName returns 16 hexadecimal digits that nobody else has.
func randomName() string {
	var random [8]byte
	rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}

// errUnanswered is why something may be left although it was removed.
var errUnanswered = errors.New("a call that was not answered may still be carried out")

// leftError says that something may have been left on the server.
type leftError struct {
	where, prefix string
	err           error
}

func (e *leftError) Error() string {
	return fmt.Sprintf("%s: keys that begin with %q may be left there until they expire: clean-up: %v", e.where, e.prefix, e.err)
}

func (e *leftError) Unwrap() error { return e.err }
