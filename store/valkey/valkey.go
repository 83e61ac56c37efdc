// Package valkeystore keeps rate-limiter states in a Valkey or Redis server, or a
// cluster of them, through a valkey-go client.
//
//	client, err := valkey.NewClient(valkey.ClientOption{
//		InitAddress:  []string{"127.0.0.1:6379"},
//		DisableCache: true,
//	})
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	s, err := valkeystore.New(client, nil)
//
// It works with valkey-go 1.0.79 or newer, and with Valkey 7.2 and Redis 7.0 or
// newer. The client stays the caller's, who may use it for other things and
// closes it after the store.
//
// A command of the store is sent once, whatever DisableRetry and RetryDelay say: a
// decision that is sent again is charged again. These options of the client are
// worth a thought:
//
//   - ConnLifetime must be 0. Where a connection comes to its end with a command
//     on it, valkey-go 1.0.79 sends that command again. New refuses such a client
//     where it can see the option, which is not so if the client is wrapped.
//   - ConnWriteTimeout is 10 s, and is how long a connection that went silent is
//     kept, about a second more. A shorter one notices sooner.
//   - Dialer.Timeout is 5 s, and bounds a connection that is being made, up to the
//     answer to its greeting.
//   - DisableCache saves the memory of a cache that the store has no use for.
//   - BlockingPoolSize is 1024. A store with one server takes up to four connections of
//     this pool where it has at least 64. A call then has a connection to itself, and a
//     caller with a time-out and a context that never ends makes its call on its own
//     goroutine while it is the only one. The store releases a connection that was idle for
//     2 to 4 s, so it may stay open for 4 s after store and client were closed. The store
//     takes none of a wrapped client, none with Options.Share of 1, and none where it
//     cannot see the size in a newer valkey-go.
//   - PipelineMultiplex has an effect on the store in a cluster only. With one server all
//     commands that have no connection to themselves are sent together on one connection.
//   - SendToReplicas is never to be true for a command that is not read-only. None
//     of the store is marked so: a replica may lag behind.
//
// In a cluster only keys that share a {tag} can be taken together; others are refused
// with store.ErrCrossNode before anything is sent.
//
// valkey-go does not tell whether a connection ended before the command was sent or
// after it. Where that is all that is known, the outcome is unknown: when an idle
// connection turns out to be dead. While a connection is being made nothing is sent.
package valkeystore

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir/internal/nilcheck"
	"github.com/weirgo/weir/store"
	"github.com/weirgo/weir/store/script"
)

// Store is a store.Store on a server.
type Store = script.Store

// Options are the optional settings of a Store; nil means all defaults.
type Options = script.Options

// New returns a store that uses c, which may be of any kind: for one server, for
// Sentinel or for a cluster. A client with a ConnLifetime is refused. New sends
// nothing, and closing the store leaves c open.
func New(c valkey.Client, opts *Options) (*Store, error) {
	if nilcheck.IsNil(c) {
		return nil, &store.InputError{Op: -1, Field: "client", Value: "nil", Allowed: "a valkey.Client"}
	}
	if expires(c) {
		return nil, &store.InputError{Op: -1, Field: "client", Value: "a valkey.Client with a ConnLifetime", Allowed: "one without: it sends a command again"}
	}
	ours := newClient(c)
	if poolSize(c) >= leastPool && (opts == nil || opts.Share != 1) {
		ours.dedicated.use(c)
	}
	return script.New(ours, opts)
}

// expires says whether the connections of c have a ConnLifetime, which no method
// tells. A type that valkey-go does not make is not looked into.
func expires(c valkey.Client) bool {
	v := reflect.Indirect(reflect.ValueOf(c))
	if v.Kind() != reflect.Struct {
		return false
	}
	if has := v.FieldByName("hasLftm"); has.IsValid() && has.Kind() == reflect.Bool {
		return has.Bool()
	}
	opt := v.FieldByName("opt")
	return opt.IsValid() && opt.Type() == reflect.TypeFor[*valkey.ClientOption]() &&
		!opt.IsNil() && opt.Elem().FieldByName("ConnLifetime").Int() > 0
}

// client sends commands through valkey-go.
type client struct {
	valkey  valkey.Client
	cluster bool
	watches sync.Pool
	slots   slots
	trusted atomic.Int64 // when shared connections are trusted again, in ns; 0 for now

	dedicated dedicated
}

var _ script.Client = (*client)(nil)

func newClient(c valkey.Client) *client {
	return &client{
		valkey:  c,
		cluster: c.Mode() == valkey.ClientModeCluster,
		watches: sync.Pool{New: func() any { return new(watch) }},
	}
}

// Do implements script.Client.
func (c *client) Do(ctx context.Context, sent *script.Command) (reply string, err error) {
	if err := ctx.Err(); err != nil {
		return "", unavailable(err)
	}
	w := c.watches.Get().(*watch)
	w.begin(ctx, sent)
	result := c.ask(w, sent)
	if err := result.NonValkeyError(); err != nil {
		return "", meaning(ctx, err, w.sent())
	}
	w.end()
	c.watches.Put(w)
	message, _ := result.ToMessage()
	return text(&message)
}

// ask sends a command. One without a key goes to any server that a cluster client was ever
// told of, such as one that is gone by now; in a list of commands it goes to a primary.
func (c *client) ask(w *watch, sent *script.Command) valkey.ValkeyResult {
	switch {
	case c.cluster && sent.Key == 0:
		return c.valkey.DoMulti(w, c.build(sent, false))[0]
	case c.dedicated.client != nil && !c.distrusts():
		return c.askDedicated(w, sent)
	}
	return c.valkey.Do(w, c.build(sent, false))
}

// build makes the command for valkey-go, which repeats none that is not marked as
// read-only or retryable: so ours are not, whatever they do.
//
// Only a cluster is told the key. A client for one server spreads commands with a
// key over connections at random, and those without go over the first: where all
// of ours go there, it is known which one leads to the wrong server; see Redial.
func (c *client) build(sent *script.Command, blocks bool) valkey.Completed {
	command := c.valkey.B().Arbitrary(sent.Args[0])
	if c.cluster && sent.Key > 0 { // all keys lie in the slot of the first
		command = command.Args(sent.Args[1:sent.Key]...).Keys(sent.Args[sent.Key]).Args(sent.Args[sent.Key+1:]...)
	} else {
		command = command.Args(sent.Args[1:]...)
	}
	if blocks || c.distrusts() {
		return command.Blocking()
	}
	return command.Build()
}

// text returns what a server replied.
func text(m *valkey.ValkeyMessage) (string, error) {
	switch {
	case m.IsNil():
		return "", nil
	case m.IsInt64():
		n, err := m.ToInt64()
		return strconv.FormatInt(n, 10), err
	case m.IsArray(), m.IsMap(), m.IsBool():
		return "", errors.New("valkeystore: a reply that is no text")
	}
	text, err := m.ToString()
	if err != nil {
		// The text is the reply; that of the error lacks a leading ERR.
		return "", &script.ServerError{Message: text, Err: err}
	}
	if !m.IsString() && !m.IsFloat64() && len(text) > 3 && text[3] == ':' {
		text = text[4:] // a verbatim string, such as INFO, begins with its format
	}
	return text, nil
}
