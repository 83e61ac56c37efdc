package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/weirgo/weir/cmd/weir/internal/live"
	"github.com/weirgo/weir/cmd/weir/internal/report"
)

// topCommand is the command line of weir top.
type topCommand struct {
	URL       string         `arg:"optional" help:"The admin listener of a weir serve, such as http://127.0.0.1:6070 (default), or any page of metrics with those of weir."`
	Every     *time.Duration `placeholder:"DURATION" help:"How far apart two readings are, 100ms to 1h: rates are those between them (default 2s)."`
	Once      bool           `help:"Read twice, show the rates between them, and end."`
	Rules     int            `default:"0" placeholder:"N" help:"How many rules are shown at most, those that deny most first (default: what fits; 20 where the output is no terminal)."`
	TokenFile string         `placeholder:"FILE" help:"The token of a caller with the role read, where the service tells callers apart."`
	CAFile    string         `name:"ca-file" placeholder:"FILE" help:"The authorities of the service's certificate (default: those of the system)."`
}

// Help is the long help, before the flags.
func (topCommand) Help() string {
	return `Shows what a service decides now: requests, latency, rules with how full they are, stores and
breakers. The numbers are those of its metrics. On a terminal it draws anew with each reading
and follows the size of the window; elsewhere it writes one text after the other, and with
--once a single one. It uses no colours. An interrupt ends it.

Exit status: 0 shown, or ended by a signal, 2 wrong usage, 3 the page cannot be read, or is no
page of metrics; once something is shown, a reading that fails is shown and tried again.

Example: weir top http://127.0.0.1:6070 --once
`
}

const (
	topURL        = "http://127.0.0.1:6070"
	topRules      = 20 // where the output is no terminal
	usualInterval = 2 * time.Second
	leastInterval = 100 * time.Millisecond
	mostInterval  = time.Hour
	topTimeout    = 10 * time.Second
	resizeEvery   = 250 * time.Millisecond // how often the size of the terminal is looked at
)

// Run shows frames until it is stopped.
func (c *topCommand) Run(ctx context.Context, s *streams) error {
	at, err := c.page()
	if err != nil {
		return err
	}
	every := usualInterval
	if c.Every != nil {
		every = *c.Every
	}
	if every < leastInterval || every > mostInterval {
		return usageError{fmt.Errorf("--every: %s is not allowed: must be 100ms to 1h", every)}
	}
	if c.Rules < 0 {
		return usageError{fmt.Errorf("--rules: %d is not allowed: must be 0 (what fits) or more", c.Rules)}
	}
	client, token, err := c.client()
	if err != nil {
		return err
	}
	t := &top{command: c, every: every, out: s.out, url: at, read: func(ctx context.Context) (*live.Page, error) {
		return live.Read(ctx, client, at, token)
	}}
	if err := t.run(ctx); !errors.Is(err, context.Canceled) || ctx.Err() == nil {
		return err
	}
	return nil // it was told to end
}

// page is the URL of the metrics.
func (c *topCommand) page() (string, error) {
	text := c.URL
	if text == "" {
		text = topURL
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return "", usageError{fmt.Errorf("URL: %q is not allowed: must be that of an admin listener, such as %s", text, topURL)}
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/metrics"
	}
	return u.String(), nil
}

func (c *topCommand) client() (client *http.Client, token string, err error) {
	client = &http.Client{
		Timeout: topTimeout,
		// Go would hand the token on to another port of the same host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if c.TokenFile != "" {
		text, err := os.ReadFile(c.TokenFile)
		if err != nil {
			return nil, "", inputError{fmt.Errorf("--token-file: %w", err)}
		}
		token = strings.TrimSpace(string(text))
	}
	if c.CAFile != "" {
		text, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, "", inputError{fmt.Errorf("--ca-file: %w", err)}
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			return nil, "", inputError{fmt.Errorf("--ca-file: %s has no certificate", c.CAFile)}
		}
		client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	}
	return client, token, nil
}

// top shows frames.
type top struct {
	command *topCommand
	every   time.Duration
	out     io.Writer
	url     string
	read    func(ctx context.Context) (*live.Page, error)
	shown   bool
	size    [2]int // of the terminal, when it was drawn on
}

func (t *top) run(ctx context.Context) error {
	before, err := t.read(ctx)
	if err != nil {
		return err
	}
	resized := time.NewTicker(resizeEvery)
	defer resized.Stop()
	tick := time.NewTicker(t.every)
	defer tick.Stop()
	var last *live.Span
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-resized.C:
			if on := t.terminal(); last != nil && on != nil && sizeOf(on) != t.size {
				if err := t.show(*last, ""); err != nil {
					return err
				}
			}
			continue
		case <-tick.C:
		}
		after, err := t.read(ctx)
		switch {
		case err != nil && (t.command.Once || ctx.Err() != nil):
			return errors.Join(err, ctx.Err())
		case err != nil && last == nil: // rates need two
			if err := t.write("weir top: " + report.Visible(err.Error()) + "\n"); err != nil {
				return err
			}
			continue
		case err != nil:
			if err := t.show(*last, ": cannot be read: "+report.Visible(err.Error())); err != nil {
				return err
			}
			continue
		}
		last, before = &live.Span{Before: before, After: after}, after
		if err := t.show(*last, ""); err != nil {
			return err
		}
		if t.command.Once {
			return nil
		}
	}
}

// terminal is the terminal that is drawn on; nil where it is none.
func (t *top) terminal() *os.File {
	on, is := t.out.(*os.File)
	if !is || t.command.Once || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(on.Fd())) {
		return nil
	}
	return on
}

// show shows a span. trouble follows the title.
func (t *top) show(s live.Span, trouble string) error {
	f := live.Frame{Title: fmt.Sprintf("weir top  %s  %s%s", t.url, s.After.At.Format(time.TimeOnly), trouble), Rules: t.command.Rules}
	on := t.terminal()
	if on == nil {
		if f.Rules == 0 {
			f.Rules = topRules
		}
		text := f.Text(s)
		if t.shown {
			text = "\n" + text
		}
		return t.write(text)
	}
	if t.size = sizeOf(on); t.size[1] > 1 {
		f.Width, f.Height = t.size[0], t.size[1]-1 // the cursor stands in the last line
	}
	const home, restOfLine, restOfScreen = "\x1b[H", "\x1b[K", "\x1b[J"
	return t.write(home + strings.ReplaceAll(f.Text(s), "\n", restOfLine+"\n") + restOfScreen)
}

// sizeOf is the width and the height of a terminal; 0 where it does not say.
func sizeOf(on *os.File) [2]int {
	width, height, err := term.GetSize(int(on.Fd()))
	if err != nil {
		return [2]int{}
	}
	return [2]int{width, height}
}

func (t *top) write(text string) error {
	t.shown = true
	_, err := io.WriteString(t.out, text)
	return err
}
