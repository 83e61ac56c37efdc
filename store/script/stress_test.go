package script

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// windowsOfKeys are as many limits as keys of the stress: the key says what comes out.
var windowsOfKeys = func() (all []algorithm.Algorithm) {
	for n := range 200 {
		all = append(all, algorithm.Must(algorithm.NewFixedWindow(algorithm.PerSecond(int64(1000+n)))))
	}
	return all
}()

var errStress = errors.New("a connection broke")

// stressServer answers each group by its keys: where one of them is 7 modulo 10, it is
// denied, with 8 it is corrupt, with 9 the Lua and the Go disagree. A call now and
// then fails as a whole.
func stressServer(_ context.Context, c *Command) (string, error) {
	if rand.IntN(20) == 0 {
		return "", errStress
	}
	if rand.IntN(200) == 0 {
		return "no reply at all", nil
	}
	if rand.IntN(3) == 0 {
		time.Sleep(time.Duration(rand.IntN(50)) * time.Microsecond) // the wire
	}
	groups := groupsOf(c.Args)
	reply := "1000000"
	for _, keys := range groups {
		group, states := "+", []string(nil)
		for i, key := range keys {
			n, _ := strconv.Atoi(key)
			count := n % 50
			switch n % 10 {
			case 7:
				group, count = "-", 1000+n
			case 8:
				group = "!" + strconv.Itoa(i+1)
			case 9:
				count = 1000 + n
			}
			states = append(states, "1000000 "+strconv.Itoa(count))
			if n%10 >= 8 {
				break
			}
		}
		if group[0] != '!' {
			for len(states) < len(keys) {
				states = append(states, "")
			}
			group += strings.Join(states, ",")
		}
		if len(groups) == 1 && len(keys) == 1 {
			if group[0] == '!' {
				return "!", nil
			}
			return group[:1] + "1000000 " + group[1:], nil
		}
		reply += ";" + group
	}
	return reply, nil
}

// TestNobodyGetsTheAnswerOfAnother: thousands of calls share what is pooled, with
// errors and callers who leave among them, and each answer is checked against its key.
func TestNobodyGetsTheAnswerOfAnother(t *testing.T) {
	for _, opts := range []*Options{nil, {InFlight: 1}, {Share: 1}, {Share: 5, InFlight: 3}} {
		s := open(t, clientFunc(stressServer), opts)
		var callers sync.WaitGroup
		for n := range 16 {
			callers.Go(func() {
				r := rand.New(rand.NewPCG(1, uint64(n)))
				for range fewer(400) {
					stressCall(t, s, r)
				}
			})
		}
		callers.Wait()
	}
}

// stressCall makes one call and checks its answer.
func stressCall(t *testing.T, s *Store, r *rand.Rand) {
	keys := r.Perm(len(windowsOfKeys))[:1+r.IntN(2)*r.IntN(3)]
	ops := make([]store.Op, len(keys))
	for i, n := range keys {
		ops[i] = oneOp(strconv.Itoa(n), windowsOfKeys[n])[0]
		ops[i].Outcome = untold
	}
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	leaves := r.IntN(4) == 0
	if leaves {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(300))*time.Microsecond)
	} else if r.IntN(2) == 0 {
		ctx, cancel = context.WithCancel(ctx)
	}
	defer cancel()
	take, at, committed := r.IntN(2) == 0, algorithm.Instant(0), false
	var err error
	if take {
		at, committed, err = s.Apply(ctx, ops)
	} else {
		at, err = s.Peek(ctx, ops)
	}
	left := leaves && errors.Is(err, context.DeadlineExceeded)
	if left || errors.Is(err, errStress) || errors.Is(err, errReply) {
		checkUntold(t, ops)
		return
	}
	denied := -1
	for i, n := range keys {
		switch n % 10 {
		case 7:
			denied = i
		case 8:
			if want := fmt.Sprintf("op %d, ", i); !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %v, want corrupt %s", keys, err, want)
			}
			checkUntold(t, ops)
			return
		case 9:
			var disagree *DisagreementError
			if denied < 0 && !errors.As(err, &disagree) {
				t.Errorf("%v: %v, want a disagreement", keys, err)
			}
			if denied < 0 {
				checkUntold(t, ops)
			}
			return
		}
	}
	if err != nil || at != 1_000_000 || take && committed != (denied < 0) {
		t.Errorf("%v: at %d, committed %v, %v", keys, at, committed, err)
		return
	}
	for i, n := range keys {
		o := ops[i].Outcome
		want := int64(1000 + n - n%50 - 1)
		if n%10 == 7 {
			want = 0
		} else if denied >= 0 {
			want++ // a look
		}
		if o.Limit != int64(1000+n) || o.Remaining != want || o.Allowed != (n%10 != 7) {
			t.Errorf("key %d of %v: %+v, want %d remaining", n, keys, o, want)
		}
	}
}

func checkUntold(t *testing.T, ops []store.Op) {
	for _, op := range ops {
		if op.Outcome != untold {
			t.Errorf("%+v beside an error", op.Outcome)
		}
	}
}
