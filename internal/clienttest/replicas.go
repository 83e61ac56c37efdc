package clienttest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	"github.com/weirgo/weir/store/script"
)

// decisionsWaitForReplicas: with Options.Replicas what was admitted is on a replica when
// it is answered, or the error says that it is not known. What changed nothing needs none.
func decisionsWaitForReplicas(t *testing.T, lib *Library) {
	if testing.Short() {
		t.Skip("-short: waits for replicas")
	}
	servertest.Each(t, nil, func(t *testing.T, primary *servertest.Server) {
		replica := servertest.StartReplica(t, primary, nil)
		for _, mode := range lib.Few {
			opened := lib.Open(t, At{Addr: primary.Addr(), Mode: mode})
			s := open(t, opened, &script.Options{Prefix: mode + ":", Replicas: 1, ReplicaTimeout: 20 * time.Second, Timeout: time.Minute})
			count := func() any { return len(replica.Do("KEYS", mode+":*").([]any)) }
			keys := 0
			for _, ops := range waitingOps() {
				if _, committed, err := s.Apply(context.Background(), ops); err != nil || !committed {
					t.Fatalf("%s: %v, %v", mode, committed, err)
				}
				if keys += len(ops); count() != keys {
					t.Fatalf("%s: answered with %v keys on the replica, want %d", mode, count(), keys)
				}
			}
			if _, err := s.Check(context.Background()); err != nil {
				t.Errorf("%s: check: %v", mode, err)
			}
			if got := s.Stats().Unreplicated; got != 0 {
				t.Errorf("%s: %d commands are unreplicated", mode, got)
			}
		}

		// From here on the replica acknowledges nothing.
		replica.Freeze()
		defer replica.Thaw()
		opened := lib.Open(t, At{Addr: primary.Addr(), Mode: lib.Modes[0]})
		s := open(t, opened, &script.Options{Prefix: "frozen:", Replicas: 1, ReplicaTimeout: 20 * time.Millisecond})
		for i, ops := range waitingOps() {
			_, committed, err := s.Apply(context.Background(), ops)
			wantUnreplicated(t, fmt.Sprint("apply ", i), err, 0)
			if committed {
				t.Errorf("apply %d: committed", i)
			}
			if _, err := s.Peek(context.Background(), ops); err != nil || ops[0].Outcome.Remaining != 8 {
				t.Errorf("apply %d: a look after it: %v, %+v", i, err, ops[0].Outcome)
			}
		}
		// A denial and a step that takes nothing are answered.
		full := take()
		full[0].Request.Cost = 11
		if _, committed, err := s.Apply(context.Background(), full); err != nil || committed || full[0].Outcome.Allowed {
			t.Errorf("a denial: %v, %v", committed, err)
		}
		full[0].Request.Cost = 0
		if _, committed, err := s.Apply(context.Background(), full); err != nil || !committed {
			t.Errorf("a step of cost 0: %v, %v", committed, err)
		}
		wantUnreplicated(t, "reset", s.Reset(context.Background(), []store.Slot{full[0].Slot}), 0)
		together(t, s)
		if once := store.FeaturesOf(s).Once; once == nil {
			t.Error("no IDs")
		} else {
			ops := take()
			ops[0].Key = "once"
			_, _, err := once(context.Background(), store.Once{ID: "id", TTL: time.Hour}, ops)
			wantUnreplicated(t, "once", err, 0)
			// Again, over a connection that has written nothing.
			again := open(t, lib.Open(t, At{Addr: primary.Addr(), Mode: lib.Modes[0]}), &script.Options{Prefix: "frozen:", Replicas: 1, ReplicaTimeout: 20 * time.Millisecond})
			_, _, err = store.FeaturesOf(again).Once(context.Background(), store.Once{ID: "id", TTL: time.Hour}, ops)
			wantUnreplicated(t, "once, again", err, 0)
			_, _, err = once(context.Background(), store.Once{ID: "id", TTL: time.Hour}, ops)
			wantUnreplicated(t, "once, over the same connection", err, 0)
			for i, ops := range waitingOps() {
				for range 2 { // the second is remembered
					_, _, err := once(context.Background(), store.Once{ID: fmt.Sprint("id", i), TTL: time.Hour}, ops)
					wantUnreplicated(t, fmt.Sprint("once ", i), err, 0)
				}
			}
		}
		if _, err := s.Check(context.Background()); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrOutcomeUnknown) {
			t.Errorf("check: %v", err)
		}
		if got := s.Stats().Unreplicated; got == 0 {
			t.Error("no command is unreplicated")
		}
		replica.Thaw()
		for i, ops := range waitingOps() {
			servertest.Await(t, "what an ID remembers is answered once the replica has it", func() bool {
				_, committed, err := store.FeaturesOf(s).Once(context.Background(), store.Once{ID: fmt.Sprint("id", i), TTL: time.Hour}, ops)
				return err == nil && committed && ops[0].Outcome.Allowed
			})
		}
	})
}

// waitingOps are steps on every path: one op, several, a log, and an algorithm without Lua.
func waitingOps() [][]store.Op {
	op := func(key, spec string) store.Op {
		a := algorithm.Must(algorithm.ParseSpec(spec))
		return store.Op{Slot: store.Slot{Key: key, Algorithm: a}, Request: algorithm.Request{Cost: 1}}
	}
	plain := op("plain", "gcra:10/1h")
	plain.Algorithm = withoutLua{plain.Algorithm}
	return [][]store.Op{
		{op("one", "gcra:10/1h")}, {op("two", "token-bucket:10/1h"), op("two too", "fixed-window:10/1h")}, {op("log", "sliding-log:10/1h")}, {plain},
	}
}

// withoutLua is an algorithm of a kind that no server knows.
type withoutLua struct{ algorithm.Algorithm }

func (a withoutLua) Spec() algorithm.Spec {
	spec := a.Algorithm.Spec()
	spec.Kind = "without-lua/1"
	return spec
}

func wantUnreplicated(t *testing.T, what string, err error, acknowledged int) {
	t.Helper()
	var short *script.ReplicaError
	if !errors.Is(err, store.ErrOutcomeUnknown) || errors.Is(err, store.ErrUnavailable) || !errors.As(err, &short) {
		t.Errorf("%s: %v; want a ReplicaError, outcome unknown", what, err)
	} else if short.Wanted != 1 || short.Acknowledged != acknowledged || short.Err != nil {
		t.Errorf("%s: %+v", what, short)
	}
}

// together lets concurrent callers of one key share calls: who is admitted is not
// answered, who is denied is.
func together(t *testing.T, s *script.Store) {
	t.Helper()
	var callers sync.WaitGroup
	var mu sync.Mutex
	admitted, denied := 0, 0
	for range 30 {
		callers.Go(func() {
			ops := take()
			ops[0].Key = "together"
			_, committed, err := s.Apply(context.Background(), ops)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && !committed:
				denied++
			case errors.Is(err, store.ErrOutcomeUnknown):
				admitted++
			default:
				t.Errorf("together: %v, %v", committed, err)
			}
		})
	}
	callers.Wait()
	if admitted != 10 || denied != 20 {
		t.Errorf("together: %d were charged and not answered, and %d denied; want 10 and 20", admitted, denied)
	}
}

// clusterWaitsForReplicas: in a cluster the node that has written is asked, also while a
// slot moves.
func clusterWaitsForReplicas(t *testing.T, lib *Library) {
	if testing.Short() {
		t.Skip("-short: waits for replicas")
	}
	servertest.EachCluster(t, 2, nil, func(t *testing.T, c *servertest.Cluster) {
		c.AddReplica(c.Nodes()[0]) // the other has none
		s, err := script.New(lib.Open(t, At{Cluster: c.Addrs(), Mode: lib.ClusterModes[0]}).Client, &script.Options{Replicas: 1, ReplicaTimeout: 20 * time.Second, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var keys [2][]string // by node
		for i := 0; len(keys[0]) < 5 || len(keys[1]) < 2; i++ {
			key := fmt.Sprint("key", i)
			at := 0
			if c.Node(key) == c.Nodes()[1] {
				at = 1
			}
			keys[at] = append(keys[at], key)
		}
		apply := func(key string) error {
			ops := take()
			ops[0].Key = key
			_, committed, err := s.Apply(context.Background(), ops)
			if committed != (err == nil) {
				t.Errorf("committed %v, %v", committed, err)
			}
			return err
		}
		for _, key := range keys[0] {
			if err := apply(key); err != nil {
				t.Errorf("with a replica: %v", err)
			}
		}
		s.Close()
		s, err = script.New(lib.Open(t, At{Cluster: c.Addrs(), Mode: lib.ClusterModes[0]}).Client, &script.Options{Replicas: 1, ReplicaTimeout: 10 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		wantUnreplicated(t, "without a replica", apply(keys[1][0]), 0)

		// The slot of a key moves to the node without a replica. Nothing is charged where
		// the client is sent on, and no replica of the old node speaks for the new one.
		moved := keys[0][0]
		refused := func(err error) bool {
			var answer *script.ServerError
			return errors.Is(err, store.ErrUnavailable) && errors.As(err, &answer) && (answer.Code() == "MOVED" || answer.Code() == "ASK" || answer.Code() == "TRYAGAIN")
		}
		charged := int64(1)
		var short *script.ReplicaError
		c.Migrate(c.Slot(moved), c.Nodes()[1], nil)
		servertest.Await(t, "the client knows the new node", func() bool {
			err := apply(moved)
			if errors.As(err, &short) {
				charged++
				return true
			}
			if !refused(err) {
				t.Errorf("while the client has yet to learn: %v", err)
			}
			return false
		})
		ops := take()
		ops[0].Key = moved
		if _, err := s.Peek(context.Background(), ops); err != nil || ops[0].Outcome.Remaining != 10-charged-1 {
			t.Errorf("%v, %d left, want %d", err, ops[0].Outcome.Remaining, 10-charged-1)
		}
	})
}
