package acceptance_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/internal/storeurl"
	"github.com/weirgo/weir/store"
)

// taken is what is done to a key: one unit is taken, or, where Lost is set, all but Left of
// what was taken is lost by a fail-over.
type taken struct {
	Key  string
	Lost bool
	Left int64
}

// toldOf is what a caller was told of a unit: what remains, or nothing.
type toldOf struct {
	Unknown   bool
	Remaining int64
}

// capacity is that of a key, of which no unit comes back within an hour.
const capacity = 400_000

// losing is the model of keys that count what was taken from them, and forget a known
// part of it in a fail-over. The state is the count.
var losing = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{int64(0)} },
	Step: func(state, input, output any) []any {
		count, in, out := state.(int64), input.(taken), output.(toldOf)
		switch {
		case in.Lost && in.Left <= count:
			return []any{in.Left}
		case in.Lost:
			return nil
		case out.Unknown:
			return []any{count, count + 1}
		case out.Remaining == capacity-count-1:
			return []any{count + 1}
		}
		return nil
	},
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[string][]porcupine.Operation{}
		for _, o := range history {
			key := o.Input.(taken).Key
			byKey[key] = append(byKey[key], o)
		}
		var all [][]porcupine.Operation
		for _, one := range byKey {
			all = append(all, one)
		}
		return all
	},
}).ToModel()

// TestHistoriesThatNoFailOverExplainsAreFound: the check of the tests below can fail.
func TestHistoriesThatNoFailOverExplainsAreFound(t *testing.T) {
	for name, test := range map[string]struct {
		left int64 // -1 without a fail-over
		told []int64
		want bool
	}{
		"no loss":                       {-1, []int64{1, 2, 3, 4}, true},
		"the loss of one":               {1, []int64{1, 2, 2, 3}, true},
		"a fail-over that lost nothing": {2, []int64{1, 2, 3, 4}, true},
		"a loss without a cause":        {-1, []int64{1, 2, 2, 3}, false},
		"more was lost":                 {1, []int64{1, 2, 1, 2}, false},
		"less was lost":                 {1, []int64{1, 2, 3, 4}, false},
		"one was charged twice":         {-1, []int64{1, 3, 4, 5}, false},
		"charged twice after":           {2, []int64{1, 2, 4, 5}, false},
		"more than there was":           {3, []int64{1, 2, 4, 5}, false},
	} {
		var history []porcupine.Operation
		at := int64(0)
		add := func(in taken, out toldOf) {
			history = append(history, porcupine.Operation{Input: in, Call: at, Output: out, Return: at + 1})
			at += 2
		}
		for i, count := range test.told {
			if i == 2 && test.left >= 0 {
				add(taken{Lost: true, Left: test.left}, toldOf{})
			}
			add(taken{}, toldOf{Remaining: capacity - count})
		}
		if got := porcupine.CheckOperations(losing, history); got != test.want {
			t.Errorf("%s: linearizable %v, want %v", name, got, test.want)
		}
	}
}

// recording is a history of concurrent callers while a server fails over.
type recording struct {
	store   store.Store
	keys    []string
	begin   time.Time
	failing atomic.Bool
	resumed chan struct{} // closed when the new primary is known

	mu      sync.Mutex
	history []porcupine.Operation
	decided int
}

func (r *recording) now() int64 { return int64(time.Since(r.begin)) }

func (r *recording) slot(key string) store.Slot {
	return store.Slot{Key: key, Limit: "limit", Algorithm: algorithm.Must(algorithm.ParseSpec(fmt.Sprintf("gcra:1/1h,burst=%d", capacity)))}
}

// call takes a unit and reports whether there was a decision.
func (r *recording) call(t *testing.T, caller int, key string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	ops := []store.Op{{Slot: r.slot(key), Request: algorithm.Request{Cost: 1}}}
	o := porcupine.Operation{ClientId: caller, Input: taken{Key: key}, Call: r.now()}
	_, committed, err := r.store.Apply(ctx, ops)
	o.Return = r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil && committed:
		r.decided++
		o.Output = toldOf{Remaining: ops[0].Outcome.Remaining}
	case errors.Is(err, store.ErrOutcomeUnknown):
		o.Output, o.Return = toldOf{Unknown: true}, math.MaxInt64
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return false // nothing was charged
	default:
		t.Errorf("%v, %v", committed, err)
		return false
	}
	r.history = append(r.history, o)
	return err == nil
}

// callers run until fail has returned what is left of each key that has failed over, and
// for some calls more. A caller that has met an error waits until then: what is unknown
// stays little.
func (r *recording) run(t *testing.T, fail func() map[string]int64) {
	r.begin, r.resumed = time.Now(), make(chan struct{})
	const each = 40
	var callers sync.WaitGroup
	for i := range 4 {
		callers.Go(func() {
			after := 0
			var deadline time.Time // from when the new primary is known
			for n := i; after < each; n++ {
				decided := r.call(t, i, r.keys[n%len(r.keys)])
				select {
				case <-r.resumed:
					if deadline.IsZero() {
						deadline = time.Now().Add(2 * patience)
					}
					if decided {
						after++
					}
				default:
					if !decided && r.failing.Load() {
						<-r.resumed
					}
				}
				if !deadline.IsZero() && time.Now().After(deadline) {
					t.Errorf("caller %d is not served again", i)
					return
				}
			}
		})
	}
	defer callers.Wait()
	defer close(r.resumed)
	servertest.Await(t, "callers have decisions", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.decided >= each
	})
	lose := r.now()
	r.failing.Store(true)
	for key, left := range fail() {
		r.mu.Lock()
		before := int64(0)
		for _, o := range r.history {
			if o.Input.(taken).Key == key && !o.Output.(toldOf).Unknown {
				before++
			}
		}
		t.Logf("%s: %d units were acknowledged, and %d are left", key, before, left)
		r.history = append(r.history, porcupine.Operation{ClientId: 4, Input: taken{Key: key, Lost: true, Left: left}, Call: lose, Output: toldOf{}, Return: r.now()})
		r.mu.Unlock()
	}
}

// check wants an order of all calls, in which only the loss takes anything back.
func (r *recording) check(t *testing.T) {
	t.Helper()
	if got := porcupine.CheckOperationsTimeout(losing, r.history, patience); got != porcupine.Ok {
		t.Errorf("%d calls and losses: %s", len(r.history), got)
	}
	unknown := 0
	for _, o := range r.history {
		if o.Output.(toldOf).Unknown {
			unknown++
		}
	}
	t.Logf("%d calls in order, %d of them unknown", len(r.history), unknown)
}

// count is what a server has counted for a key.
func (r *recording) count(t *testing.T, s *servertest.Server, key string, first ...[]string) int64 {
	t.Helper()
	replies := s.DoAll(append(first, []string{"GET", "w{" + key + "}Glimit"})...)
	text, _ := replies[len(replies)-1].(string)
	if text == "" {
		return 0
	}
	free, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("state %q: %v", text, err)
	}
	return (free - r.begin.UnixMicro()) / time.Hour.Microseconds()
}

// newRecording connects with a URL.
func newRecording(t *testing.T, url string) *recording {
	t.Helper()
	u, err := storeurl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	c, err := u.Connect(patient(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	s, err := c.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &recording{store: s}
}

// A primary that Sentinels watch hangs under load.
func TestCallsStayInOrderThroughAFailOverOfSentinels(t *testing.T) {
	if testing.Short() {
		t.Skip("real servers and seconds of traffic: not for -short")
	}
	for _, kind := range servertest.Kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			primary := servertest.Start(t, kind, nil)
			replica := servertest.StartReplica(t, primary, nil)
			watching := servertest.StartSentinels(t, 3, primary, 1, time.Hour)
			r := newRecording(t, kind.String()+"-sentinel://"+strings.Join(watching.Addrs(), ",")+"/"+servertest.PrimaryName)
			r.keys = []string{"a", "b"}
			r.run(t, func() map[string]int64 {
				primary.Freeze()
				replica.AwaitReceived()
				left := map[string]int64{}
				for _, key := range r.keys {
					left[key] = r.count(t, replica, key)
				}
				watching.SetDownAfter(time.Second)
				replica.AwaitPrimary()
				return left
			})
			r.check(t)
		})
	}
}

// A primary of a cluster is killed under load, and its replica takes over; the slot of
// another key moves from one node to the next.
func TestCallsStayInOrderThroughAFailOverAndAMoveInACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("real servers and seconds of traffic: not for -short")
	}
	cfg := &servertest.Config{Args: []string{"--cluster-node-timeout", "3600000", "--cluster-replica-validity-factor", "0", "--cluster-require-full-coverage", "no"}}
	servertest.EachCluster(t, 3, cfg, func(t *testing.T, c *servertest.Cluster) {
		primary := c.Nodes()[1]
		replica := c.AddReplica(primary)
		r := newRecording(t, primary.Kind().String()+"-cluster://"+strings.Join(c.Addrs(), ","))
		for i := 0; len(r.keys) < 2; i++ {
			if key := fmt.Sprint("key", i); (c.Node(key) == primary) == (len(r.keys) == 0) {
				r.keys = append(r.keys, key)
			}
		}
		fails, moves := r.keys[0], r.keys[1]
		r.run(t, func() map[string]int64 {
			from, to := c.Node(moves), c.Nodes()[0]
			if from == to {
				to = c.Nodes()[2]
			}
			c.Migrate(c.Slot("w{"+moves+"}"), to, nil)
			primary.Kill()
			replica.AwaitReceived()
			left := r.count(t, replica, fails, []string{"READONLY"})
			c.SetNodeTimeout(2 * time.Second)
			c.AwaitPromotion(primary, replica)
			return map[string]int64{fails: left}
		})
		r.check(t)
	})
}
