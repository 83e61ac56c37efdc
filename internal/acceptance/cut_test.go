package acceptance_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirgo/weir/store"
)

// cut has all servers end all connections.
func (e *env) cut() {
	for _, node := range e.several.nodes {
		node.Do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	}
}

// TestCutConnectionEndsItsCallAtOnce: a call whose connection is cut, also while it is
// greeted, is unavailable or unknown long before its deadline; with the retries that a
// library has by itself, and with many of them.
func TestCutConnectionEndsItsCallAtOnce(t *testing.T) {
	eachSeveral(t, naturalPairs(), func(t *testing.T, e *env) {
		for name, plain := range map[string]bool{"plain": true, "many retries": false} {
			t.Run(name, func(t *testing.T) {
				s := e.dial(t, dial{several: e.several, plain: plain}, &storeOptions{Timeout: patience})
				all := limitsOfUsers(t.Name(), 30, 1_000_000)
				begin := time.Now()
				var ended, calls atomic.Int64
				inParallel(4, func(caller int) {
					for i := caller; ended.Load() < 30 && time.Since(begin) < patience; i++ {
						if caller == 0 { // while the others wait for answers
							e.cut()
						}
						from := time.Now()
						_, _, err := s.Apply(context.Background(), []store.Op{all[i%len(all)]})
						if took := time.Since(from); took > patience/3 {
							t.Errorf("a call took %v: %v", took, err)
							return
						}
						calls.Add(1)
						switch {
						case err == nil:
						case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrOutcomeUnknown):
							ended.Add(1)
						default:
							t.Error(err)
						}
					}
				})
				t.Logf("%d of %d calls ended with their connection", ended.Load(), calls.Load())
				if ended.Load() == 0 {
					t.Error("no call was cut: this test shows nothing")
				}
			})
		}
	})
}
