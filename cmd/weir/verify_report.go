package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/conformance"
)

// What has become of a check.
const (
	passed  = "passed"
	failed  = "failed"
	skipped = "skipped"
	notRun  = "not run" // since the server was gone
)

// micros is a duration in whole µs.
type micros int64

func microsOf(d time.Duration) micros { return micros(d / time.Microsecond) }

func (m micros) duration() time.Duration { return time.Duration(m) * time.Microsecond }

// about says what was verified and how.
type about struct {
	Store    string   `json:"store"`            // the URL without user and password
	Server   string   `json:"server,omitempty"` // "redis 7.0.15"; "" where it is not told
	Prefix   string   `json:"prefix,omitempty"`
	Clock    string   `json:"clock"` // "injected" or "server"
	Depth    int      `json:"depth"`
	Seed     uint64   `json:"seed"`
	Warnings []string `json:"warnings"`
}

// checkResult is a line of the report.
type checkResult struct {
	Check    string `json:"check"`
	Property string `json:"property"`
	Rule     string `json:"rule"`
	Result   string `json:"result"`
	Reason   string `json:"reason,omitempty"`  // of what was skipped or not run
	Failure  string `json:"failure,omitempty"` // all that the check says
	Took     micros `json:"duration_us"`
}

// verifyReport is what came of all checks.
type verifyReport struct {
	about
	Passed  int           `json:"passed"`
	Failed  int           `json:"failed"`
	Skipped int           `json:"skipped"`
	NotRun  int           `json:"not_run"`
	Took    micros        `json:"duration_us"`
	Results []checkResult `json:"checks"`

	nameWidth, propertyWidth int
}

// set takes over what Verify has returned.
func (c *checkResult) set(err error) {
	switch {
	case err == nil:
		c.Result = passed
	case errors.Is(err, conformance.ErrSkipped):
		c.Result = skipped
		c.Reason = inOwnWords(strings.TrimPrefix(err.Error(), conformance.ErrSkipped.Error()+": "))
	default:
		c.Result = failed
		c.Failure = repeatable.ReplaceAllString(err.Error(), "To reproduce: weir verify --run '^$1$$' --seed $2")
	}
}

// inOwnWords tells why a check is skipped to somebody who has no conformance.Config:
// the command sets all that there is for a store.
func inOwnWords(reason string) string {
	reason = ofConfig.ReplaceAllString(reason, "")
	if own, found := ownWords[reason]; found {
		return own
	}
	return reason
}

var (
	ofConfig = regexp.MustCompile(` \(Config\.[^()]*\)`)
	ownWords = map[string]string{
		"needs Config.Seen, which is not set":                         "not possible in memory, where nothing stands around the store",
		"needs Config.Sweep, which is not set":                        "not possible on a server, which drops states by its own time",
		"needs Config.Inspect, which is not set":                      "not possible in memory, where what is stored cannot be looked at",
		"needs Config.Corrupt, which is not set":                      "not possible in memory, where what is stored cannot be damaged",
		"needs TTLs, which Config.Inspect does not show (UnknownTTL)": "needs life times, which the user may not see (PTTL)",
	}
)

// repeatable is how a random check says to go test which seed has failed.
var repeatable = regexp.MustCompile(`To (?:try to )?reproduce, specify -run="([^"]*)" -rapid\.seed=(\d+)`)

func (r *verifyReport) add(c checkResult) {
	switch c.Result {
	case passed:
		r.Passed++
	case failed:
		r.Failed++
	case skipped:
		r.Skipped++
	case notRun:
		r.NotRun++
	}
	r.Results = append(r.Results, c)
}

// verdict is the error that the command ends with.
func (r *verifyReport) verdict() error {
	switch {
	case r.NotRun > 0:
		why := r.Results[len(r.Results)-1].Reason
		err := fmt.Errorf("%s: %d of %d checks failed, %d not run: %s", r.Store, r.Failed, len(r.Results), r.NotRun, why)
		if r.Failed > 0 {
			return answerError{err}
		}
		return err
	case r.Failed > 0:
		return answerError{fmt.Errorf("%s: %d of %d checks failed", r.Store, r.Failed, len(r.Results))}
	}
	return nil
}

// writeStart writes what is verified and the head of the table.
func (r *verifyReport) writeStart(w io.Writer, checks []conformance.Check) error {
	r.nameWidth, r.propertyWidth = len("check"), len("property")
	for _, c := range checks {
		r.nameWidth, r.propertyWidth = max(r.nameWidth, len(c.Name)), max(r.propertyWidth, len(c.Property))
	}
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-9s "+format+"\n", append([]any{name}, args...)...)
	}
	line("store", "%s", r.Store)
	if r.Server != "" {
		line("server", "%s", r.Server)
	}
	if r.Prefix != "" {
		line("keys", "begin with %s and are removed", r.Prefix)
	}
	line("clock", "%s", map[string]string{injectedClock: "moved by the checks", serverClock: "that of the server"}[r.Clock])
	line("depth", "%d, seed %d", r.Depth, r.Seed)
	for _, warning := range r.Warnings {
		line("warning", "%s", warning)
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, report.Visible(b.String()))
	if err != nil {
		return err
	}
	return r.writeCells(w, "check", "property", "result", "time", "")
}

func (r *verifyReport) writeRow(w io.Writer, c *checkResult) error {
	took := "-"
	if c.Result == passed || c.Result == failed {
		took = c.Took.duration().Round(time.Millisecond).String()
	}
	reason := c.Reason
	if c.Result == notRun {
		reason = "" // the command ends with it
	}
	return r.writeCells(w, c.Check, c.Property, c.Result, took, report.Visible(reason))
}

func (r *verifyReport) writeCells(w io.Writer, name, property, result, took, reason string) error {
	row := fmt.Sprintf("%-*s  %-*s  %-7s  %8s  %s", r.nameWidth, name, r.propertyWidth, property, result, took, reason)
	_, err := fmt.Fprintln(w, strings.TrimRight(row, " "))
	return err
}

// writeEnd writes all that the failed checks say, and the sums.
func (r *verifyReport) writeEnd(w io.Writer) error {
	var b strings.Builder
	for _, c := range r.Results {
		if c.Result == failed {
			fmt.Fprintf(&b, "\n%s\n", report.Visible(c.Failure))
		}
	}
	fmt.Fprintf(&b, "\n%d passed, %d failed, %d skipped", r.Passed, r.Failed, r.Skipped)
	if r.NotRun > 0 {
		fmt.Fprintf(&b, ", %d not run", r.NotRun)
	}
	fmt.Fprintf(&b, ", in %s\n", r.Took.duration().Round(time.Millisecond))
	_, err := io.WriteString(w, b.String())
	return err
}

// writeList writes the checks and their rules, in the order in which they are run.
func writeList(w io.Writer, wanted map[string]bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "check\tproperty\twhat must hold") // an error shows at Flush
	for _, c := range conformance.Checks() {
		if wanted[c.Name] {
			fmt.Fprintf(t, "%s\t%s\t%s\n", c.Name, c.Property, c.Rule)
		}
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
