package resilience_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/resilience"
	"github.com/weirgo/weir/store"
)

// located is a store on servers that are told apart by the first byte of a key.
type located struct{ store.Store }

func (l located) Features() store.Features {
	return store.Features{Owner: l, NoIO: true, Node: func(key string) string { return key[:1] }}
}

func TestBreakerTellsServersApart(t *testing.T) {
	broken := store.Wrap(newMemory(t, nil), store.Hooks{Apply: func(ctx context.Context, ops []store.Op, next store.ApplyFunc) (algorithm.Instant, bool, error) {
		if strings.HasPrefix(ops[0].Key, "a") {
			return 0, false, store.ErrUnavailable
		}
		return next(ctx, ops)
	}})
	b, err := resilience.NewBreaker(store.Wrap(located{broken}, store.Hooks{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 30 {
		for _, key := range []string{"a1", "b1", "a2", "b2"} {
			_, _, err := b.Apply(background, opOf(t, "gcra:1000/1s", key, 1))
			if (err != nil) != (key[0] == 'a') {
				t.Fatalf("%s: %v", key, err)
			}
		}
	}
	s := b.Stats()
	nodes := []string{s[0].Node, s[1].Node}
	if len(s) != 2 || !slices.Equal(nodes, []string{"a", "b"}) || s[0].State != resilience.BreakerOpen || s[0].Refused != 40 || s[1].State != resilience.BreakerClosed || s[1].Calls != 60 {
		t.Errorf("%+v", s)
	}
}

func TestBreakerTellsAThousandServersApart(t *testing.T) {
	b, err := resilience.NewBreaker(&ownNode{newMemory(t, nil)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1100 {
		if _, _, err := b.Apply(background, opOf(t, "gcra:5/1s", fmt.Sprint(i), 1)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(b.Stats()); n != 1001 {
		t.Errorf("%d servers", n)
	}
}

// ownNode is a store with a server for each key.
type ownNode struct{ store.Store }

func (o *ownNode) Features() store.Features {
	return store.Features{Owner: o, NoIO: true, Node: func(key string) string { return key }}
}
