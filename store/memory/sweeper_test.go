package memorystore

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

func TestSweeperGoesThroughAllSlotsInEachPeriod(t *testing.T) {
	for _, every := range []time.Duration{100 * time.Millisecond, 10 * time.Second, 2 * time.Minute, 24 * time.Hour} {
		t.Run(every.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := New(&Options{SweepEvery: every})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				limit := algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(1), 1))
				const keys = 2000
				for i := range keys {
					op := store.Op{Slot: store.Slot{Key: strconv.Itoa(i), Algorithm: limit}, Request: algorithm.Request{Cost: 1}}
					if _, _, err := s.Apply(context.Background(), []store.Op{op}); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(2*time.Second + every/2) // fresh after 1 s, kept for 1 s more
				synctest.Wait()
				if left := s.Stats().Keys; every > 10*time.Second && (left == 0 || left == keys) {
					t.Errorf("half a period after expiry %d of %d slots are left", left, keys)
				}
				time.Sleep(every/2 + time.Second)
				synctest.Wait()
				if left := s.Stats().Keys; left != 0 {
					t.Errorf("a period after expiry %d slots are left", left)
				}
			})
		})
	}
}
