package main

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Times of the progress bar. Work that is done sooner shows none.
const (
	progressDelay = 500 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

// progress shows on a terminal how much of the trace was read, from a goroutine
// of its own. A nil progress shows nothing.
type progress struct {
	stop chan struct{}
	done sync.WaitGroup
	once sync.Once
}

// showProgress starts to show how far in is on standard error, where that is a
// terminal; otherwise it returns nil.
func showProgress(errs io.Writer, in *input) *progress {
	file, is := errs.(*os.File)
	if !is || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	total := int64(-1) // not known: a spinner
	if in.source.file != nil {
		if info, err := in.source.file.Stat(); err == nil && info.Mode().IsRegular() {
			total = info.Size()
		}
	}
	p := &progress{stop: make(chan struct{})}
	p.done.Go(func() { p.show(file, total, in.reader.BytesRead) })
	return p
}

func (p *progress) show(w io.Writer, total int64, read func() int64) {
	select {
	case <-p.stop:
		return
	case <-time.After(progressDelay):
	}
	bar := progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription("reading"),
		progressbar.OptionShowBytes(true),
		progressbar.OptionSetWidth(30),
		progressbar.OptionClearOnFinish(),
	)
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		// A terminal that cannot be written to any more is no reason to stop.
		if n := read(); total < 0 || n < total {
			_ = bar.Set64(n)
		} else {
			bar.Describe("deciding")
			_ = bar.RenderBlank()
		}
		select {
		case <-p.stop:
			_ = bar.Clear()
			return
		case <-ticker.C:
		}
	}
}

// end removes the bar. It may be called more than once.
func (p *progress) end() {
	if p == nil {
		return
	}
	p.once.Do(func() { close(p.stop) })
	p.done.Wait()
}
