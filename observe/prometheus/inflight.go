package promobserver

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirgo/weir/resilience/inflight"
)

var (
	inFlightLimit     = declare(prometheus.GaugeValue, "inflight_limit", "Units that a key may have in flight now.", "limiter")
	inFlightHolds     = declare(prometheus.GaugeValue, "inflight_holds", "Holds that this process has given out and not got back.", "limiter")
	inFlightWaiting   = declare(prometheus.GaugeValue, "inflight_waiting", "Calls that wait for units.", "limiter")
	inFlightDecisions = declare(prometheus.CounterValue, "inflight_decisions_total", "Answers to those who asked for units.", "limiter", "result")
	inFlightLost      = declare(prometheus.CounterValue, "inflight_lost_total", "Holds that have expired while their holders lived.", "limiter")
)

// AddInFlight reads the counts of a limiter of requests in flight. name is the label limiter.
func (c *Collector) AddInFlight(name string, l *inflight.Limiter) {
	c.add("in flight", name, func(to *sink) {
		s := l.Stats()
		to.put(inFlightLimit, float64(s.Limit))
		to.put(inFlightHolds, float64(s.Held))
		to.put(inFlightWaiting, float64(s.Waiting))
		to.put(inFlightDecisions, float64(s.Allowed), "allowed")
		to.put(inFlightDecisions, float64(s.Refused), "refused")
		to.put(inFlightDecisions, float64(s.Degraded), "degraded")
		to.put(inFlightDecisions, float64(s.Failed), "error")
		to.put(inFlightLost, float64(s.Lost))
	})
}
