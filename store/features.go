package store

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// Features are what a store can do beyond Store, to save its callers work. Each
// decides exactly as the methods of Store do. The zero value is no feature.
type Features struct {
	// Owner is the store whose features these are. See FeaturesOf.
	Owner Store

	// Bind prepares one limit, so that a decision about a single op finds what it
	// needs and allocates nothing. It refuses what Validate refuses in a Slot, and
	// returns ErrClosed once the store is closed. nil: the store has no such path.
	Bind func(limit string, a algorithm.Algorithm) (Bound, error)

	// Within returns the same store with a time-out above 0 for each Apply, Peek
	// and Reset; to close either closes both. A call without an answer after the
	// time-out ends as if its ctx had ended, but with an error that matches
	// ErrUnavailable where nothing can have been changed, and otherwise
	// ErrOutcomeUnknown. nil: callers watch the time with a context.
	Within func(timeout time.Duration) Store

	// Once is Apply of a step that has an ID: the first that is committed is remembered, and
	// one with the same ID and the same ops (see OnceDigest) is then answered with the
	// same Outcomes and the same instant, committed, and not made again; also where the
	// two are concurrent. An ID that is remembered with other ops is ErrIDReused. What
	// takes nothing is not remembered: a step that is refused, or of looks, whose next
	// one is decided anew. Reset forgets no ID. ID and states change in one atomic
	// step, and an ID takes room as a slot does. nil: the store has no such path, and
	// its callers return ErrUnsupported.
	Once OnceFunc

	// NoIO reports that calls wait for nothing outside the process, so that they
	// need no time-out.
	NoIO bool

	// Node returns a name of the server that keeps a key, as far as the store knows, and ""
	// where it does not. It waits for nothing and is safe for concurrent use. nil: the
	// store has one server, or cannot tell them apart.
	Node func(key string) string

	// Names are the limits that were built on the store in this process. nil: the
	// store does not remember them.
	Names *Names
}

// Featured is a Store that has Features.
type Featured interface {
	Store
	// Features returns the features of the store, with the store as their Owner. It
	// returns the same features for the life of the store, and is safe for
	// concurrent use.
	Features() Features
}

// FeaturesOf returns the features of s. Features whose Owner is another store than
// s are left out but for Names: a type that embeds a store inherits the method
// Features, and a path around its own Apply with it. So a wrapper that knows
// nothing of features loses speed and never its own code. See Wrap for a wrapper
// that keeps both.
func FeaturesOf(s Store) Features {
	featured, is := s.(Featured)
	if !is {
		return Features{}
	}
	f := featured.Features()
	if !same(f.Owner, s) {
		return Features{Names: f.Names}
	}
	return f
}

// same reports whether a and b are one store. Values that cannot be compared, by their
// type or by what an interface in them holds, are not.
func same(a, b Store) bool {
	return a != nil && reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// Bound is one limit of a Store, ready for any key. It is safe for concurrent
// use and needs no Close.
type Bound interface {
	// Apply is Store.Apply for one op, with the same errors in the same cases:
	// what is invalid first, then a store that is closed or a ctx that has
	// ended, and with an error nothing was written unless it is
	// ErrOutcomeUnknown.
	Apply(ctx context.Context, key string, r algorithm.Request) (algorithm.Outcome, algorithm.Instant, error)
	// Peek is Store.Peek for one op.
	Peek(ctx context.Context, key string, r algorithm.Request) (algorithm.Outcome, algorithm.Instant, error)
}

// Names remembers which limits were built on one store in this process, so that two
// of one name do not share a state by mistake. The zero value is ready to use. It
// is safe for concurrent use.
type Names struct {
	mu     sync.Mutex
	limits map[string]*named
}

type named struct {
	limit algorithm.Algorithm
	count int
}

// Claim notes that limit a was built under a name. Where there is one of the same name
// with another Spec, it returns an *InputError, unless replaces is true: then the new
// one counts. release undoes the Claim; a limit that has replaced this one since stays.
// A second call of release does nothing.
func (n *Names) Claim(name string, a algorithm.Algorithm, replaces bool) (release func(), err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.limits[name]
	if l != nil && l.limit.Spec() != a.Spec() {
		if !replaces {
			return nil, &InputError{
				Op: -1, Field: "Limit.Name", Value: fmt.Sprintf("%q for %s", name, describe(a)),
				Allowed: fmt.Sprintf("a name of its own, since %s has this one on this store, or with Options.Replaces", describe(l.limit)),
			}
		}
		l = nil
	}
	if l == nil {
		if n.limits == nil {
			n.limits = make(map[string]*named)
		}
		l = &named{limit: a}
		n.limits[name] = l
	}
	l.count++
	return sync.OnceFunc(func() { n.release(name, l) }), nil
}

func (n *Names) release(name string, l *named) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l.count--; l.count == 0 && n.limits[name] == l {
		delete(n.limits, name)
	}
}

// describe returns the text of a limit, or its kind and parameters.
func describe(a algorithm.Algorithm) string {
	if s, is := a.(fmt.Stringer); is {
		return s.String()
	}
	return fmt.Sprintf("%s %v", a.Spec().Kind, a.Spec().Params)
}
