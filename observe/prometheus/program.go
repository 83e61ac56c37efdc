package promobserver

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// programMetrics are of the program around the limits.
type programMetrics struct {
	reloads    *prometheus.CounterVec
	reloadedAt prometheus.Gauge
	age        prometheus.GaugeFunc
	skew       prometheus.Histogram
	loaded     *atomic.Pointer[time.Time] // when; nil for never
}

func newProgramMetrics(c *Collector) programMetrics {
	skew := c.histogram("clock_skew_seconds", "How far clocks of callers were from that of this process.")
	skew.Buckets = []float64{1e-3, 10e-3, 100e-3, 1, 10, 60, 600, 3600}
	begun := c.now()
	m := programMetrics{
		loaded:  new(atomic.Pointer[time.Time]),
		reloads: prometheus.NewCounterVec(counter("config_reload_total", "How often a policy or a configuration was read again, and whether it was good."), []string{"result"}),
		reloadedAt: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: "config_last_success_timestamp_seconds",
			Help: "When a policy or a configuration was last read again and good, in Unix seconds; 0 before that."}),
		age: prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: "config_age_seconds",
			Help: "How long ago a policy or a configuration was last read and good; before the first reload, how long ago the Collector was made."},
			func() float64 { return c.now().Sub(c.program.loadedAt(begun)).Seconds() }),
		skew: prometheus.NewHistogram(skew),
	}
	m.reloads.WithLabelValues("success") // there from the start: an alert sees the first failure
	m.reloads.WithLabelValues("failure")
	return m
}

func (m *programMetrics) parts() []prometheus.Collector {
	return []prometheus.Collector{m.reloads, m.reloadedAt, m.age, m.skew}
}

// loadedAt is when something was last read and good; begun before that.
func (m *programMetrics) loadedAt(begun time.Time) time.Time {
	if at := m.loaded.Load(); at != nil {
		return *at
	}
	return begun
}

// ObserveReload counts that a policy or a configuration was read again; err is nil where it
// was good and is used now.
func (c *Collector) ObserveReload(err error) {
	if err != nil {
		c.program.reloads.WithLabelValues("failure").Inc()
		return
	}
	c.program.reloads.WithLabelValues("success").Inc()
	now := c.now()
	c.program.loaded.Store(&now)
	c.program.reloadedAt.Set(float64(now.UnixNano()) / 1e9)
}

// ObserveClockSkew notes how far the clock of a caller was from that of this process, in
// either direction.
func (c *Collector) ObserveClockSkew(d time.Duration) {
	c.program.skew.Observe(math.Abs(d.Seconds()))
}
