package weir

import (
	"testing"

	"github.com/weirgo/weir/algorithm"
	memorystore "github.com/weirgo/weir/store/memory"
)

// A Bound whose method changed would be asked the slow way, and no answer would differ.
func TestLimitersAskTheMemoryStoreForSingleValues(t *testing.T) {
	s, err := memorystore.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, err := New(s, Limit{Name: "limit", Algorithm: algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(1), 1))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if l.flat == nil {
		t.Error("the Bound of store/memory is no flatBound")
	}
}
