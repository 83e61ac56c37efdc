package doctest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/weirgo/weir/algorithm"
)

// timelineHead heads a block marked timeline, below the text of a limit. Of each row
// the first two columns are the request, and the others what the limit answers. Times
// count from the Unix epoch. Only a queue has delays.
const timelineHead = "at\tcost\tanswer\tremaining\tretry after\treset after\t%sstate\n"

// TestTimelinesAreWhatTheAlgorithmsDo runs the blocks marked timeline.
func TestTimelinesAreWhatTheAlgorithmsDo(t *testing.T) {
	shown := map[string]bool{}
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		whole := string(text)
		for _, b := range split(whole) {
			if b.language != "timeline" {
				continue
			}
			got, kind, err := timeline(b.text)
			if err != nil {
				t.Errorf("%s:%d: %v", page, b.line, err)
				continue
			}
			shown[kind] = true
			if got != b.text && !*update {
				t.Errorf("%s:%d: got\n%s\nthe page says\n%s", page, b.line, got, b.text)
			}
			whole = strings.Replace(whole, "```timeline\n"+b.text, "```timeline\n"+got, 1)
		}
		if *update && whole != string(text) {
			if err := os.WriteFile(page, []byte(whole), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, f := range algorithm.Families() {
		if !shown[f.Kind] {
			t.Errorf("no page has a timeline of %s", f.Name)
		}
	}
}

// timeline answers the requests of a block.
func timeline(block string) (answered, kind string, err error) {
	spec, rows, _ := strings.Cut(block, "\n")
	limit, err := algorithm.ParseSpec(spec)
	if err != nil {
		return "", "", err
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	_, queue := limit.(algorithm.Queue)
	delay := ""
	if queue {
		delay = "delay\t"
	}
	fmt.Fprintf(w, timelineHead, delay)
	var state algorithm.State
	requests := 0
	for i, row := range strings.Split(strings.TrimSpace(rows), "\n") {
		if i == 0 {
			continue // the heading
		}
		words := strings.Fields(row)
		if len(words) < 2 {
			return "", "", fmt.Errorf("%q: must begin with a time and a cost", row)
		}
		at, err := time.ParseDuration(words[0])
		if err != nil {
			return "", "", err
		}
		cost, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			return "", "", err
		}
		var o algorithm.Outcome
		state, o = limit.Step(state, algorithm.Instant(at.Microseconds()), algorithm.Request{Cost: cost})
		answer := "denied"
		if o.Allowed {
			answer = "admitted"
		}
		text, err := state.AppendText(nil)
		if err != nil {
			return "", "", err
		}
		if queue {
			delay = wait(o.Delay) + "\t"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\t%s\t%s%s\n", words[0], cost, answer, o.Remaining, wait(o.RetryAfter), wait(o.ResetAfter), delay, text)
		requests++
	}
	if requests == 0 {
		return "", "", fmt.Errorf("%s: no request", spec)
	}
	if err := w.Flush(); err != nil {
		return "", "", err
	}
	text := spec + "\n"
	for line := range strings.Lines(table.String()) {
		text += strings.TrimRight(line, " \n") + "\n"
	}
	return text, limit.Spec().Kind, nil
}

// wait writes a wait.
func wait(d time.Duration) string {
	switch d {
	case 0:
		return "–"
	case algorithm.Never:
		return "never"
	}
	return d.String()
}
