package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/cmd/weir/internal/suggest"
)

// protection reads --protect, a rate such as 500/s or 500/1s, as the limit that keeps to it in
// every window; nil where the flag is not given.
func (c *suggestCommand) protection() (algorithm.Algorithm, error) {
	if c.Protect == "" {
		return nil, nil
	}
	units, per, _ := strings.Cut(c.Protect, "/")
	if per != "" && (per[0] < '0' || per[0] > '9') {
		per = "1" + per
	}
	all, err := algorithm.ParseSpec("sliding-log:" + units + "/" + per)
	if err != nil || strings.Contains(c.Protect, ",") {
		if p := (*algorithm.ParameterError)(nil); units != "" && per != "" && errors.As(err, &p) && p.Field != "text" {
			return nil, fmt.Errorf("--protect: %q is not allowed: %s must be %s", c.Protect, p.Field, p.Allowed)
		}
		return nil, fmt.Errorf("--protect: %q is not allowed: must be units per time, such as 500/s or 30000/1m", c.Protect)
	}
	return all, nil
}

// protect says what all clients together get under each limit, and what a limit for all of them
// does beside it.
func (a *suggestions) protect(traffic *suggest.Traffic, all algorithm.Algorithm) {
	if all == nil {
		return
	}
	a.Protect = fmt.Sprint(all)
	family, _ := algorithm.FamilyOf(all.Spec().Kind)
	rate, _ := family.Parameters(all.Spec())
	for i := range a.Limits {
		if l := &a.Limits[i]; l.Found {
			l.Together = traffic.Together(l.found.Algorithm, rate.Per)
			l.Protected = effectOf(traffic, traffic.Behind(l.found.Algorithm, all))
		}
	}
}

// writeProtected is the part of the text for --protect.
func (a *suggestions) writeProtected(w io.Writer) error {
	if a.Protect == "" {
		return nil
	}
	fmt.Fprintf(w, "\nAll clients together, beside %s for all of them\n", a.Protect)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "limit\twithout it they get at most\twith it clients hit\twith it requests denied")
	for _, l := range a.Limits {
		if l.Found {
			fmt.Fprintf(t, "%s\t%s\t%d (%s)\t%d (%s)\n", l.Limit, report.Digits(l.Together), l.Protected.ClientsHit, report.Percent(int64(l.Protected.ClientsHit), int64(a.Clients)),
				l.Protected.RequestsDenied, report.Percent(l.Protected.RequestsDenied, a.Requests))
		}
	}
	return t.Flush()
}

// totalRule is the rule of the policy for all together; "" without --protect.
func (a *suggestions) totalRule() string {
	if a.Protect == "" {
		return ""
	}
	return fmt.Sprintf("  - id: total\n    limit: %q\n    mode: shadow\n", a.Protect)
}
