package main

import (
	"fmt"
	"io"
	"strings"
)

// apart refuses two outputs in one place. They are pairs of a flag and a name.
func apart(outputs ...[2]string) error {
	for i, a := range outputs {
		for _, b := range outputs[:i] {
			if a[1] != "" && samePlace(a[1], b[1]) {
				return usageError{fmt.Errorf("%s and %s are both %q: must be two places", b[0], a[0], a[1])}
			}
		}
	}
	return nil
}

// writeHTML writes a report with pictures where that was asked for.
func writeHTML(html *output, write func(w io.Writer) error) error {
	if !html.wanted() {
		return nil
	}
	err := write(html)
	if err == nil {
		err = html.Close()
	}
	if err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	return nil
}

// again is the command line that decides the trace again, without its outputs and without
// the user and the password of a server.
func (f *traceFlags) again(command string, limits []string, in *input) string {
	words := []string{"weir", command}
	flag := func(name, value, left string) {
		if value != left {
			words = append(words, name, value)
		}
	}
	for _, limit := range limits {
		flag("--limit", limit, "")
	}
	flag("--store", in.place.shown, memoryURL)
	if f.Prefix != nil {
		flag("--prefix", *f.Prefix, "")
	}
	flag("--format", f.Format, "auto")
	flag("--log-format", f.LogFormat, "")
	flag("--envelope", f.Envelope, "auto")
	flag("--key", f.Key, "")
	flag("--time-column", f.TimeColumn, "")
	flag("--time-unit", f.TimeUnit, "")
	flag("--cost-column", f.CostColumn, "")
	if f.Sort {
		words = append(words, "--sort")
	}
	if strings.HasPrefix(f.Trace, "-") && f.Trace != "-" {
		words = append(words, "--")
	}
	words = append(words, f.Trace)
	for i := range words {
		words[i] = shellWord(words[i])
	}
	return strings.Join(words, " ")
}
