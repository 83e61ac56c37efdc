package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/internal/storeurl"
	"github.com/weirgo/weir/store"
)

// verifyCommand is the command line of weir verify.
type verifyCommand struct {
	Store       string  `placeholder:"URL" help:"The store to check, see above."`
	Only        string  `name:"run" placeholder:"REGEXP" help:"Run the checks whose names match, such as ^take/ (default: all)."`
	List        bool    `help:"List the checks with what each demands, and run none."`
	Quick       bool    `xor:"depth" help:"Fewer random histories: the same as --checks 20."`
	Checks      *int    `xor:"depth" placeholder:"N" help:"How many random histories are tried; those of concurrent callers follow (default 100)."`
	Seed        *uint64 `placeholder:"N" help:"Try the same random histories again (default: others each time)."`
	ServerClock bool    `help:"On a server: let it tell the time, as in production. What moves the clock is then skipped."`
	Share       int     `default:"128" placeholder:"N" help:"On a server: how many decisions may share one call (default 128); 1 is one."`
	Prefix      *string `placeholder:"TEXT" help:"On a server: what the names of all keys begin with, before something random (default weir-verify:)."`
	JSON        string  `name:"json" placeholder:"FILE" help:"Write the report as JSON; - is standard output, instead of the text."`
}

const (
	defaultDepth = 100
	quickDepth   = 20
	maxDepth     = 1_000_000
	maxShare     = 1000
	// maxVerifyPrefix leaves room for what is added to a prefix.
	maxVerifyPrefix = maxPrefix - 40
)

// Help is the long help, before the flags.
func (verifyCommand) Help() string {
	return urlHelp + `

The checks are those of conformance.TestStore. They give the store a clock that they
move, and compare its answers with those of the algorithms. All keys have a random
prefix and are removed; no other key is touched, and no file is written.

Exit status: 0 every check passed or was skipped, 1 a check failed or the server lacks
something, 2 wrong usage, 3 the server cannot be reached, 130 interrupted.

Example: weir verify --store redis://127.0.0.1:6379 --quick
`
}

// Run runs the checks and writes what was asked for.
func (c *verifyCommand) Run(ctx context.Context, s *streams) (err error) {
	wanted, err := c.wanted()
	if err != nil {
		return err
	}
	if c.List {
		return writeList(s.out, wanted)
	}
	where, err := c.endpoint()
	if err != nil {
		return err
	}
	subject, about, err := c.open(ctx, where)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, subject.Close()) }()
	about.Depth, about.Seed = c.depth(), c.seed()
	flags := []outputFlag{{"--json", c.JSON}}
	files, err := openOutputs(s, flags)
	if err != nil {
		return err
	}
	defer files.abandon()
	text := textOutput(s, flags)
	if text == nil {
		text = io.Discard
	}
	r := &verifyReport{about: *about}
	if err := c.runAll(ctx, s.err, text, subject, wanted, r); err != nil {
		return err
	}
	if err := r.writeEnd(text); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if err := files.finishJSON(r); err != nil {
		return err
	}
	return r.verdict()
}

// wanted returns the checks that --run names, for a store that can do everything.
func (c *verifyCommand) wanted() (names map[string]bool, err error) {
	pattern, err := regexp.Compile(c.Only)
	if err != nil {
		return nil, usageError{fmt.Errorf("--run: %q is no regular expression: %w", c.Only, err)}
	}
	names = map[string]bool{}
	for _, check := range conformance.Checks() {
		if pattern.MatchString(check.Name) {
			names[check.Name] = true
		}
	}
	switch {
	case len(names) == 0:
		return nil, usageError{fmt.Errorf("--run: %q matches no check: must match one of those that --list shows", c.Only)}
	case c.List && c.JSON != "":
		return nil, usageError{fmt.Errorf("--json: %q is for a report: must be left out with --list", c.JSON)}
	case c.Checks != nil && (*c.Checks < 1 || *c.Checks > maxDepth):
		return nil, usageError{fmt.Errorf("--checks: %d is not allowed: must be 1 to %d", *c.Checks, maxDepth)}
	case c.Seed != nil && *c.Seed == 0:
		return nil, usageError{errors.New("--seed: 0 is not allowed: must be 1 or more")}
	case c.Share < 1 || c.Share > maxShare:
		return nil, usageError{fmt.Errorf("--share: %d is not allowed: must be 1 to %d", c.Share, maxShare)}
	}
	return names, nil
}

// endpoint reads where the store is.
func (c *verifyCommand) endpoint() (*endpoint, error) {
	if c.Store == "" {
		return nil, usageError{errors.New("--store is missing: must be " + storeurl.Forms)}
	}
	where, err := parseStoreURL(c.Store)
	if err == nil {
		err = where.checkPrefix(c.Prefix, maxVerifyPrefix)
	}
	if err == nil && !where.server && c.ServerClock {
		err = usageError{fmt.Errorf("--server-clock is for a server: must be left out with %s", where.shown)}
	}
	return where, err
}

func (c *verifyCommand) depth() int {
	switch {
	case c.Checks != nil:
		return *c.Checks
	case c.Quick:
		return quickDepth
	}
	return defaultDepth
}

// seed is the one that was given, or one that is short enough to be typed.
func (c *verifyCommand) seed() uint64 {
	if c.Seed != nil {
		return *c.Seed
	}
	return 1 + rand.Uint64N(1_000_000_000)
}

// subject is a store that is checked: what makes new, empty ones of it.
type subject interface {
	config() *conformance.Config
	open(clk store.Clock) (store.Store, error)
	// tidy is called after each check, of which nothing must be left. Its error
	// says that no other check can be run.
	tidy(failed bool) error
	// Close gives back everything. Its error says what was left behind.
	Close() error
}

// runAll runs the wanted checks one after the other, and writes the table as it
// grows. On a terminal a bar is shown instead, and the table comes at the end.
func (c *verifyCommand) runAll(ctx context.Context, errs, text io.Writer, on subject, wanted map[string]bool, r *verifyReport) error {
	cfg := on.config()
	cfg.Histories, cfg.Seed = r.Depth, r.Seed
	var checks []conformance.Check
	for _, check := range cfg.Checks() {
		if wanted[check.Name] {
			checks = append(checks, check)
		}
	}
	var at atomic.Int64 // the check that runs
	shown := startProgress(errs, func() string {
		i := at.Load()
		return fmt.Sprintf("%s: %d of %d", checks[i].Name, i+1, len(checks))
	})
	defer shown.end()
	table, late := text, &bytes.Buffer{}
	if shown != nil {
		table = late
	}
	start := time.Now()
	err := r.writeStart(table, checks)
	if err != nil {
		err = fmt.Errorf("report: %w", err)
	}
	var gone error // why no more checks are run
	for i, check := range checks {
		if err != nil {
			break
		}
		at.Store(int64(i))
		result := checkResult{Check: check.Name, Property: check.Property, Rule: check.Rule, Result: notRun}
		if gone != nil {
			result.Reason = gone.Error()
		} else if gone = runOne(ctx, on, check, &result); ctx.Err() != nil {
			err = ctx.Err() // whatever it says, it did not come to its end
			break
		}
		r.add(result)
		if err = r.writeRow(table, &result); err != nil {
			err = fmt.Errorf("report: %w", err)
		}
	}
	r.Took = microsOf(time.Since(start))
	shown.end()
	if _, lateErr := late.WriteTo(text); lateErr != nil && err == nil {
		err = fmt.Errorf("report: %w", lateErr)
	}
	return err
}

// runOne runs a check and cleans up behind it. Its error says why no other can be
// run.
func runOne(ctx context.Context, on subject, check conformance.Check, result *checkResult) error {
	start := time.Now()
	err := check.Verify(func(clk clock.Clock) store.Store {
		if ctx.Err() != nil {
			runtime.Goexit() // ends the check, and also a search for a shorter failure
		}
		s, err := on.open(clk)
		if err != nil {
			panic(err) // a failure of the check
		}
		return s
	})
	result.Took = microsOf(time.Since(start))
	result.set(err)
	return on.tidy(result.Result == failed)
}
