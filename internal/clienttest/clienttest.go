// Package clienttest holds what every script.Client must do, whatever library it
// sends commands through: one suite, which the tests of each adapter run.
package clienttest

import (
	"testing"
	"time"

	"github.com/weirgo/weir/store/script"
)

// Library says how to use a client library.
type Library struct {
	// Open returns a client that is closed with the test. It may fail the test.
	Open func(tb testing.TB, at At) *Opened

	// Modes are names of ways to use the library with one server: the usual one
	// first. Few are those that differ most, for what takes long.
	Modes, Few []string

	// ContextOnly are those in which nothing but its context ends the wait for a reply.
	ContextOnly []string

	// ClusterModes are those for a cluster.
	ClusterModes []string

	// Refusal reports whether an error is that of the library for an error reply.
	Refusal func(err error) bool

	// Direct reports whether some of Few end a call by its deadline, so that a single caller makes
	// it itself: see script.Punctual.
	Direct bool

	// Allocations bounds those of a decision of a single caller.
	Allocations float64
}

// At says which server, and how. The library repeats what it may as often as it can.
type At struct {
	Addr           string
	Socket         string   // in place of Addr
	Cluster        []string // in place of Addr
	User, Password string
	Mode           string

	// Answer is how long the library waits for a reply; 0 is its default.
	Answer time.Duration
}

// Opened is a client of the library.
type Opened struct {
	// Client is what the adapter makes of it.
	Client script.Client

	// New is that of the package, on the same client.
	New func(opts *script.Options) (*script.Store, error)

	// Warm opens so many connections, where there is a pool that can keep them.
	Warm func(tb testing.TB, connections int)

	// Repeated adds 1 to a key in a way that lets the library repeat it, and returns
	// when the library is done.
	Repeated func(key string) error
}

// Run runs the suite; with -short it uses the library in two ways, and does not wait for replicas.
func Run(t *testing.T, lib *Library) {
	t.Helper()
	if testing.Short() {
		usual := *lib
		usual.Modes, usual.Few = lib.Modes[:1], []string{lib.Few[0], lib.Few[len(lib.Few)-1]}
		lib = &usual
	}
	type named struct {
		name string
		run  func(t *testing.T, lib *Library)
	}
	checks := []named{
		{"replies become text", repliesBecomeText},
		{"error replies keep their code", errorRepliesKeepTheirCode},
		{"replies reach their callers", repliesReachTheirCallers},
		{"unix socket", unixSocket},
		{"commands are sent once", commandsAreSentOnce},
		{"refusals are not repeated", refusalsAreNotRepeated},
		{"ended context sends nothing", endedContextSendsNothing},
		{"deadline ends the wait", deadlineEndsTheWait},
		{"primary becomes a replica", primaryBecomesAReplica},
		{"replica loses its primary", replicaLosesItsPrimary},
		{"cluster", clusterFindsItsKeys},
		{"store decides", storeDecides},
		{"errors follow the table", errorsFollowTheTable},
		{"decisions wait for replicas", decisionsWaitForReplicas},
		{"a cluster waits for replicas", clusterWaitsForReplicas},
		{"lost reply is charged once", lostReplyIsChargedOnce},
		{"document is written and read", documentIsWrittenAndRead},
		{"document loses no writer", documentLosesNoWriter},
		{"document notifies its readers", documentNotifiesItsReaders},
	}
	if lib.Direct {
		checks = append(checks, named{"time-out ends a direct call", timeOutEndsADirectCall})
	}
	for _, check := range checks {
		t.Run(check.name, func(t *testing.T) {
			t.Parallel()
			check.run(t, lib)
		})
	}
}
