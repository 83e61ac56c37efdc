package weir

import (
	"log/slog"
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
	if l.flat == nil || l.direct == nil {
		t.Error("the Bound of store/memory is no flatBound")
	}
	watched, err := New(s, l.Limit(), &Options{Observer: NewLogObserver(slog.New(slog.DiscardHandler), nil)})
	if err != nil {
		t.Fatal(err)
	}
	if watched.flat == nil || watched.direct != nil {
		t.Error("a Limiter with an Observer skips it, or does not use flatBound")
	}
}
