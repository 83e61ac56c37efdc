package script

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// leastCommands are all that a user of the store needs, beside its keys: every one of
// them is missed by some call, and there is no other. No channel is needed, and no
// command has subcommands. A client library may send more at the start of a
// connection, such as CLIENT SETINFO or CLUSTER SLOTS; that is its affair. INFO is
// for Check alone, which warns without it.
const leastCommands = "+evalsha +evalsha_ro +eval +eval_ro +time +get +set +del +llen +lrange +lindex +lset +rpush +ltrim +pexpire"

// leastUser is the rule of a user with the prefix of the default.
const leastUser = "app on >secret ~w{* " + leastCommands

// workload does all that a store can do, so that every command is sent in every way.
// It returns an error for each call that fails.
func workload(t *testing.T, w Client, run string) (failed []error) {
	ctx, clock := context.Background(), &manualClock{at: 5}
	custom := []Source{sourceOfRounds}
	s := open(t, w, &Options{Clock: clock, Scripts: custom})
	served := open(t, w, &Options{Scripts: custom}) // by the clock of the server
	note := func(err error) {
		if err != nil {
			failed = append(failed, err)
		}
	}
	kinds := append(kindsOfGroups(t), rounds(3), kindOnly("mine/1"), logWithoutLua{logOf10})
	for _, s := range []*Store{s, served} {
		var slots []store.Slot
		for round := range 4 {
			clock.set(algorithm.Instant(5 + int64(round)*700_000))
			var all []store.Op
			for i, a := range kinds {
				op := store.Op{Slot: store.Slot{Key: fmt.Sprint(run, i), Algorithm: a}, Request: algorithm.Request{Cost: 1 + int64(round%2)}}
				for _, ops := range [][]store.Op{{op}, {op, oneOp(run+"beside", everything)[0]}} {
					_, err := s.Peek(ctx, ops)
					note(err)
					_, _, err = s.Apply(ctx, ops)
					note(err)
					_, _, err = s.Apply(ctx, ops) // at the same instant
					note(err)
				}
				all = append(all, op)
				slots = append(slots, op.Slot)
			}
			_, _, err := s.Apply(ctx, all)
			note(err)
			if round == 2 {
				note(s.Reset(ctx, slots[len(slots)-len(all):]))
			}
		}
	}
	return failed
}

// logWithoutLua is a sliding log under the name of a user, which goes by
// compare-and-set.
type logWithoutLua struct{ *algorithm.SlidingLog }

func (l logWithoutLua) Spec() algorithm.Spec {
	spec := l.SlidingLog.Spec()
	spec.Kind = "mine/2"
	return spec
}

// TestLeastUserMayDoEverything: all algorithms, alone and in lists, looks, resets, and
// Check, on a server that makes the rule its own.
func TestLeastUserMayDoEverything(t *testing.T) {
	cfg := &servertest.Config{Users: []string{leastUser, "default off"}}
	eachServer(t, cfg, func(t *testing.T, server *servertest.Server) {
		w := dialWire(t, server, "app", "secret")
		for _, err := range workload(t, w, "") {
			t.Error(err)
		}
		r := check(t, open(t, w, nil))
		if len(r.Warnings) != 1 || !strings.Contains(strings.ToLower(r.Warnings[0]), "info") || r.Server != "" {
			t.Errorf("without INFO: %+v", r)
		}
		server.Do("ACL", "SETUSER", "app", "+info")
		if r := check(t, open(t, w, nil)); len(r.Warnings) != 0 || r.Server == "" {
			t.Errorf("with INFO: %+v", r)
		}
		// Other keys are out of reach, and Check says so.
		other := open(t, w, &Options{Prefix: "other:"})
		if _, _, err := other.Apply(context.Background(), oneOp("k", windowOf10)); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "NOPERM") {
			t.Errorf("another prefix: %v", err)
		}
		if _, err := other.Check(context.Background()); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "NOPERM") {
			t.Errorf("Check with another prefix: %v", err)
		}
	})
}

// TestEveryPermissionIsNeededAndNamed: without any one of them some call fails, and not
// with a decision or a state that is called corrupt, and Check names it.
func TestEveryPermissionIsNeededAndNamed(t *testing.T) {
	eachServer(t, &servertest.Config{Users: []string{leastUser}}, func(t *testing.T, server *servertest.Server) {
		w := dialWire(t, server, "app", "secret")
		for i, permission := range strings.Fields(leastCommands) {
			command := permission[1:]
			server.Do("ACL", "SETUSER", "app", "-"+command)
			server.Do("SCRIPT", "FLUSH")
			failed := workload(t, w, fmt.Sprintf("%d:", i))
			if len(failed) == 0 {
				t.Errorf("%s is not needed", command)
			}
			for _, err := range failed {
				if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrOutcomeUnknown) {
					t.Errorf("without %s: %v", command, err)
				}
			}
			server.Do("SCRIPT", "FLUSH")
			_, err := open(t, w, nil).Check(context.Background())
			if !errors.Is(err, store.ErrUnavailable) || !namesCommand(err, command) {
				t.Errorf("without %s Check says: %v", command, err)
			}
			server.Do("ACL", "SETUSER", "app", "+"+command)
		}
		check(t, open(t, w, nil)) // with all of them again
	})
}

// namesCommand reports whether an error has the name of a command, and not just of one
// that begins like it.
func namesCommand(err error, command string) bool {
	words := strings.FieldsFunc(strings.ToLower(err.Error()), func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' })
	for _, word := range words {
		if word == command {
			return true
		}
	}
	return false
}

// TestUnavailableMeansThatNothingWasCharged: also where the user may run one command
// of a script and not another.
func TestUnavailableMeansThatNothingWasCharged(t *testing.T) {
	eachServer(t, &servertest.Config{Users: []string{leastUser}}, func(t *testing.T, server *servertest.Server) {
		w, admin := dialWire(t, server, "app", "secret"), dialWire(t, server)
		for i, permission := range strings.Fields(leastCommands) {
			command := permission[1:]
			server.Do("ACL", "SETUSER", "app", "-"+command)
			s := open(t, w, &Options{Clock: &manualClock{at: 5}})
			for n, a := range kindsOfGroups(t) {
				for _, cost := range []int64{1, 2} {
					single := oneOp(fmt.Sprintf("%d.%d.%d", i, n, cost), a)
					single[0].Request.Cost = cost
					for _, ops := range [][]store.Op{single, append(oneOp(single[0].Key+"log", logOf10), single...), append(oneOp(single[0].Key+"window", windowOf10), single...)} {
						before := ""
						for _, op := range ops {
							before += admin.ask(t, "EXISTS", s.name(&op.Slot))
						}
						_, _, err := s.Apply(context.Background(), ops)
						after := ""
						for _, op := range ops {
							after += admin.ask(t, "EXISTS", s.name(&op.Slot))
						}
						if errors.Is(err, store.ErrUnavailable) && before != after {
							t.Errorf("without %s, %v of %d: charged, and %v", command, a, len(ops), err)
						}
					}
				}
			}
			server.Do("ACL", "SETUSER", "app", "+"+command)
		}
	})
}

// TestDocsShowTheLeastUser: what the guide tells an operator to type is what was
// tried here.
func TestDocsShowTheLeastUser(t *testing.T) {
	const guide = "../../docs/guides/servers.md"
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "'~w{*' "+leastCommands+"\n") {
		t.Errorf("%s does not have '~w{*' %s", guide, leastCommands)
	}
}
