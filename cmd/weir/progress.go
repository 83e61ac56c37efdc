package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/sim"
)

// Times of the progress line. Work that is done sooner shows none.
const (
	progressDelay = 500 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

// progress shows on a terminal how far the work is, from a goroutine of its own. A
// nil progress shows nothing.
type progress struct {
	stop chan struct{}
	done sync.WaitGroup
	once sync.Once
}

// startProgress shows a line on standard error, where that is a terminal; otherwise it
// returns nil. A terminal that cannot be written to any more is no reason to stop.
func startProgress(errs io.Writer, line func() string) *progress {
	on, is := errs.(*os.File)
	if !is || !term.IsTerminal(int(on.Fd())) {
		return nil
	}
	p := &progress{stop: make(chan struct{})}
	p.done.Go(func() {
		for wait := progressDelay; ; wait = progressEvery {
			select {
			case <-p.stop:
				if wait == progressEvery {
					fmt.Fprint(on, "\r\x1b[K")
				}
				return
			case <-time.After(wait):
				fmt.Fprintf(on, "\r\x1b[K%s", report.Visible(line()))
			}
		}
	})
	return p
}

// end removes the line. It may be called more than once.
func (p *progress) end() {
	if p == nil {
		return
	}
	p.once.Do(func() { close(p.stop) })
	p.done.Wait()
}

// showProgress starts to show how much of the trace was read.
func showProgress(errs io.Writer, in *input) *progress {
	return startProgress(errs, func() string {
		n := in.reader.BytesRead()
		switch size := in.files.size; {
		case size < 0:
			return "reading: " + report.Digits(n>>10) + " KiB"
		case n < size:
			return "reading: " + report.Percent(n, size)
		}
		return "deciding"
	})
}

// simProgress is how far the run of a scenario is: "gcra: 45.0 %".
type simProgress struct{ line atomic.Value }

// set is sim.Options.Progress.
func (p *simProgress) set(now sim.Progress) {
	p.line.Store(now.Limit + ": " + report.Percent(now.Micros, now.DurationMicros))
}

// show starts to show it on a terminal.
func (p *simProgress) show(errs io.Writer) *progress {
	return startProgress(errs, func() string {
		line, _ := p.line.Load().(string)
		return "simulating " + line
	})
}
