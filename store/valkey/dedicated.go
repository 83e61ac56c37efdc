package valkeystore

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir/store/script"
)

// dedicated are the connections of a store that no other command shares. The goroutine that
// makes a call writes and reads on such a connection itself; on the shared connection two
// goroutines of valkey-go do. The deadline of a call ends its connection, which then ends no
// other command. So a single caller can make its call itself.
//
// The connections come from the pool that valkey-go has for commands that block. One is made
// after some calls over the shared connection were answered, and is released when it was idle
// for a while. After an error, and after a refusal such as READONLY of a server that is not the
// primary any more, all are closed, those in use as soon as they come back: they lead to the
// same server. Until there are others, calls go over the shared connection.
type dedicated struct {
	client valkey.Client // nil where there are none
	idle   time.Duration // an unused connection stays for one to two times as long

	mu         sync.Mutex
	free       []*connection
	count      int         // free, in use, and being made
	generation int         // counts how often all were given up
	answered   int         // calls over the shared connection since the last was made or given up
	next       time.Time   // when the next one may be made
	used       bool        // one was taken since the timer was set
	timer      *time.Timer // nil until there is a connection
}

// connection is one of dedicated. It is not used again in a later generation.
type connection struct {
	valkey.DedicatedClient
	release    func() // gives it back to valkey-go
	generation int
}

const (
	// maxDedicated is how many calls a store has in flight at most: two that take and two that
	// look.
	maxDedicated = 4
	// leastPool is the least BlockingPoolSize of which some may be taken.
	leastPool = 64
	// dedicatedCalls is how many calls are answered before one is made: a store that makes a
	// few needs none.
	dedicatedCalls = 16
	// dedicatedTime bounds the first answer over a connection.
	dedicatedTime = time.Second
	// dedicatedPause is from an error until another one may be made.
	dedicatedPause = time.Second
	// dedicatedIdle is dedicated.idle. To close the client closes no connection that is taken
	// from its pool: such a connection outlives the client by twice dedicatedIdle at most.
	dedicatedIdle = 2 * time.Second
)

// use lets connections be made by a client.
func (d *dedicated) use(client valkey.Client) { d.client, d.idle = client, dedicatedIdle }

// poolSize is the BlockingPoolSize of a client that valkey-go has made for one server; 0 for any
// other client. No method of valkey-go returns it, and a store must not take connections from a
// small pool, so it is read from fields that valkey-go does not export. Where a newer version
// has other fields it is 0, and the store uses the shared connection alone.
//
// It is 0 for a Sentinel client, too, whose server may change without an error reply: after a
// fail-over.
func poolSize(c valkey.Client) int {
	v := reflect.Indirect(reflect.ValueOf(c))
	if v.Kind() != reflect.Struct || v.Type().PkgPath() != "github.com/valkey-io/valkey-go" || v.Type().Name() != "singleClient" {
		return 0
	}
	for _, name := range []string{"conn", "dpool", "cap"} {
		if v = v.FieldByName(name); v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		if v = reflect.Indirect(v); !v.IsValid() || name != "cap" && v.Kind() != reflect.Struct {
			return 0
		}
	}
	if !v.CanInt() {
		return 0
	}
	return int(v.Int())
}

// HonorsDeadline implements script.Punctual. It takes no connection: where another call takes
// the last one meanwhile, askElsewhere makes the direct call.
func (c *client) HonorsDeadline() bool {
	d := &c.dedicated
	if d.client == nil || c.distrusts() {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.free) > 0
}

// get returns a connection for a command, nil where there is none.
func (d *dedicated) get() *connection {
	d.mu.Lock()
	defer d.mu.Unlock()
	last := len(d.free) - 1
	if last < 0 {
		return nil
	}
	one := d.free[last]
	d.free[last], d.used = nil, true
	d.free = d.free[:last]
	return one
}

// put takes a connection back that was answered.
func (d *dedicated) put(one *connection) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if one.generation != d.generation {
		d.count--
		go one.Close() // may wait for the server
		return
	}
	d.free = append(d.free, one)
	if d.timer == nil {
		d.timer = time.AfterFunc(d.idle, d.retire)
	}
}

// discard closes all connections, and lets dedicatedPause pass before others are made. one is the
// connection that the caller has taken, or nil.
func (d *dedicated) discard(one *connection) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next, d.answered = time.Now().Add(dedicatedPause), 0
	if one != nil {
		d.free = append(d.free, one)
	}
	d.generation++
	for _, one := range d.free {
		d.count--
		go one.Close()
	}
	clear(d.free)
	d.free = d.free[:0]
}

// retire gives the connections back to valkey-go where nobody has used one since it looked
// last.
func (d *dedicated) retire() {
	d.mu.Lock()
	var idle []*connection
	if !d.used {
		idle, d.free = d.free, nil
		d.count -= len(idle)
	}
	d.used = false
	if d.count == 0 {
		d.timer = nil
	} else {
		d.timer.Reset(d.idle)
	}
	d.mu.Unlock()
	for _, one := range idle {
		one.release()
	}
}

// extend counts an answered call over the shared connection. After dedicatedCalls of them it
// begins to make another connection, and does not wait for it.
func (d *dedicated) extend() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answered++
	if d.answered < dedicatedCalls || d.count >= maxDedicated || len(d.free) > 0 || time.Now().Before(d.next) {
		return
	}
	d.answered = 0
	d.count++
	generation := d.generation
	go func() {
		one := &connection{generation: generation}
		one.DedicatedClient, one.release = d.client.Dedicate() // waits for a free place in the pool
		ctx, cancel := context.WithTimeout(context.Background(), dedicatedTime)
		defer cancel()
		if one.Do(ctx, one.B().Arbitrary("PING").Build()).NonValkeyError() != nil {
			d.discard(one)
		} else { // an answer, even if the user may not ask
			d.put(one)
		}
	}()
}

// askDedicated sends a command over a connection of its own, where there is one, and
// otherwise over the shared one.
func (c *client) askDedicated(w *watch, sent *script.Command) valkey.ValkeyResult {
	d := &c.dedicated
	if one := d.get(); one != nil {
		result := one.Do(w, c.build(sent, false))
		err := result.NonValkeyError()
		if err == nil && !refuses(&result) {
			d.put(one)
			return result
		}
		d.discard(one)
		if err == nil || w.sent() {
			return result
		}
		w.begin(w.parent, sent) // the connection had ended before, and nothing was sent
	}
	var result valkey.ValkeyResult
	if sent.Direct {
		result = c.askElsewhere(w, c.build(sent, false))
	} else {
		result = c.valkey.Do(w, c.build(sent, false))
	}
	if result.NonValkeyError() != nil || refuses(&result) {
		d.discard(nil)
	} else {
		d.extend()
	}
	return result
}

// askElsewhere sends the command of a direct call over the shared connection by another
// goroutine, since it may have to wait until the connection is made.
func (c *client) askElsewhere(w *watch, command valkey.Completed) valkey.ValkeyResult {
	answered := make(chan valkey.ValkeyResult, 1)
	done := w.parent.Done() // at the end of a direct call
	go func() { answered <- c.valkey.Do(w, command) }()
	select {
	case result := <-answered:
		return result
	case <-done:
		return valkey.NewErrorResult(w.leave())
	}
}

// refuses reports whether a reply is an error that may be due to the server that the
// connection leads to, such as one that is not the primary any more.
func refuses(result *valkey.ValkeyResult) bool {
	var refusal *valkey.ValkeyError
	return errors.As(result.Error(), &refusal) && !refusal.IsNil() && !refusal.IsNoScript()
}
