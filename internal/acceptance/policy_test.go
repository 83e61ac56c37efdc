package acceptance_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/policy"
	"github.com/weirgo/weir/store"
)

// levels is a policy of three levels: address, user, organisation.
func levels(tb testing.TB, colocate string, address, user, org policy.Spec) *policy.Compiled {
	tb.Helper()
	rule := func(id string, limit policy.Spec, key ...string) policy.Rule {
		return policy.Rule{ID: id, Key: key, Limit: policy.LimitRef{Spec: limit}, Colocate: colocate}
	}
	c, err := policy.Compile(policy.Policy{Version: policy.FormatVersion, Rules: []policy.Rule{
		rule("address", address, "ip", "org"), rule("user", user, "user", "org"), rule("org", org, "org"),
	}}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func enforcer(tb testing.TB, s store.Store, c *policy.Compiled, timeout time.Duration) *policy.Enforcer {
	tb.Helper()
	d, err := weir.NewMultiLimiter(s, &weir.Options{Timeout: timeout})
	if err != nil {
		tb.Fatal(err)
	}
	e, err := policy.NewEnforcer(d, c, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func member(org, user, address int) policy.Request {
	return policy.Request{Attributes: policy.Attributes{
		"org": fmt.Sprint("o", org), "user": fmt.Sprint("u", user), "ip": fmt.Sprintf("192.0.2.%d", address),
	}}
}

// TestPolicyOfThreeLevelsOnAClusterIsOneCall: with colocate, three limits are one command to
// one node, all or nothing. Without, the error names the cure.
func TestPolicyOfThreeLevelsOnAClusterIsOneCall(t *testing.T) {
	eachSeveral(t, naturalPairs(), func(t *testing.T, e *env) {
		s := e.store(t, nil)
		apart := enforcer(t, s, levels(t, "", "sliding-log:9/24h", "sliding-log:9/24h", "sliding-log:9/24h"), patience)
		crossed := 0
		for org := range 10 {
			_, err := apart.Decide(patient(t), member(100+org, 1, 1))
			if cross := (*policy.CrossNodeError)(nil); errors.As(err, &cross) {
				crossed++
				if cross.Colocate != "org" || !errors.Is(err, store.ErrCrossNode) {
					t.Errorf("the error names %q: %v", cross.Colocate, err)
				}
			} else if err != nil {
				t.Error(err)
			}
		}
		if crossed == 0 {
			t.Error("without colocate all keys lie together: this test shows nothing")
		}

		together := enforcer(t, s, levels(t, "org", "sliding-log:40/24h", "sliding-log:20/24h", "sliding-log:100/24h"), patience)
		for org := range 5 { // the scripts are known to all nodes
			if _, err := together.Decide(patient(t), member(200+org, 1, 1)); err != nil {
				t.Fatal(err)
			}
		}
		before := s.Stats()
		const calls = 50
		for i := range calls {
			if v, err := together.Decide(patient(t), member(i, 1, 1)); err != nil || !v.Allowed || len(v.Rules) != 3 {
				t.Fatal(v, err)
			}
		}
		after := s.Stats()
		misses := after.ScriptMisses - before.ScriptMisses
		if n, ops := after.Calls-before.Calls, after.Ops-before.Ops; n != calls || ops != 3*calls {
			t.Errorf("%d decisions over three limits were %d calls with %d ops", calls, n, ops)
		}
		if n := after.Commands - before.Commands; n != calls+misses {
			t.Errorf("%d decisions were %d commands, %d of them to load a script", calls, n, misses)
		}

		// Many callers of two processes: exactly the limit of the organisation, and what
		// was denied by one level was charged to none.
		other := enforcer(t, e.store(t, nil), levels(t, "org", "sliding-log:40/24h", "sliding-log:20/24h", "sliding-log:100/24h"), patience)
		var admitted atomic.Int64
		inParallel(8, func(caller int) {
			decide := []*policy.Enforcer{together, other}[caller%2]
			for i := range 30 {
				v, err := decide.Decide(patient(t), member(1000, i%10, caller))
				if err != nil {
					t.Error(err)
				}
				if v.Allowed {
					admitted.Add(1)
				}
			}
		})
		used := map[string]int64{}
		for i := range 10 {
			v, err := together.Peek(patient(t), member(1000, i, i))
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range v.Rules {
				if r.Rule == "org" {
					used["org"] = 100 - r.Decision.Remaining
				} else if n := r.Decision.Limit - r.Decision.Remaining; r.Rule == "user" || i < 8 {
					used[r.Rule] += n
				}
			}
		}
		if n := admitted.Load(); n != 100 || used["org"] != n || used["user"] != n || used["address"] != n {
			t.Errorf("%d admitted, want 100; charged: %v", n, used)
		}
	})
}

// levelCall is a decision in a history.
type levelCall struct{ user, address int }

type levelState struct{ org, user, address [4]int8 }

// levelModel says what three levels answer to one organisation: 12 for it, 5 for each user
// and 6 for each address. A call without an answer may have been charged.
var levelModel = porcupine.NondeterministicModel{
	Init: func() []any { return []any{levelState{}} },
	Step: func(state, input, output any) []any {
		s, c := state.(levelState), input.(levelCall)
		next := s
		next.org[0]++
		next.user[c.user]++
		next.address[c.address]++
		free := next.org[0] <= 12 && next.user[c.user] <= 5 && next.address[c.address] <= 6
		switch output {
		case "allowed":
			if free {
				return []any{next}
			}
			return nil
		case "denied":
			if free {
				return nil
			}
			return []any{s}
		}
		if free {
			return []any{s, next}
		}
		return []any{s}
	},
}

// levelHistory is the calls for one organisation, and what they were answered.
type levelHistory struct {
	begin time.Time
	mu    sync.Mutex
	calls []porcupine.Operation
}

func newLevelHistory() *levelHistory { return &levelHistory{begin: time.Now()} }

// decide makes a call and notes it, unless it was certainly not charged. It returns the
// error of the store.
func (h *levelHistory) decide(t *testing.T, e *policy.Enforcer, org int, call levelCall) error {
	from := time.Since(h.begin)
	v, err := e.Decide(patient(t), member(org, call.user, call.address))
	op := porcupine.Operation{Input: call, Call: int64(from), Return: int64(time.Since(h.begin)), Output: "denied"}
	switch {
	case errors.Is(err, store.ErrUnavailable):
		return err
	case errors.Is(err, store.ErrOutcomeUnknown):
		op.Output, op.Return = "unknown", math.MaxInt64
	case err != nil:
		t.Error(err)
		return err
	case v.Allowed:
		op.Output = "allowed"
	}
	h.mu.Lock()
	h.calls = append(h.calls, op)
	h.mu.Unlock()
	return err
}

// check looks for an order of all calls that explains their answers, and counts these.
func (h *levelHistory) check(t *testing.T, org int, outputs map[string]int) {
	t.Helper()
	for i := range h.calls {
		h.calls[i].ClientId = i // who goes on after an unknown outcome is another client to the checker
		outputs[h.calls[i].Output.(string)]++
	}
	if got := porcupine.CheckOperationsTimeout(levelModel.ToModel(), h.calls, patience); got != porcupine.Ok {
		t.Errorf("organisation %d: %s: no order of %d calls explains their answers", org, got, len(h.calls))
	}
}

// TestPolicyHistoriesAreLinearizableOverThreeKeys: callers of two processes, while one of
// them has all nodes cut all connections before each of its calls.
func TestPolicyHistoriesAreLinearizableOverThreeKeys(t *testing.T) {
	eachSeveral(t, naturalPairs(), func(t *testing.T, e *env) {
		c := levels(t, "org", "sliding-log:6/24h", "sliding-log:5/24h", "sliding-log:12/24h")
		enforcers := []*policy.Enforcer{enforcer(t, e.store(t, nil), c, patience), enforcer(t, e.store(t, nil), c, patience)}
		outputs := map[string]int{}
		for org := range 12 {
			history := newLevelHistory()
			inParallel(4, func(caller int) {
				random := rand.New(rand.NewPCG(uint64(org), uint64(caller)))
				for range 10 {
					if caller == 0 { // while the others wait for answers
						e.cut()
					}
					history.decide(t, enforcers[caller%2], org, levelCall{random.IntN(4), random.IntN(4)})
				}
			})
			history.check(t, org, outputs)
		}
		t.Logf("answers: %v", outputs)
		if outputs["allowed"] == 0 || outputs["denied"] == 0 {
			t.Errorf("answers: %v: this test shows nothing", outputs)
		}
	})
}
