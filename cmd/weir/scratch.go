package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/storeurl"
	"github.com/weirgo/weir/store"
	redisstore "github.com/weirgo/weir/store/redis"
)

const (
	// callTimeout is how long a server may take to answer: longer than an
	// application would wait, since a slow answer is worth more than none.
	callTimeout = 5 * time.Second
	// resetSlots is how many slots a call of the clean-up removes.
	resetSlots = 1000
)

// scratch makes stores on a server for one command, remembers what they may have
// written, and removes it. Its methods are called one after the other, its stores
// concurrently.
type scratch struct {
	connection *storeurl.Connection

	ctx     context.Context // of the command: once it has ended, no store answers
	url     string          // as people may see it
	sharded bool            // whether keys lie on several servers
	prefix  string          // of the names of all keys
	share   int             // redisstore.Options.Share
	timeout time.Duration   // of a call to a store

	opened []*scratchStore // that were not removed yet
	left   error           // why something may be left behind, or nil
}

// openScratch connects with a server. Where single is true, all stores are asked one
// thing at a time.
func openScratch(ctx context.Context, on *endpoint, prefix string, share int, single bool) (*scratch, error) {
	// An output that nobody reads any more must not end the process, but the
	// command, with an error: there is cleaning up to do.
	signal.Ignore(syscall.SIGPIPE)
	c, err := on.connect(ctx, single)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", on.shown, err)
	}
	return &scratch{connection: c, ctx: ctx, url: on.shown, sharded: on.url.Sharded(), prefix: prefix, share: share, timeout: callTimeout}, nil
}

// randomPrefix is a prefix that nobody else has.
func randomPrefix(start string) string {
	var random [8]byte
	rand.Read(random[:]) // never fails
	return start + hex.EncodeToString(random[:]) + ":"
}

// open makes a store under a prefix. A nil clock is that of the server.
func (s *scratch) open(prefix string, clock store.Clock) (*scratchStore, error) {
	on, err := s.connection.Open(&redisstore.Options{Prefix: prefix, Clock: clock, Share: s.share, Timeout: s.timeout})
	if err != nil {
		return nil, err
	}
	t := &scratchStore{ctx: s.ctx, prefix: prefix, written: map[store.SlotID]*writtenKeys{}}
	t.Store = store.Wrap(on, store.Hooks{Apply: t.apply, Peek: t.peek, Reset: t.reset, Close: t.setClosed})
	s.opened = append(s.opened, t)
	return t, nil
}

// removeClosed removes what closed stores have written.
func (s *scratch) removeClosed() error {
	for len(s.opened) > 0 && s.opened[0].isClosed() {
		if err := s.remove(s.opened[0]); err != nil {
			return err
		}
		s.opened = s.opened[1:]
	}
	return nil
}

// removeAll removes what all stores have written.
func (s *scratch) removeAll() error {
	for _, t := range s.opened {
		if err := s.remove(t); err != nil {
			return err
		}
	}
	s.opened = nil
	return nil
}

// remove closes a store, which waits for its calls, and removes what it has written. It
// does not look at what else the server holds: to scan all of it takes long, and finds
// the keys of others too where they begin alike. It has no context, since an interrupt
// waits for it.
func (s *scratch) remove(t *scratchStore) error {
	t.Close() // always nil
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unanswered && s.left == nil {
		s.left = &leftError{s.url, s.prefix, errUnanswered}
	}
	if len(t.written) == 0 {
		return nil
	}
	cleaner, err := s.connection.Open(&redisstore.Options{Prefix: t.prefix, Timeout: callTimeout})
	if err != nil {
		return err
	}
	defer cleaner.Close()
	slots := make([]store.Slot, 0, resetSlots)
	for _, w := range t.written {
		for key := range w.keys {
			w.slot.Key = key
			if slots = append(slots, w.slot); len(slots) == resetSlots {
				if err := removeSlots(cleaner, slots); err != nil {
					return err
				}
				slots = slots[:0]
			}
		}
	}
	return removeSlots(cleaner, slots)
}

// removeSlots removes the states of at most resetSlots slots.
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

// Close removes everything and disconnects. Its error says what was left behind.
func (s *scratch) Close() error {
	if err := s.removeAll(); err != nil {
		s.left = &leftError{s.url, s.prefix, err}
	}
	s.connection.Close()
	return s.left
}

// scratchStore is a store on a server that remembers what it may have written: some 40
// bytes for each key of a limit. Once the command is interrupted it answers nothing.
type scratchStore struct {
	store.Store
	ctx    context.Context
	prefix string
	seen   atomic.Int64 // calls of Apply and Peek

	mu         sync.Mutex
	written    map[store.SlotID]*writtenKeys // the Key of the ID is ""
	unanswered bool                          // a call may yet write
	closed     bool
}

// writtenKeys are the keys of one limit that may have a state.
type writtenKeys struct {
	slot store.Slot // of one of them
	keys map[string]struct{}
}

// Features implements store.Featured.
func (t *scratchStore) Features() store.Features {
	f := store.FeaturesOf(t.Store)
	f.Owner = t
	return f
}

func (t *scratchStore) apply(ctx context.Context, ops []store.Op, next store.ApplyFunc) (at algorithm.Instant, committed bool, err error) {
	t.seen.Add(1)
	if err := t.ctx.Err(); err != nil {
		return 0, false, err
	}
	if store.Validate(ops) == nil { // otherwise nothing is sent
		t.remember(ops)
	}
	at, committed, err = next(ctx, ops)
	// A caller who leaves does not take the call along: Close waits for it.
	if errors.Is(err, store.ErrOutcomeUnknown) && ctx.Err() == nil {
		t.mu.Lock()
		t.unanswered = true
		t.mu.Unlock()
	}
	return at, committed, err
}

func (t *scratchStore) remember(ops []store.Op) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range ops {
		id := ops[i].ID()
		id.Key = ""
		w := t.written[id]
		if w == nil {
			w = &writtenKeys{slot: ops[i].Slot, keys: map[string]struct{}{}}
			t.written[id] = w
		}
		w.keys[ops[i].Key] = struct{}{}
	}
}

func (t *scratchStore) peek(ctx context.Context, ops []store.Op, next store.PeekFunc) (algorithm.Instant, error) {
	t.seen.Add(1)
	if err := t.ctx.Err(); err != nil {
		return 0, err
	}
	return next(ctx, ops)
}

func (t *scratchStore) reset(ctx context.Context, slots []store.Slot, next func(context.Context, []store.Slot) error) error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	return next(ctx, slots)
}

func (t *scratchStore) setClosed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return nil
}

func (t *scratchStore) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// errUnanswered is why something may be left although it was removed.
var errUnanswered = errors.New("a call that was not answered may still be carried out")

// leftError says that something may have been left on the server.
type leftError struct {
	url, prefix string
	err         error
}

func (e *leftError) Error() string {
	return fmt.Sprintf("%s: keys that begin with %q may be left there until they expire: clean-up: %v", e.url, e.prefix, e.err)
}

func (e *leftError) Unwrap() error { return e.err }
