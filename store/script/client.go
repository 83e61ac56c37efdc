package script

import (
	"context"
	"strings"
	"sync/atomic"
)

// Client sends commands to a server. It is what a client library has to be able
// to do; it must be safe for concurrent use.
type Client interface {
	// Do sends c and returns the reply as text: a string as it is, a number in
	// decimal digits, nil as "".
	//
	// It sends c at most once, whatever the library does with other commands:
	// a decision that is sent again is charged again. Only where it is certain
	// that no byte of c has left may it try anew.
	//
	// It keeps neither c nor its Args after it returned, and may return after
	// ctx has ended: nobody waits for it then.
	//
	// An error reply of the server is a *ServerError. Where it is certain that
	// c was not sent, the error matches store.ErrUnavailable. Every other error
	// leaves open whether c was carried out.
	Do(ctx context.Context, c *Command) (reply string, err error)
}

// Sharded is an optional interface of a Client whose keys may lie on several servers,
// by their hash tags: the part of a stored name in braces.
type Sharded interface {
	Client
	// Sharded reports whether that is so. Then only ops of one tag share a
	// call, and an Apply over several is refused with store.ErrCrossNode before
	// anything is sent.
	Sharded() bool
}

// Locator is an optional interface of a Sharded client that tells servers apart.
type Locator interface {
	Sharded
	// Node returns a name of the server on which a key lies, as far as the client
	// knows, and "" where it does not. A server that does not answer then holds up
	// nobody who asks for keys of another. It is called for every Apply and Peek,
	// and waits for nothing.
	Node(key string) string
}

// Sender is an optional interface of a Client that asks before it writes a command.
// Without it a command counts as sent when Do is called: who leaves before the reply
// gets store.ErrOutcomeUnknown, also where the command still waits for a connection.
type Sender interface {
	Client
	// CallsSend reports whether Do calls Command.Send.
	CallsSend() bool
}

// Punctual is an optional interface of a Client that heeds the deadline of a call. A caller
// that has nothing but a time-out then makes its call itself, where it would wait for a
// goroutine that it can leave otherwise.
type Punctual interface {
	Client
	// HonorsDeadline reports whether Do returns when the deadline of ctx has passed,
	// whatever the server does and whatever else Do waits for, for a Command that is
	// Direct. It is called for each call of a single caller, and waits for nothing.
	HonorsDeadline() bool
}

// IdleCloser is an optional interface of a Client that has idle connections.
type IdleCloser interface {
	Client
	// CloseIdle ends the connections to the server of a key that wait for their next
	// command, and waits for no server: they may be dead without a sign. It is called
	// on a goroutine of its own when a server has answered nothing for as long as the
	// callers of a call could wait.
	CloseIdle(ctx context.Context, key string)
}

// Redialer is an optional interface of a Client that keeps connections to an
// address behind which the server may change.
type Redialer interface {
	Client
	// Redial ends the connections that wait for their next command, so that it
	// dials anew. It is called after an error reply that says that the server is
	// not the primary, or not yet: not for each of them, for one at a time, and on
	// a goroutine of its own. It returns when ctx has ended.
	Redial(ctx context.Context)
}

// Command is a command for a server. The store uses it again once Do has returned.
type Command struct {
	// Args are the words of the command, its name first.
	Args []string
	// Key is the index in Args of the first key, and 0 where there is none. All
	// keys of a command lie in one hash slot.
	Key int
	// ReadOnly says that the command writes nothing.
	ReadOnly bool
	// Direct says that the caller of Do is the one who waits for the decision: see Punctual.
	Direct bool

	state atomic.Int32 // stateSent, or how many have withdrawn before that
}

// stateSent is the state of a command of which bytes may have left.
const stateSent = -1

// Send reports whether the command is still to be sent. A Client that is a Sender calls
// it before the first byte leaves, as late as it can. Where it reports false, nobody
// waits for the command any more: Do writes nothing, and returns an error that matches
// store.ErrUnavailable. It may be called again when the command is sent again.
func (c *Command) Send() bool {
	return c.state.CompareAndSwap(0, stateSent) || c.state.Load() == stateSent
}

// withdraw reports whether the command was not sent, and makes sure that it is not.
func (c *Command) withdraw() bool {
	for {
		n := c.state.Load()
		if n == stateSent {
			return false
		}
		if c.state.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// ServerError is an error reply of a server.
type ServerError struct {
	// Message is the whole reply, such as "READONLY You can't write against a read
	// only replica." It may repeat the arguments of the command, and keys among
	// them: Error does not.
	Message string
	// Err is the error of the client library. It may be nil.
	Err error
}

// Code returns the first word of the message, by which the protocol tells
// errors apart.
func (e *ServerError) Code() string {
	code, _, _ := strings.Cut(e.Message, " ")
	return code
}

// longestMessage is the most bytes of a reply that Error returns.
const longestMessage = 160

// Error returns the beginning of the reply, up to the first argument that may be the
// stored name of a key, which has a brace, and 160 bytes at most.
func (e *ServerError) Error() string {
	text, _, _ := strings.Cut(e.Message, ", with args")
	if brace := strings.IndexAny(text, "{}"); brace >= 0 {
		text = text[:strings.LastIndexByte(text[:brace], ' ')+1]
	}
	text = strings.TrimRight(text, " ")
	if len(text) > longestMessage {
		text = strings.ToValidUTF8(text[:longestMessage], "") + "…"
	}
	return text
}

// Unwrap returns the error of the client library.
func (e *ServerError) Unwrap() error { return e.Err }
