package script

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/store"
)

// Options are the optional settings of a Store; nil means all defaults.
type Options struct {
	// Prefix begins the stored name of every key, so that several uses of one
	// server stay apart and an ACL can name them. "" is "w". At most 200
	// bytes, without braces: those decide where a cluster puts a key.
	Prefix string

	// Clock tells the time. nil is the server's own clock, which all processes
	// share: then the clocks of the callers do not matter. With a Clock, states
	// are kept for an hour at least, since the server cannot know its time.
	Clock store.Clock

	// Scripts are the Lua of algorithms that are not built in. An algorithm
	// without one runs by compare-and-set.
	Scripts []Source

	// Share bounds how many Applies, or Peeks, may share one call to the server:
	// those that arrive while calls are in flight leave together with the next
	// one. 0 is 128, 1 switches sharing off, 1000 is the most.
	Share int

	// InFlight bounds the calls in flight while calls are shared: what arrives
	// beyond them waits, and is sent together. 0 is 2, 100 is the most. Where keys
	// lie on several servers it counts for each hash tag, and over all of them 64
	// are the most. Applies and Peeks count apart, and never share a call. With
	// sharing off there is no bound but that of the client library.
	//
	// Where callers ask one slot for the same, a call that four or more share holds back the
	// next one until it has come back, until 64 callers wait (or Share, where that is less), or
	// for 1 ms.
	InFlight int

	// Timeout bounds a call to the server, as the deadline of the context that
	// the client library gets; a caller leaves earlier, when its own context
	// ends. 0 is three seconds, below 0 is refused. The library's own time-outs
	// hold as well.
	Timeout time.Duration

	// Replicas is how many replicas must have what an Apply or a Reset has written before
	// it is answered: the server is asked to WAIT for them, in the same round trip. Where
	// fewer have it in time, the error is a *ReplicaError, which matches
	// store.ErrOutcomeUnknown. 0 is none, 100 is the most. The client must be a
	// Replicator. What an ID has remembered waits, too, in a second round trip. In a
	// cluster a call that meets a slot on its way to another node is
	// store.ErrUnavailable.
	Replicas int

	// ReplicaTimeout bounds the wait for replicas. 0 is 50 ms, and less than 1 ms or more
	// than Timeout is refused.
	ReplicaTimeout time.Duration

	// Trace is called before a call to the server that decides or resets is sent, and the
	// function that it returns when the call has come back, with its error, which matches
	// those of package store where it is one of theirs. It may return nil. A call that is sent
	// again, without the callers who have left, is traced once. It is called concurrently. nil
	// is not called and costs nothing.
	Trace func(TracedCall) (end func(error))
}

const (
	defaultPrefix   = "w"
	maxPrefix       = 200
	defaultShare    = 128
	maxShare        = 1000
	defaultInFlight = 2
	maxInFlight     = 100
	defaultTimeout  = 3 * time.Second

	maxReplicas           = 100
	defaultReplicaTimeout = 50 * time.Millisecond
)

// withDefaults returns the options to use, or an error that names a field.
func (o *Options) withDefaults() (Options, error) {
	var all Options
	if o != nil {
		all = *o
	}
	if all.Prefix == "" {
		all.Prefix = defaultPrefix
	}
	if len(all.Prefix) > maxPrefix || strings.ContainsAny(all.Prefix, "{}") {
		return all, refuse("Prefix", strconv.Quote(all.Prefix), "at most 200 bytes without braces")
	}
	for _, bound := range []struct {
		field          string
		value          *int
		usual, highest int
	}{
		{"Share", &all.Share, defaultShare, maxShare},
		{"InFlight", &all.InFlight, defaultInFlight, maxInFlight},
	} {
		if *bound.value < 0 || *bound.value > bound.highest {
			return all, refuse(bound.field, strconv.Itoa(*bound.value), fmt.Sprintf("0 to %d", bound.highest))
		}
		if *bound.value == 0 {
			*bound.value = bound.usual
		}
	}
	if all.Timeout < 0 {
		return all, refuse("Timeout", all.Timeout.String(), "0 or more")
	}
	if all.Timeout == 0 {
		all.Timeout = defaultTimeout
	}
	if all.Replicas < 0 || all.Replicas > maxReplicas {
		return all, refuse("Replicas", strconv.Itoa(all.Replicas), fmt.Sprintf("0 to %d", maxReplicas))
	}
	if all.ReplicaTimeout == 0 {
		all.ReplicaTimeout = min(defaultReplicaTimeout, all.Timeout)
	} else if all.ReplicaTimeout < time.Millisecond || all.ReplicaTimeout > all.Timeout {
		return all, refuse("ReplicaTimeout", all.ReplicaTimeout.String(), "0, or 1ms to Options.Timeout")
	}
	return all, nil
}

func refuse(field, value, allowed string) error {
	return &store.InputError{Op: -1, Field: "Options." + field, Value: value, Allowed: allowed}
}
