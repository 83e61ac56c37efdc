package main

import (
	"context"
	"testing"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	memorystore "github.com/weirgo/weir/store/memory"
)

// take asks for one unit for a key. Each contender is set to admit always, or,
// after its first unit, never.
type take func(key string) bool

// contender makes a limiter ready to be measured.
type contender struct {
	name string
	make func(tb testing.TB, denied bool) take
}

// title is the name as a reader knows it.
func (c *contender) title() string {
	title, found := map[string]string{
		"floor":       "the floor beside itself",
		"floor-free":  "the same in a sync.Map, by compare-and-swap",
		"x-time-rate": "golang.org/x/time/rate in a sync.Map",
		"sethvargo":   "sethvargo/go-limiter, fixed window",
		"throttled":   "throttled v2, GCRA",
		"failsafe-go": "failsafe-go, bursty, in a sync.Map",
		"ulule":       "ulule/limiter v3",
		"httprate":    "go-chi/httprate",
	}[c.name]
	if found {
		return title
	}
	return c.name
}

func contenders() []contender {
	all := []contender{
		{"floor", newFloor},
		{"floor-free", newFreeFloor},
		{"x-time-rate", newXTimeRate},
		{"sethvargo", newSethvargo},
		{"throttled", newThrottled},
		{"failsafe-go", newFailsafe},
		{"ulule", newUlule},
		{"httprate", newHTTPRate},
	}
	for _, name := range []string{"gcra", "token-bucket", "leaky-bucket", "fixed-window", "sliding-counter"} {
		all = append(all, contender{"weir-" + name, func(tb testing.TB, denied bool) take { return newWeir(tb, name, denied) }})
	}
	// Of a rate whose interval is no whole number of µs.
	all = append(all, contender{"weir-gcra-fraction", func(tb testing.TB, denied bool) take {
		return newWeirSpec(tb, choose(denied, "gcra:7/9600h,burst=1", "gcra:999999999999/1s,burst=1000000000000"))
	}})
	return all
}

// newWeir measures Limiter.Allow with every field of the Decision filled in.
func newWeir(tb testing.TB, name string, denied bool) take {
	spec := name + ":1000000000000/1s"
	switch {
	case denied:
		spec = name + ":1/9600h"
	case name == "gcra" || name == "token-bucket":
		spec = name + ":1000000/1s,burst=1000000000000"
	case name == "leaky-bucket":
		spec = name + ":1000000/1s,capacity=1000000000000"
	}
	return newWeirSpec(tb, spec)
}

func newWeirSpec(tb testing.TB, spec string) take {
	states, err := memorystore.New(nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { states.Close() })
	a, err := algorithm.ParseSpec(spec)
	if err != nil {
		tb.Fatal(err)
	}
	l, err := weir.New(states, weir.Limit{Name: nameOfLimit, Algorithm: a}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	ctx := context.Background()
	return func(key string) bool {
		d, err := l.Allow(ctx, key)
		if err != nil {
			tb.Error(err)
		}
		return d.Allowed && d.Remaining >= 0
	}
}

func choose[T any](condition bool, yes, no T) T {
	if condition {
		return yes
	}
	return no
}
