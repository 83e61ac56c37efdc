package script

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/deadline"
	"github.com/weirgo/weir/internal/nilcheck"
	"github.com/weirgo/weir/store"
)

// Store is a store.Store on a server. It is safe for concurrent use. An Apply is
// one round trip, and Applies that run at the same time share theirs: see
// Options.Share. Ops of an algorithm without Lua take two round trips or more,
// with store.ErrContention where others change the slots each time.
//
// The clock is that of the server, unless Options.Clock is set.
type Store struct {
	client     Client
	sharded    bool       // keys lie on several servers
	locator    Locator    // nil where they cannot be told apart
	asks       bool       // the client calls Command.Send
	punctual   Punctual   // nil where the client is not
	replicator Replicator // nil where replicas are not waited for
	redialer   redialer
	closer     idleCloser
	opts       Options
	byKind     map[string]*source
	batch      *program
	onceScript *program // for steps with an ID
	limits     limits
	ahead      atomic.Int64 // the clock of the server of this process's, in ns; see around
	names      store.Names
	takes      dispatcher
	looks      dispatcher
	locks      locks
	counters   counters
	closed     atomic.Bool
	mu         sync.Mutex     // between closed and calls
	calls      sync.WaitGroup // those of a single caller
}

var _ store.Store = (*Store)(nil)

// New returns a store that uses c and leaves it open. It sends nothing; see Check.
func New(c Client, opts *Options) (*Store, error) {
	if nilcheck.IsNil(c) {
		return nil, &store.InputError{Op: -1, Field: "Client", Value: "nil", Allowed: "a client"}
	}
	all, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{client: c, opts: all}
	if sharded, is := c.(Sharded); is && sharded.Sharded() {
		s.sharded = true
		s.locator, _ = c.(Locator)
	}
	if sender, is := c.(Sender); is {
		s.asks = sender.CallsSend()
	}
	s.punctual, _ = c.(Punctual)
	if all.Replicas > 0 {
		var is bool
		if s.replicator, is = c.(Replicator); !is {
			return nil, refuse("Replicas", strconv.Itoa(all.Replicas), "0 with a client that is no Replicator")
		}
	}
	s.redialer.client, _ = c.(Redialer)
	s.closer.client, _ = c.(IdleCloser)
	var custom []*source
	if s.byKind, custom, err = sourcesOf(all.Scripts); err != nil {
		return nil, err
	}
	s.batch, s.onceScript = withKinds(batchProgram, custom), withKinds(onceProgram, custom)
	s.limits.known = make(map[algorithm.Spec]*prepared)
	s.locks.init()
	s.takes.init(s, true)
	s.looks.init(s, false)
	return s, nil
}

// Apply implements store.Store.
func (s *Store) Apply(ctx context.Context, ops []store.Op) (at algorithm.Instant, committed bool, err error) {
	return s.decide(ctx, 0, ops, &s.takes)
}

// Peek implements store.Store.
func (s *Store) Peek(ctx context.Context, ops []store.Op) (at algorithm.Instant, err error) {
	at, _, err = s.decide(ctx, 0, ops, &s.looks)
	return at, err
}

func (s *Store) decide(ctx context.Context, timeout time.Duration, ops []store.Op, d *dispatcher) (at algorithm.Instant, committed bool, err error) {
	at, committed, err = s.ask(ctx, timeout, ops, d)
	return at, committed, s.counters.failed(err)
}

func (s *Store) ask(ctx context.Context, timeout time.Duration, ops []store.Op, d *dispatcher) (at algorithm.Instant, committed bool, err error) {
	if err := store.Validate(ops); err != nil {
		return 0, false, err
	}
	if err := s.ready(ctx); err != nil {
		return 0, false, err
	}
	p := d.pending(ctx, timeout, len(ops))
	copy(p.ops, ops)
	if scripted, err := p.prepare(s); err != nil {
		return 0, false, err
	} else if !scripted {
		err = deadline.Call(ctx, timeout, func(ctx context.Context) error {
			at, committed, err = s.compare(ctx, ops, d.takes, nil)
			return err
		})
		return at, committed, err
	}
	w := p.begin()
	d.send(p)
	if err := d.wait(p); err != nil {
		return 0, false, err
	}
	if at, committed, err = p.result(ops); err == errOutside {
		return s.decideOutside(ctx, w, ops, d.takes)
	}
	return at, committed, err
}

// ready refuses what must not be sent at all.
func (s *Store) ready(ctx context.Context) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	return ctx.Err()
}

// Reset implements store.Store. It is one command, or one for each hash tag where
// keys lie on several servers.
func (s *Store) Reset(ctx context.Context, slots []store.Slot) error {
	return s.counters.failed(s.reset(ctx, slots))
}

func (s *Store) reset(ctx context.Context, slots []store.Slot) error {
	if err := store.ValidateSlots(slots); err != nil {
		return err
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	for i, args := range s.deletions(slots) {
		_, err := s.within(ctx, &Command{Args: args, Key: 1}, s.do)
		if err = explain("reset", err, true); err != nil && i > 0 && !errors.Is(err, store.ErrOutcomeUnknown) {
			return fmt.Errorf("script: reset: %w: some are reset, and then: %v", store.ErrOutcomeUnknown, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// deletions returns the words of a DEL for each tag.
func (s *Store) deletions(slots []store.Slot) (all [][]string) {
	index := make(map[string]int)
	for i := range slots {
		name := s.name(&slots[i])
		tag := s.tag(name)
		at, known := index[tag]
		if !known {
			at = len(all)
			index[tag], all = at, append(all, []string{"DEL"})
		}
		all[at] = append(all[at], name)
	}
	return all
}

// name returns the stored name of a slot.
func (s *Store) name(slot *store.Slot) string { return s.nameOf(slot.ID()) }

// nameOf is name where the ID is known.
func (s *Store) nameOf(id store.SlotID) string { return StoredName(s.opts.Prefix, id) }

// eval runs a script: c has room for two words, the count of keys, the keys and the
// arguments. Where the server does not know the script, nothing was run, and the
// whole text does the same and is known from then on.
func (s *Store) eval(ctx context.Context, p *program, c *Command) (string, error) {
	run, load := "EVALSHA", "EVAL"
	if c.ReadOnly {
		run, load = "EVALSHA_RO", "EVAL_RO"
	}
	c.Args[0], c.Args[1], c.Key = run, p.sha, 3
	if c.Args[2] == "0" {
		c.Key = 0
	}
	reply, err := s.do(ctx, c)
	if err != nil && isUnknownScript(err) {
		s.counters.scriptMisses.Add(1)
		c.Args[0], c.Args[1] = load, p.text
		reply, err = s.do(ctx, c)
	}
	if err != nil && raised(p, err) {
		err = fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return reply, err
}

// raised reports whether the script p itself has raised an error, such as one of a command
// that the user may not send: servers then name the script by its SHA-1, which no proxy
// does. Scripts raise before their first write only, or have taken it back.
func raised(p *program, err error) bool {
	var refused *ServerError
	return errors.As(err, &refused) && refused.Code() == "ERR" && strings.Contains(refused.Message, p.sha)
}

func isUnknownScript(err error) bool {
	var refused *ServerError
	return errors.As(err, &refused) && refused.Code() == "NOSCRIPT"
}

// instant is the first argument of every script: the reading of the Clock, or ""
// for the clock of the server.
func (s *Store) instant() (string, error) {
	if s.opts.Clock == nil {
		return "", nil
	}
	at, err := algorithm.InstantOf(s.opts.Clock.Now())
	if err != nil {
		return "", err
	}
	return at.String(), nil
}

// least is how long a state is kept at least, in ms: with a Clock the server
// cannot know how fast its time passes.
func (s *Store) least() string {
	if s.opts.Clock == nil {
		return "0"
	}
	return "3600000"
}

// Close implements store.Store. It waits for the calls in flight, tells those that
// wait that they were not sent, and leaves the client open.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed.Store(true)
	s.mu.Unlock()
	s.takes.close()
	s.looks.close()
	s.calls.Wait()
	return nil
}
