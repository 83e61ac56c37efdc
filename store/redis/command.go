package redisstore

import (
	"context"
	"encoding"
	"errors"

	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir/store/script"
)

// command is a command for go-redis, and the memory of the next one.
//
// A StringCmd takes every reply that a Client may return: strings and statuses as
// they are, numbers in digits.
type command struct {
	*redis.StringCmd
	words []string
	args  []any
	last  lastWord
}

var _ redis.Cmder = (*command)(nil)

// fill makes c the command that is sent. Words go as pointers: a string put into
// an interface is an allocation. (A hook that prints them shows addresses. Keys
// are often personal data and do not belong in a trace.)
func (c *command) fill(ctx context.Context, sent *script.Command) {
	c.words = append(c.words[:0], sent.Args...)
	c.args = c.args[:0]
	for i := range c.words {
		c.args = append(c.args, &c.words[i])
	}
	c.args[0] = constant(c.words[0])
	c.last.set(c.words[len(c.words)-1], sent)
	c.args[len(c.args)-1] = &c.last
	c.StringCmd = redis.NewStringCmd(ctx, c.args...)
	c.SetFirstKeyPos(int8(sent.Key))
	c.SetStepCount(1) // or a cluster client asks the server for it
}

// empty lets go of what the command held.
func (c *command) empty() {
	clear(c.words)
	c.StringCmd, c.last.command = nil, nil
}

// NoRetry keeps go-redis from sending the command again after it may have
// arrived, whatever MaxRetries says. A cluster client still follows MOVED and ASK
// and looks for another node after READONLY: those replies say that nothing was
// carried out.
func (c *command) NoRetry() bool { return true }

// Name is what a cluster client routes by. A command that only reads would go to
// a replica with ClusterOptions.ReadOnly, and a replica may lag behind; one such as
// DEL may be cut into a command for each key, which are then repeated. All keys of
// ours lie in one slot, so all commands are sent like a script, and those without
// keys go anywhere. FullName, for traces, is the real one.
func (c *command) Name() string { return "evalsha" }

// Clone implements redis.Cmder. The copy is not repeated either.
func (c *command) Clone() redis.Cmder {
	clone := *c
	clone.StringCmd = c.StringCmd.Clone().(*redis.StringCmd)
	return &clone
}

// constant returns a name as an interface without an allocation where it is one of
// those that are sent all the time. Hooks expect a string there.
func constant(name string) any {
	switch name {
	case "EVALSHA":
		return "EVALSHA"
	case "EVALSHA_RO":
		return "EVALSHA_RO"
	}
	return name
}

// lastWord is the last word of a command. go-redis asks for its bytes when it
// writes the command to a connection, and at no other time. So until then no
// server can have the whole of it.
type lastWord struct {
	text    []byte
	command *script.Command
	written bool
}

var _ encoding.BinaryMarshaler = (*lastWord)(nil)

func (w *lastWord) set(text string, command *script.Command) {
	w.text = append(w.text[:0], text...)
	w.command, w.written = command, false
}

// MarshalBinary implements encoding.BinaryMarshaler. After an error go-redis closes the
// connection, to which nothing of the command was written.
func (w *lastWord) MarshalBinary() ([]byte, error) {
	if !w.command.Send() {
		return nil, errWithdrawn
	}
	w.written = true
	return w.text, nil
}

var errWithdrawn = errors.New("nobody waits for the command any more")

// String returns the word: a cluster client takes the key from here if it is the
// last word.
func (w *lastWord) String() string { return string(w.text) }
