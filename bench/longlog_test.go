package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/loglist"
	"github.com/weirgo/weir/internal/servertest"
	redisstore "github.com/weirgo/weir/store/redis"
)

// given is a clock that shows what it is told.
type given struct{ now time.Time }

func (g *given) Now() time.Time { return g.now }

// BenchmarkLongLog reports what one decision on a long log takes inside the server, in µs
// by its own count: a look, a denial of the least and of the largest cost and of one in
// between, an admission, and one that finds all entries expired.
func BenchmarkLongLog(b *testing.B) {
	for _, kind := range servers {
		for _, entries := range []int{1_000, 100_000, 500_000} {
			for _, costs := range []int64{1, 5} {
				b.Run(fmt.Sprintf("server=%s/entries=%d/costs=%d", kind, entries, costs), func(b *testing.B) {
					longLog(b, kind, entries, costs)
				})
			}
		}
	}
}

func longLog(b *testing.B, kind servertest.Kind, entries int, costs int64) {
	server := servertest.Start(b, kind, nil)
	clock := &given{time.UnixMicro(1_790_000_000_000_000)}
	// Entries are 2 µs apart, so that an admission finds room between them.
	units, words := int64(0), make([]string, entries)
	for i := range words {
		cost := 1 + int64(i)%costs
		words[i] = strconv.FormatInt(clock.now.UnixMicro()-2*int64(entries-1-i), 10)
		if units += cost; cost > 1 {
			words[i] += ":" + strconv.FormatInt(cost, 10)
		}
	}
	if extra := units - int64(entries); extra > 0 {
		words = append([]string{"+" + strconv.FormatInt(extra, 10)}, words...)
	}
	list := loglist.Elements(strings.Join(words, " "))
	period := time.Duration(2*entries) * time.Microsecond
	limit := func(l int64) *weir.Limiter {
		a := algorithm.Must(algorithm.NewSlidingLog(algorithm.Rate{Units: l, Per: period}))
		states := openRedis(b, server.Addr(), &redisstore.Options{Clock: clock, Timeout: time.Minute})
		limiter, err := weir.New(states, weir.Limit{Name: "limit", Algorithm: a}, &weir.Options{Timeout: time.Minute})
		if err != nil {
			b.Fatal(err)
		}
		return limiter
	}
	full, roomy := limit(units), limit(2*units)
	if _, err := full.Allow(context.Background(), "k"); err != nil {
		b.Fatal(err)
	}
	name := server.Do("KEYS", "*").([]any)[0].(string)
	fill := func() {
		server.Do("DEL", name)
		for chunk := range slices.Chunk(list, 10_000) {
			server.Do(append([]string{"RPUSH", name}, chunk...)...)
		}
		server.Do("PEXPIRE", name, "3600000")
	}
	fill()
	bytes, _ := server.Do("MEMORY", "USAGE", name, "SAMPLES", "0").(int64)
	b.ReportMetric(float64(bytes)/float64(entries), "bytes/entry")
	measure := func(what string, limiter *weir.Limiter, cost int64, times int, before func()) {
		var all []float64
		for range times {
			before()
			start := spent(b, server)
			var err error
			if cost == 0 {
				_, err = limiter.Peek(context.Background(), "k")
			} else {
				_, err = limiter.AllowN(context.Background(), "k", cost)
			}
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, spent(b, server).since(start).micros)
		}
		b.ReportMetric(median(all), what+"-µs")
	}
	now := clock.now
	still := func() {}
	measure("look", full, 0, 101, still)
	measure("denied-least", full, 1, 101, still)
	measure("denied-half", full, units/2, 101, still)
	measure("denied-most", full, units, 101, still)
	measure("admitted", roomy, costs, 101, func() { clock.now = clock.now.Add(2 * time.Microsecond) })
	measure("look-expired", roomy, 0, 11, func() { clock.now = now.Add(2 * period) })
	measure("admitted-expired", roomy, 1, 11, func() { clock.now = now; fill(); clock.now = now.Add(2 * period) })
	b.ReportMetric(0, "ns/op")
}
