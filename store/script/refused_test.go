package script

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// TestServerThatRefusesWritesHasWrittenNothing: of no group of a call, whatever kinds
// of state it writes and whatever it deletes; and looks go on.
func TestServerThatRefusesWritesHasWrittenNothing(t *testing.T) {
	kinds := kindsOfGroups(t)
	for name, settings := range map[string][]string{
		"out of memory": {"CONFIG", "SET", "maxmemory", "1"},
		"a replica":     {"REPLICAOF", "127.0.0.1", "1"},
		"no replicas":   {"CONFIG", "SET", "min-replicas-to-write", "1"},
		"nothing":       nil, // the other side of the test
	} {
		t.Run(name, func(t *testing.T) {
			servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
				w := dialWire(t, server)
				s := open(t, w, &Options{Clock: &manualClock{at: 5}, Scripts: []Source{sourceOfRounds}})
				var groups [][]store.Op
				groups = append(groups, oneOp("deleted", rounds(2)))
				for i := range kinds {
					groups = append(groups, groupOf(kinds, "", map[int]int64{i: 2}, i), groupOf(kinds, "", map[int]int64{i: 2}, i, 10+i, 20+i))
				}
				together(t, &s.takes, groups[0]) // with one more it is to be deleted
				dump := func() (all string) {
					for _, ops := range groups {
						for _, op := range ops {
							all += fmt.Sprint(untouched(t, w, s.name(&op.Slot)), "\n")
						}
					}
					return all
				}
				before := dump()
				if settings != nil {
					server.Do(settings...)
				}
				got := together(t, &s.takes, groups...)
				for i := range groups[1:] { // to delete alone needs no memory
					got = append(got, together(t, &s.takes, groups[1+i])...)
				}
				for i, d := range got {
					if want := settings != nil; errors.Is(d.Err, store.ErrUnavailable) != want || (d.Err != nil) != want {
						t.Errorf("group %d: %v", i, d.Err)
					}
				}
				if after := dump(); (after == before) != (settings != nil) {
					t.Errorf("before:\n%s\nafter:\n%s", before, after)
				}
				if _, err := s.Peek(context.Background(), groups[3]); err != nil {
					t.Errorf("a look: %v", err)
				}
			})
		})
	}
}

// TestRefusedWritesAreThoseOfTheirGroupsAlone: who is denied, or only looks, or has a
// corrupt key, is answered in the company of those whose writes are refused as alone.
func TestRefusedWritesAreThoseOfTheirGroupsAlone(t *testing.T) {
	kinds := kindsOfGroups(t)
	for name, settings := range map[string][]string{
		"out of memory": {"CONFIG", "SET", "maxmemory", "1"},
		"a replica":     {"REPLICAOF", "127.0.0.1", "1"},
		"no replicas":   {"CONFIG", "SET", "min-replicas-to-write", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
				w := dialWire(t, server)
				s := open(t, w, &Options{Clock: &manualClock{at: 5}})
				var groups [][]store.Op
				for i := range kinds {
					// Numbers of one remainder have one kind. Of i nothing is left.
					full, fresh, corrupt := i, i+len(kinds), i+2*len(kinds)
					for together(t, &s.takes, groupOf(kinds, "", nil, full))[0].Committed {
					}
					w.ask(t, "SET", s.name(&groupOf(kinds, "", nil, corrupt)[0].Slot), "no state")
					groups = append(groups,
						groupOf(kinds, "", nil, fresh),
						groupOf(kinds, "", nil, full), groupOf(kinds, "", nil, full), // alike
						groupOf(kinds, "", map[int]int64{full: 0}, full),
						groupOf(kinds, "", map[int]int64{fresh: 100}, fresh),
						groupOf(kinds, "", nil, fresh, full),
						groupOf(kinds, "", nil, corrupt),
					)
				}
				server.Do(settings...)
				company := together(t, &s.takes, groups...)
				for i, ops := range groups {
					alone := together(t, &s.takes, ops)[0]
					wantMeaning(t, fmt.Sprint("group ", i), company[i].Err, meaningOf(alone.Err), nil)
					company[i].Err, alone.Err = nil, nil
					if diff := cmp.Diff(alone, company[i]); diff != "" {
						t.Errorf("group %d (-alone +in company):\n%s", i, diff)
					}
				}
				if company[0].Committed || company[1].Outcomes[0].RetryAfter == 0 || !company[3].Committed {
					t.Errorf("%+v, %+v, %+v: want nothing, a denial and a look", company[0], company[1], company[3])
				}
			})
		})
	}
}

// meaningOf is the one of meanings that err has.
func meaningOf(err error) error {
	i := slices.IndexFunc(meanings, func(meaning error) bool { return errors.Is(err, meaning) })
	if i < 0 {
		return nil
	}
	return meanings[i]
}
