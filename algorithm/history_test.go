package algorithm_test

import (
	"fmt"
	"testing"

	"github.com/weirgo/weir/algorithm"
)

func ExampleState_Log() {
	s := algorithm.State{}.Log().Append(10, 1)
	s = s.Log().Append(12, 3)
	s = s.Log().Append(11, 1) // a clock that went back: the last instant counts
	fmt.Println(s)

	log := s.Log().After(10)
	third, _ := log.Holding(3)
	fmt.Println(log.Units(), third)
	// Output:
	// +3 10 12:4
	// 4 12
}

func TestLogOfAStateWithoutEntriesIsEmpty(t *testing.T) {
	log := algorithm.State{}.Log()
	_, last := log.Last()
	_, held := log.Holding(1)
	if log.Units() != 0 || last || held || log.After(1<<50).Units() != 0 {
		t.Errorf("units %d, last %v, held %v", log.Units(), last, held)
	}
}

func TestLogHoldsEveryUnitOnce(t *testing.T) {
	var s algorithm.State
	costs := []int64{1, 5, 1, 1, 2}
	for i, cost := range costs {
		s = s.Log().Append(algorithm.Instant(10*i), cost)
	}
	k := int64(0)
	for i, cost := range costs {
		for range cost {
			k++
			if at, found := s.Log().Holding(k); !found || at != algorithm.Instant(10*i) {
				t.Errorf("unit %d: %v, %v, want %d", k, at, found, 10*i)
			}
		}
	}
	for _, outside := range []int64{-1, 0, k + 1} {
		if at, found := s.Log().Holding(outside); found {
			t.Errorf("unit %d of %d: %v", outside, k, at)
		}
	}
}

func TestLogAppendsFromOneStateAreIndependent(t *testing.T) {
	first := algorithm.State{}.Log().Append(1, 1)
	left, right := first.Log().Append(2, 1), first.Log().Append(3, 7)
	if first.String() != "1" || left.String() != "1 2" || right.String() != "+6 1 3:7" {
		t.Errorf("%q, %q, %q", first, left, right)
	}
}
