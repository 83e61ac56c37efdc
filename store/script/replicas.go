package script

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weirgo/weir/store"
)

// Replicator is an optional interface of a Client that can wait for replicas.
// Options.Replicas needs it.
type Replicator interface {
	Client
	// DoAndWait is Do, and sends WAIT with a number of replicas and a time-out behind c,
	// over the same connection: a server waits for what that connection has written, and
	// another server knows nothing of it. So it follows no redirection of a cluster. err is
	// as that of Do, about c alone. Where c was answered, acknowledged is what WAIT replied,
	// and waitErr why it replied nothing.
	DoAndWait(ctx context.Context, c *Command, replicas int, timeout time.Duration) (reply string, acknowledged int, waitErr, err error)
}

// ReplicaError says that fewer replicas than Options.Replicas are known to have what a
// call has written. The primary has it, and a fail-over may lose it: so the error matches
// store.ErrOutcomeUnknown.
type ReplicaError struct {
	Wanted, Acknowledged int
	Err                  error // why WAIT was not answered, or nil
}

func (e *ReplicaError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("written, and not known on how many replicas: want %d: %v", e.Wanted, e.Err)
	}
	return fmt.Sprintf("written on %d replicas, want %d", e.Acknowledged, e.Wanted)
}

// Unwrap returns store.ErrOutcomeUnknown and Err.
func (e *ReplicaError) Unwrap() []error { return []error{store.ErrOutcomeUnknown, e.Err} }

// waits reports whether the answer to a command waits for replicas.
func (s *Store) waits(c *Command) bool { return s.replicator != nil && !c.ReadOnly && c.Key > 0 }

// doAndWait is Do where replicas are waited for. With a ReplicaError it returns the reply,
// too.
func (s *Store) doAndWait(ctx context.Context, c *Command) (reply string, err error) {
	wanted := s.opts.Replicas
	reply, acknowledged, waitErr, err := s.replicator.DoAndWait(ctx, c, wanted, s.opts.ReplicaTimeout)
	if err == nil && (waitErr != nil || acknowledged < wanted) {
		s.counters.unreplicated.Add(1)
		err = &ReplicaError{Wanted: wanted, Acknowledged: acknowledged, Err: waitErr}
	}
	return reply, err
}

// confirmProgram writes what is stored of an ID again, as it is.
var confirmProgram = newProgram(`
local record = redis.call('GET', KEYS[1])
if record then redis.call('SET', KEYS[1], record, 'KEEPTTL') end
return ''`)

// confirm waits until replicas have a step that an ID remembers, and returns nil where none
// are waited for. WAIT counts from what its own connection has written last, and a step that
// is remembered has written nothing: so what is stored of the ID is written again.
func (s *Store) confirm(ctx context.Context, id *stepID) error {
	if s.replicator == nil {
		return nil
	}
	_, err := s.evalFor(ctx, confirmProgram, &Command{Args: []string{"", "", "1", id.name}})
	if err == nil {
		return nil
	}
	if short, _ := cutReplicaError(err); short == nil {
		err = &ReplicaError{Wanted: s.opts.Replicas, Err: err}
	}
	return explain("apply", err, true)
}

// cutReplicaError takes a ReplicaError off an error: nil and the error where it is none.
func cutReplicaError(err error) (*ReplicaError, error) {
	if err == nil {
		return nil, nil // without the allocation of what follows
	}
	var short *ReplicaError
	if errors.As(err, &short) {
		return short, nil
	}
	return nil, err
}

// missesReplicas reports whether the answer is withheld because too few replicas have what
// was written for it. What has changed nothing, such as a denial, needs none.
func (p *pending) missesReplicas(committed bool) bool {
	return p.short != nil && committed && slices.ContainsFunc(p.ops, func(op store.Op) bool { return store.Changes(&op) })
}
