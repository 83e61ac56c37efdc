package promobserver

import (
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirgo/weir/store/script"
)

var (
	scriptCalls    = declare(prometheus.CounterValue, "script_calls_total", "Calls of a script, and those whose script the server had lost (cached=\"false\").", "store", "cached")
	perCall        = declare(summary, "decisions_per_call", "Decisions that share a call of a script: the sum over the count is the mean.", "store")
	operations     = declare(prometheus.CounterValue, "store_operations_total", "Limits that were asked in these decisions.", "store")
	commands       = declare(prometheus.CounterValue, "store_commands_total", "Commands that were sent to a server.", "store")
	callsInFlight  = declare(prometheus.GaugeValue, "store_calls_in_flight", "Calls to a server that have no answer yet.", "store")
	callsAbandoned = declare(prometheus.GaugeValue, "store_calls_abandoned", "Calls without an answer for which nobody waits any more.", "store")
	waiting        = declare(prometheus.GaugeValue, "store_waiting", "Decisions that wait to be sent.", "store")
	storeErrors    = declare(prometheus.CounterValue, "redis_errors_total", "Errors of a store on a server.", "store", "error_type")

	poolConnections = declare(prometheus.GaugeValue, "pool_connections", "Connections of a client library: in_use and idle.", "pool", "state")
	serverMemory    = declare(prometheus.GaugeValue, "redis_memory_bytes", "Memory that a server uses for its data, as it says itself (used_memory).", "pool", "node")
)

// AddServer reads the counts of a store on Redis or Valkey: redisstore.Store and
// valkeystore.Store have one.
func (c *Collector) AddServer(name string, s interface{ Stats() script.Stats }) {
	c.add("server", name, func(to *sink) {
		stats := s.Stats()
		to.put(scriptCalls, float64(stats.Calls), "true")
		to.put(scriptCalls, float64(stats.ScriptMisses), "false")
		to.summarize(perCall, uint64(stats.Calls), float64(stats.Groups))
		to.put(operations, float64(stats.Ops))
		to.put(commands, float64(stats.Commands))
		to.put(callsInFlight, float64(stats.InFlight))
		to.put(callsAbandoned, float64(stats.Abandoned))
		to.put(waiting, float64(stats.Waiting))
		e := stats.Errors
		for _, each := range []struct {
			class string
			count int64
		}{
			{"invalid", e.Invalid}, {"cross_node", e.CrossNode}, {"closed", e.Closed}, {"unknown", e.OutcomeUnknown},
			{"unavailable", e.Unavailable}, {"contention", e.Contention}, {"corrupt", e.Corrupt}, {"context", e.Context}, {other, e.Other},
		} {
			to.put(storeErrors, float64(each.count), each.class)
		}
	})
}

// Pool is what a client library of a server has open.
type Pool struct {
	// InUse is the number of connections that carry commands, and Idle that of those that
	// wait for some.
	InUse, Idle int
	// Memory is the used_memory of INFO of each server, in bytes, by its name. nil where it
	// is not known, and then there is no metric of it.
	Memory map[string]int64
}

// AddPool reads what a client library has open, and the memory of its servers. name is the
// label pool. read is called at each scrape, concurrently: it must not ask a server, which
// may be down, but return what was asked before. go-redis has PoolStats for the connections:
// Idle is IdleConns and InUse the rest of TotalConns.
func (c *Collector) AddPool(name string, read func() Pool) {
	c.add("pool", name, func(to *sink) {
		p := read()
		to.put(poolConnections, float64(p.InUse), "in_use")
		to.put(poolConnections, float64(p.Idle), "idle")
		for _, node := range slices.Sorted(maps.Keys(p.Memory)) {
			to.put(serverMemory, float64(p.Memory[node]), strings.ToValidUTF8(node, "?"))
		}
	})
}
