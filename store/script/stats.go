package script

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/weirgo/weir/store"
)

// Stats are counts of a Store since it was made, and what it does now.
type Stats struct {
	// Calls is the number of calls to the server that decide and have come back. Groups is
	// the number of Applies and Peeks in them, and Ops the number of ops in those:
	// Groups/Calls is how many decisions share a call. An Apply or Peek of an algorithm
	// without Lua is in none of them; see Commands.
	Calls, Groups, Ops int64
	// Commands is the number of commands sent to the server, of any kind.
	Commands int64
	// ScriptMisses is the number of commands that the server answered with NOSCRIPT, and
	// that were sent again with the whole script. A server loses its scripts when it is
	// restarted, and with SCRIPT FLUSH.
	ScriptMisses int64
	// Unreplicated is the number of commands after which fewer replicas than
	// Options.Replicas were known to have what was written.
	Unreplicated int64

	// InFlight is the number of calls that have no answer yet. Abandoned is the number of
	// further ones for which nobody waits any more. Waiting is the number of Applies and
	// Peeks that wait for one of them to come back before they are sent.
	InFlight, Abandoned, Waiting int

	// Errors are the errors of Apply, Peek and Reset.
	Errors Errors
}

// Errors count errors by what they mean. Each error counts once: in the first field
// that it matches.
type Errors struct {
	Invalid        int64 // store.ErrInvalid and store.ErrDuplicateSlot
	CrossNode      int64 // store.ErrCrossNode
	Closed         int64 // store.ErrClosed
	OutcomeUnknown int64 // store.ErrOutcomeUnknown
	Unavailable    int64 // store.ErrUnavailable
	Contention     int64 // store.ErrContention
	Corrupt        int64 // store.ErrCorrupt
	Context        int64 // the ctx of the caller had ended before anything was sent
	Other          int64 // such as a DisagreementError
}

// counters are the counts of Stats that events change.
type counters struct {
	calls, groups, ops, commands, scriptMisses, unreplicated atomic.Int64

	invalid, crossNode, closed, unknown, unavailable, contention, corrupt, context, other atomic.Int64
}

// Stats returns the counts. They are read one after the other, while calls go on. It
// costs two locks that calls take too, and sends nothing.
func (s *Store) Stats() Stats {
	c := &s.counters
	stats := Stats{
		Calls: c.calls.Load(), Groups: c.groups.Load(), Ops: c.ops.Load(),
		Commands: c.commands.Load(), ScriptMisses: c.scriptMisses.Load(), Unreplicated: c.unreplicated.Load(),
		Errors: Errors{
			Invalid: c.invalid.Load(), CrossNode: c.crossNode.Load(), Closed: c.closed.Load(),
			OutcomeUnknown: c.unknown.Load(), Unavailable: c.unavailable.Load(), Contention: c.contention.Load(),
			Corrupt: c.corrupt.Load(), Context: c.context.Load(), Other: c.other.Load(),
		},
	}
	for _, d := range []*dispatcher{&s.takes, &s.looks} {
		d.mu.Lock()
		inFlight, abandoned := d.batcher.InFlight()
		stats.InFlight, stats.Abandoned = stats.InFlight+inFlight, stats.Abandoned+abandoned
		stats.Waiting += d.batcher.Waiting()
		d.mu.Unlock()
	}
	return stats
}

// called counts a call with these groups.
func (c *counters) called(groups, ops int) {
	c.calls.Add(1)
	c.groups.Add(int64(groups))
	c.ops.Add(int64(ops))
}

// failed counts an error, if it is one, and returns it.
func (c *counters) failed(err error) error {
	if err == nil {
		return nil
	}
	for _, class := range []struct {
		count   *atomic.Int64
		matches []error
	}{
		{&c.invalid, []error{store.ErrInvalid, store.ErrDuplicateSlot}},
		{&c.crossNode, []error{store.ErrCrossNode}},
		{&c.closed, []error{store.ErrClosed}},
		{&c.unknown, []error{store.ErrOutcomeUnknown}},
		{&c.unavailable, []error{store.ErrUnavailable}},
		{&c.contention, []error{store.ErrContention}},
		{&c.corrupt, []error{store.ErrCorrupt}},
		{&c.context, []error{context.Canceled, context.DeadlineExceeded}},
	} {
		for _, meaning := range class.matches {
			if errors.Is(err, meaning) {
				class.count.Add(1)
				return err
			}
		}
	}
	c.other.Add(1)
	return err
}
