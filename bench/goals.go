package main

import (
	"fmt"
	"math"
	"strings"
)

// goal is a number that is to be reached. A name with %s is measured on both kinds of
// servers, which may have goals of their own.
type goal struct {
	what   string
	name   string
	most   []float64 // one, or one for each kind of server
	least  float64   // where most is nil
	digits int
}

func goals() []goal {
	most := func(what, name string, digits int, most ...float64) goal { return goal{what, name, most, 0, digits} }
	least := func(what, name string, least float64) goal { return goal{what, name, nil, least, 2} }
	all := []goal{
		most("memory, hot key, serial, admitted", "memory/hot/serial/admitted/weir-gcra", 2, 1.3),
		most("memory, hot key, serial, denied", "memory/hot/serial/denied/weir-gcra", 2, 1.3),
		most("memory, hot key, parallel, admitted", "memory/hot/parallel/admitted/weir-gcra", 2, 1.2),
		most("memory, hot key, parallel, denied", "memory/hot/parallel/denied/weir-gcra", 2, 1.0),
		most("memory, many keys, serial, admitted", "memory/many/serial/admitted/weir-gcra", 2, 1.3),
		most("memory, many keys, serial, denied", "memory/many/serial/denied/weir-gcra", 2, 1.3),
		most("memory, many keys, parallel, admitted", "memory/many/parallel/admitted/weir-gcra", 2, 1.3),
		most("memory, many keys, parallel, denied", "memory/many/parallel/denied/weir-gcra", 2, 1.3),
		most("heap, bytes of a key", "heap/weir-gcra/bytes", 0, 115),
		most("heap, objects of a key", "heap/weir-gcra/objects", 1, 1),
	}
	for _, store := range []string{"redisstore", "valkeystore"} {
		library := map[string]string{"redisstore": "go-redis", "valkeystore": "valkey-go"}[store]
		server := func(what string, to float64, situation string) {
			all = append(all, least("server, "+what+", "+library, "server/%s/"+situation+"/"+store+"/rate", to))
		}
		server("one caller", 1.05, "1/one/admitted")
		server("64 callers, one key", 10, "64/one/admitted")
		server("256 callers, one key, admitted", 20, "256/one/admitted")
		server("256 callers, one key, denied", 20, "256/one/denied")
		server("64 callers, many keys", 2.5, "64/many/admitted")
		server("256 callers, many keys", 2.5, "256/many/admitted")
		server("256 callers, Zipf", 3.5, "256/zipf/admitted")
		all = append(all,
			most("server, p50 of one caller, "+library, "server/%s/1/one/admitted/"+store+"/p50", 2, 1.05),
			most("server, p99 of 256 callers of one key, "+library, "server/%s/256/one/admitted/"+store+"/p99", 2, 1),
			most("server, allocations a decision of 256 callers of one key, "+library, "server/%s/256/one/admitted/"+store+"/allocs", 1, 1),
			most("server, its processor, 10,000 keys, admitted, "+library, "processor/%s/admitted/"+store, 2, 0.84),
			most("server, its processor, 10,000 keys, denied, "+library, "processor/%s/denied/"+store, 2, 0.43),
		)
	}
	return append(all,
		most("bytes in a server, a state of one word", "bytes/%s/gcra", 0, 133, 117),
		most("bytes in a server, sliding counter", "bytes/%s/sliding-counter-1h", 0, 165, 149),
		most("bytes in a server, an entry of a log", "bytes/%s/log-entry", 1, 14),
		most("inside a server, gcra, admitted", "inside/%s/gcra/admitted", 2, 1.9),
		most("inside a server, token bucket, admitted", "inside/%s/token-bucket/admitted", 2, 1.9),
		most("inside a server, fixed window, admitted", "inside/%s/fixed-window/admitted", 2, 1.65),
		most("inside a server, sliding counter, admitted", "inside/%s/sliding-counter/admitted", 2, 1.75),
		most("inside a server, gcra, denied", "inside/%s/gcra/denied", 2, 1.2),
		most("inside a server, token bucket, denied", "inside/%s/token-bucket/denied", 2, 1.3),
		most("inside a server, log of 1000, admitted", "inside/%s/sliding-log-1000/admitted", 2, 1.9),
		most("inside a server, 50 groups in a call, each", "inside/%s/groups-50/keys-100", 2, 1.1),
		most("inside a server, 3 limits in a call, beside 3 calls", "inside/%s/limits-3", 2, 0.75),
	)
}

// medians returns a value for each kind of server, or one.
func (g *goal) medians(b book) (values []float64) {
	names := []string{g.name}
	if strings.Contains(g.name, "%s") {
		names = []string{fmt.Sprintf(g.name, servers[0]), fmt.Sprintf(g.name, servers[1])}
	}
	for _, name := range names {
		if value, found := b.median(name); found {
			values = append(values, value)
		}
	}
	return values
}

// misses reports whether a value, as it is shown, is worse than times the goal.
func (g *goal) misses(index int, value, times float64) bool {
	unit := math.Pow10(-g.digits)
	value = math.Round(value/unit) * unit
	if g.most == nil {
		return value < g.least/times
	}
	return value > g.most[min(index, len(g.most)-1)]*times+unit/2
}

func (r *run) goalTable() *table {
	t := &table{
		title:   "Goals",
		text:    "Ratios as in the tables below; of servers on Redis / Valkey.",
		columns: []string{"measured", "goal", ""},
	}
	for _, g := range goals() {
		values, missed := g.medians(r.values), 0
		var shown, to []string
		for i, value := range values {
			shown = append(shown, fmt.Sprintf("%.*f", g.digits, value))
			if g.misses(i, value, 1) {
				missed++
			}
		}
		for _, most := range g.most {
			to = append(to, fmt.Sprint("≤ ", most))
		}
		if g.most == nil {
			to = []string{fmt.Sprint("≥ ", g.least)}
		}
		if len(values) > 0 {
			t.add(g.what, strings.Join(shown, " / "), strings.Join(to, " / "), map[bool]string{true: "met", false: "missed"}[missed == 0])
		}
	}
	return t
}

// missed returns the goals of which a value is worse than twice what it should be.
func (r *run) missed() (all []string) {
	for _, g := range goals() {
		for i, value := range g.medians(r.values) {
			if g.misses(i, value, 2) {
				all = append(all, fmt.Sprintf("%s: %.2f", g.what, value))
			}
		}
	}
	return all
}
