package main

import (
	"io"
	"slices"
	"sync/atomic"

	"github.com/schollz/progressbar/v3"

	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/sim"
	"github.com/weirgo/weir/sim/scenario"
)

// simMeter knows how far the runs of a scenario are: the bar reads it from a goroutine
// of its own.
type simMeter struct {
	passes int64    // over the scenario, the present one included
	limits []string // that are run one after the other
	done   atomic.Int64
	total  atomic.Int64
	limit  atomic.Pointer[string]
}

// perRun is how many steps the bar has for each limit of each pass.
const perRun = 1000

// begin sets the meter to the start of a scenario that is run so many times.
func (m *simMeter) begin(s *scenario.Scenario, passes int64) {
	m.passes, m.limits = 0, nil
	for _, l := range s.Limits {
		m.limits = append(m.limits, l.Name)
	}
	if s.Together {
		m.limits = m.limits[:1]
	}
	m.done.Store(0)
	m.total.Store(passes * int64(len(m.limits)) * perRun)
}

// set is sim.Options.Progress.
func (m *simMeter) set(p sim.Progress) {
	run := int64(max(0, slices.Index(m.limits, p.Limit)))
	run += (m.passes - 1) * int64(len(m.limits))
	m.done.Store(min(m.total.Load(), run*perRun+int64(float64(p.Micros)/float64(p.DurationMicros)*perRun)))
	m.limit.Store(&p.Limit)
}

// show shows a bar on a terminal.
func (m *simMeter) show(errs io.Writer) *progress {
	return startProgress(errs, perRun, func(bar *progressbar.ProgressBar) {
		if limit := m.limit.Load(); limit != nil {
			bar.Describe(report.Visible(*limit))
		}
		_ = bar.Set64(m.done.Load() * perRun / max(1, m.total.Load()))
	}, progressbar.OptionSetDescription("simulating"))
}
