// Command shots looks at HTML reports in a browser without a window, as a phone and as a
// desk show them, and says what is wrong: an error in the console, a request to anywhere
// else, a page that scrolls sideways, labels of a picture that touch, a text that is cut. It saves what it saw.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
)

// browsers are the names that Chromium goes by.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

func main() {
	out := flag.String("out", ".", "the `folder` to save pictures in")
	widths := flag.String("widths", "360,1280", "widths of the window in pixels, with commas between")
	schemes := flag.String("schemes", "light,dark", "colour schemes, with commas between")
	part := clip{}
	flag.StringVar(&part.from, "from", "", "the `id` of the element where pictures begin, and not at the top")
	flag.Int64Var(&part.tall, "tall", 20000, "the most pixels of a page to save")
	flag.Parse()
	bad, err := look(*out, strings.Split(*widths, ","), strings.Split(*schemes, ","), part, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "shots:", err)
		os.Exit(1)
	}
	for _, b := range bad {
		fmt.Fprintln(os.Stderr, "shots:", b)
	}
	if len(bad) > 0 {
		os.Exit(1)
	}
}

// look opens each file in each width and colour scheme, and returns what is wrong.
func look(out string, widths, schemes []string, part clip, files []string) (bad []string, err error) {
	if len(files) == 0 {
		return nil, fmt.Errorf("no files: must be at least one HTML file")
	}
	browser, err := findBrowser()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // the sandbox refuses root
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	ctx, stop := chromedp.NewContext(ctx)
	defer stop()
	if err := chromedp.Do(ctx); err != nil { // starts the browser
		return nil, fmt.Errorf("%s: %w", browser, err)
	}
	ctx, giveUp := context.WithTimeout(ctx, 5*time.Minute)
	defer giveUp()
	for _, file := range files {
		for _, text := range widths {
			width, err := strconv.ParseInt(text, 10, 64)
			if err != nil || width < 100 || width > 10000 {
				return nil, fmt.Errorf("-widths: %q is not allowed: must be 100 to 10000", text)
			}
			for _, scheme := range schemes {
				v := &view{file: file, width: width, scheme: scheme, clip: part}
				if err := v.open(ctx); err != nil {
					return nil, fmt.Errorf("%s: %w", v, err)
				}
				name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
				name = filepath.Join(out, fmt.Sprintf("%s-%d-%s.png", name, width, scheme))
				if err := os.WriteFile(name, v.picture, 0o666); err != nil {
					return nil, err
				}
				fmt.Printf("%s: %d pictures, %d × %d pixels: %s\n", v, v.seen.Pictures, width, v.seen.Height, name)
				bad = append(bad, v.judge()...)
			}
		}
	}
	return bad, nil
}

func findBrowser() (string, error) {
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no browser: must be one of %s (on Debian: apt-get install chromium)", strings.Join(browsers, ", "))
}
