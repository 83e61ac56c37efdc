package script

import (
	"context"
	"errors"
)

// TracedCall is a call to the server that is about to be sent, as Options.Trace gets it.
type TracedCall struct {
	// Verb is "apply", "peek" or "reset".
	Verb string
	// Callers are the contexts of those who wait for the call: one for each decision in it.
	// They must not be kept.
	Callers []context.Context
	// Limits is how many limits these decisions ask.
	Limits int
}

// errPanicked is what a trace gets of a call that a client library ended with a panic.
var errPanicked = errors.New("script: the client has panicked")

// trace tells Options.Trace of a call of the dispatcher. It returns nil where there is
// nothing to tell when the call has come back.
func (c *call) trace() func(error) {
	start := c.dispatcher.store.opts.Trace
	if start == nil {
		return nil
	}
	t := TracedCall{Verb: c.dispatcher.verb(), Callers: make([]context.Context, len(c.Groups))}
	for i, g := range c.Groups {
		t.Callers[i] = g.Value.ctx
		t.Limits += len(g.Value.ops)
	}
	return start(t)
}

// ended tells what trace has returned that the call has come back.
func (c *call) ended(end func(error), panicked *recovered, err error) {
	switch {
	case end == nil:
	case panicked != nil:
		end(errPanicked)
	default:
		end(explain(c.dispatcher.verb(), err, c.dispatcher.takes))
	}
}

// sender sends a command.
type sender func(ctx context.Context, c *Command) (reply string, err error)

// traced is send for one caller, traced.
func (s *Store) traced(caller context.Context, c *Command, send sender) sender {
	t := TracedCall{Verb: "apply", Callers: []context.Context{caller}, Limits: 1}
	switch {
	case c.ReadOnly:
		t.Verb = "peek"
	case c.Args[0] == "DEL":
		t.Verb, t.Limits = "reset", len(c.Args)-1
	}
	end := s.opts.Trace(t)
	if end == nil {
		return send
	}
	return func(ctx context.Context, c *Command) (reply string, err error) {
		err = errPanicked // unless send returns
		defer func() {
			if err == errPanicked {
				end(err)
				return
			}
			end(explain(t.Verb, err, !c.ReadOnly))
		}()
		reply, err = send(ctx, c)
		return reply, err
	}
}
