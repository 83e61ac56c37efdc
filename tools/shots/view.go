package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// view is one look at one file.
type view struct {
	file   string
	width  int64
	scheme string
	clip

	mu       sync.Mutex
	requests []string // but for the file itself
	errors   []string // of the console
	seen     seen
	picture  []byte

	act func(ctx context.Context) error // what a test does with the page first
}

// clip is the part of a page that is saved.
type clip struct {
	from string // the id of an element; "" is the top
	tall int64
}

// seen is what measure.js finds.
type seen struct {
	Pictures int
	Scroll   int64 // how wide the page is
	Client   int64 // how much of it is seen
	Height   int64
	Touching []string
	Cut      []string
}

//go:embed measure.js
var measure string

func (v *view) String() string { return fmt.Sprintf("%s, %d px, %s", v.file, v.width, v.scheme) }

// open opens the file in a tab of its own, measures it and takes the picture.
func (v *view) open(browser context.Context) error {
	path, err := filepath.Abs(v.file)
	if err != nil {
		return err
	}
	url := "file://" + filepath.ToSlash(path)
	ctx, shut := chromedp.NewContext(browser)
	defer shut()
	if err := chromedp.Do(ctx, v.emulate); err != nil {
		return err
	}
	if err := chromedp.Listen(ctx, func(event any) { v.note(event, url) }); err != nil {
		return err
	}
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		return err
	}
	if v.act != nil {
		if err := v.act(ctx); err != nil {
			return err
		}
	}
	if v.seen, err = chromedp.Run(ctx, chromedp.Evaluate[seen](measure)); err != nil {
		return err
	}
	top, err := v.top(ctx)
	if err != nil {
		return err
	}
	beyond := true
	shot, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
		CaptureBeyondViewport: &beyond,
		Clip:                  &page.Viewport{Y: top, Width: float64(v.width), Height: min(float64(v.seen.Height)-top, float64(v.tall)), Scale: 1},
	})
	v.picture = shot.Data
	return err
}

// top is where the picture begins.
func (v *view) top(ctx context.Context) (float64, error) {
	if v.from == "" {
		return 0, nil
	}
	at := fmt.Sprintf(`document.getElementById(%q)?.getBoundingClientRect().top + scrollY || -1`, v.from)
	top, err := chromedp.Run(ctx, chromedp.Evaluate[float64](at))
	if err == nil && top < 0 {
		err = fmt.Errorf("-from: no element is called %q", v.from)
	}
	return top, err
}

// emulate makes the tab as wide and as dark as it is to be, and asks for its events.
func (v *view) emulate(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
	_, err := cdp.Call(ctx, t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: v.width, Height: 800, DeviceScaleFactor: 1, Mobile: v.width < 600,
	})
	if err != nil {
		return chromedp.Void{}, err
	}
	if _, err = cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: v.scheme}},
	}); err != nil {
		return chromedp.Void{}, err
	}
	_, networkErr := cdp.Call(ctx, t, network.Enable, network.EnableParams{})
	_, logErr := cdp.Call(ctx, t, log.Enable, cdp.Empty{})
	_, runtimeErr := cdp.Call(ctx, t, runtime.Enable, cdp.Empty{})
	return chromedp.Void{}, errors.Join(networkErr, logErr, runtimeErr)
}

// note remembers an event that may be wrong.
func (v *view) note(event any, own string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if e.Request.URL != own && e.Request.URL != "data:," { // the icon that is none
			v.requests = append(v.requests, e.Request.URL)
		}
	case *log.EventEntryAdded:
		v.errors = append(v.errors, fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text))
	case *runtime.EventConsoleAPICalled:
		v.errors = append(v.errors, fmt.Sprintf("console.%s", e.Type))
	case *runtime.EventExceptionThrown:
		v.errors = append(v.errors, e.ExceptionDetails.Text)
	}
}

// judge says what is wrong.
func (v *view) judge() (bad []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, e := range v.errors {
		bad = append(bad, fmt.Sprintf("%s: error in the console: %s", v, e))
	}
	for _, r := range v.requests {
		bad = append(bad, fmt.Sprintf("%s: request to %s: must need nothing else", v, r))
	}
	if v.seen.Scroll > v.seen.Client {
		bad = append(bad, fmt.Sprintf("%s: the page is %d px wide: must be at most %d", v, v.seen.Scroll, v.seen.Client))
	}
	if v.seen.Pictures == 0 {
		bad = append(bad, fmt.Sprintf("%s: no picture is shown", v))
	}
	for _, t := range slices.Concat(v.seen.Touching, v.seen.Cut) {
		bad = append(bad, fmt.Sprintf("%s: %s", v, t))
	}
	return bad
}
