package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/cmd/weir/internal/suggest"
	"github.com/weirgo/weir/cmd/weir/internal/trace"
)

// suggestions are the answer of weir suggest.
type suggestions struct {
	Trace    string       `json:"trace"`
	Key      string       `json:"key"`
	Requests int64        `json:"requests"`
	Clients  int          `json:"clients"`
	Span     micros       `json:"span_us"`
	BadLines int64        `json:"bad_lines"`
	Target   []string     `json:"target"`
	Peaks    []peakOf     `json:"peaks"`
	Limits   []suggestion `json:"limits"`
	Protect  string       `json:"protect,omitempty"` // the limit for all together
	Warnings []string     `json:"warnings"`
}

// peakOf is what clients asked for at most in any window of a length.
type peakOf struct {
	Window micros `json:"window_us"`
	suggest.Peak
}

func (a *suggestions) addPeaks(t *suggest.Traffic) {
	for _, window := range []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour} {
		if window > time.Second && window > t.Span() {
			return
		}
		a.Peaks = append(a.Peaks, peakOf{microsOf(window), suggest.PeakOf(t.Peaks(window))})
	}
}

// describe says where the traffic came from, and what it cannot tell.
func (a *suggestions) describe(c *suggestCommand, in *input) {
	a.Trace, a.Key = in.files.shown(), in.keyName()
	a.BadLines, _ = in.reader.Bad()
	if c.MaxClientsHit != "" {
		a.Target = append(a.Target, "at most "+c.MaxClientsHit+" of the clients are denied at least once")
	}
	if c.MaxRequestsDenied != "" {
		a.Target = append(a.Target, "at most "+c.MaxRequestsDenied+" of the requests are denied")
	}
	a.Warnings = append(a.Warnings, in.reader.Warnings()...)
	for _, l := range a.Limits {
		if periods := int64(a.Span) / max(int64(l.Period), 1); l.Found && periods < fewPeriods {
			a.Warnings = append(a.Warnings, fmt.Sprintf("the trace covers %s of %s: too few to tell much", report.Count(periods, "period"), l.Limit))
		}
	}
}

// err is the answer no, where a limit was not found.
func (a *suggestions) err() error {
	for _, l := range a.Limits {
		if !l.Found {
			return answerError{fmt.Errorf("%s: no number meets the target", l.Form)}
		}
	}
	return nil
}

// writeText writes the answer for people.
func (a *suggestions) writeText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s of %s in %s, by %s.\n", a.Trace, report.Count(a.Requests, "request"), report.Count(int64(a.Clients), "client"),
		report.Duration(int64(a.Span)), report.Quoted(a.Key))
	if a.BadLines > 0 {
		fmt.Fprintf(&b, "%s could not be used: weir replay shows them.\n", report.Count(a.BadLines, "line"))
	}
	for _, warning := range a.Warnings {
		fmt.Fprintf(&b, "Warning: %s.\n", report.Visible(warning))
	}
	b.WriteString("\nThe most that a client asked for in any window\n")
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "window\thalf of them\t90 %\t99 %\tthe most\t")
	for _, p := range a.Peaks {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t\n", report.Duration(int64(p.Window)), p.Half, p.Ninety, p.NinetyNine, p.Most)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\nThe smallest limits with which %s\n", strings.Join(a.Target, " and "))
	t = tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "limit\tclients hit\trequests denied\twith one less\tone key gets at most\tof 80 % of the time, then in the rest")
	for _, l := range a.Limits {
		if !l.Found {
			fmt.Fprintf(t, "%s\tno number meets the target\t\t\t\t\n", l.Form)
			continue
		}
		less, held := "–", "–"
		if l.OneLess != nil {
			less = report.Count(int64(l.OneLess.ClientsHit), "client") + ", " + report.Count(l.OneLess.RequestsDenied, "request")
		}
		if l.Later != nil {
			held = fmt.Sprintf("%s: %s of clients, %s of requests", l.Early,
				report.Percent(int64(l.Later.ClientsHit), int64(l.Later.Clients)), report.Percent(l.Later.RequestsDenied, l.Later.Requests))
		}
		fmt.Fprintf(t, "%s\t%d (%s)\t%d (%s)\t%s\t%d in %s\t%s\n", l.Limit,
			l.ClientsHit, report.Percent(int64(l.ClientsHit), int64(a.Clients)),
			l.RequestsDenied, report.Percent(l.RequestsDenied, a.Requests), less, l.Most, report.Duration(int64(l.Period)), held)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := a.writeProtected(&b); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var attributeName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// writePolicy writes the first limit that was found as a policy that denies nobody yet.
func (a *suggestions) writePolicy(w io.Writer) error {
	attribute, declared := a.Key, "{}"
	switch {
	case a.Key == trace.KeyHost:
		attribute, declared = "ip", "{type: address, ipv6_prefix: 128}" // an address as the log has it
	case !attributeName.MatchString(a.Key):
		attribute = "client"
	}
	for _, l := range a.Limits {
		if !l.Found {
			continue
		}
		_, err := fmt.Fprintf(w, `# Found by weir suggest: with this limit %s.
# Nobody is denied until mode: shadow is taken out.
version: 1
attributes:
  %s: %s
rules:
  - id: suggested
    key: [%s]
    limit: %q
    mode: shadow
%s`, strings.Join(a.Target, " and "), attribute, declared, attribute, l.Limit, a.totalRule())
		return err
	}
	_, err := fmt.Fprint(w, "# weir suggest has found no limit that meets the target.\nversion: 1\n")
	return err
}
