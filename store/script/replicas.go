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
