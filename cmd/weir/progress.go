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

// progress shows on a terminal how far the work is, from a goroutine of its own. A
// nil progress shows nothing.
type progress struct {
	stop chan struct{}
	done sync.WaitGroup
	once sync.Once
}

// terminal returns standard error where that is a terminal, and otherwise nil.
func terminal(errs io.Writer) *os.File {
	file, is := errs.(*os.File)
	if !is || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	return file
}

// startProgress shows a bar of total on standard error, where that is a terminal;
// otherwise it returns nil. A total of -1 is not known: a spinner. move brings the
// bar up to date.
func startProgress(errs io.Writer, total int64, move func(*progressbar.ProgressBar), options ...progressbar.Option) *progress {
	on := terminal(errs)
	if on == nil {
		return nil
	}
	p := &progress{stop: make(chan struct{})}
	p.done.Go(func() {
		select {
		case <-p.stop:
			return
		case <-time.After(progressDelay):
		}
		bar := progressbar.NewOptions64(total, append([]progressbar.Option{
			progressbar.OptionSetWriter(on),
			progressbar.OptionSetWidth(30),
			progressbar.OptionClearOnFinish(),
		}, options...)...)
		p.show(bar, move)
	})
	return p
}

// show moves the bar until the end. A terminal that cannot be written to any more
// is no reason to stop.
func (p *progress) show(bar *progressbar.ProgressBar, move func(*progressbar.ProgressBar)) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		move(bar)
		select {
		case <-p.stop:
			_ = bar.Clear()
			return
		case <-ticker.C:
		}
	}
}

// showProgress starts to show how much of the trace was read.
func showProgress(errs io.Writer, in *input) *progress {
	if terminal(errs) == nil {
		return nil
	}
	total := in.files.size
	return startProgress(errs, total, func(bar *progressbar.ProgressBar) {
		if n := in.reader.BytesRead(); total < 0 || n < total {
			_ = bar.Set64(n)
		} else {
			bar.Describe("deciding")
			_ = bar.RenderBlank()
		}
	}, progressbar.OptionSetDescription("reading"), progressbar.OptionShowBytes(true))
}

// end removes the bar. It may be called more than once.
func (p *progress) end() {
	if p == nil {
		return
	}
	p.once.Do(func() { close(p.stop) })
	p.done.Wait()
}
