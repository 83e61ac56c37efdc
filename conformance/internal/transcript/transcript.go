// Package transcript records what was asked and answered, and shows it in fixed
// columns. A failure of the suite ends with a transcript.
package transcript

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// keep is how many of the last events are shown.
const keep = 40

// Log is a transcript: ops with their answers, and notes. The zero Log is empty.
type Log struct {
	events  []event
	dropped int // how many events are no longer held
}

// event is an op with its answer, or a note.
type event struct {
	at    algorithm.Instant
	timed bool // false before the first answer of a store with its own clock
	verb  string
	op    store.Op
	note  string
}

// Call adds the ops of one call and their answers. at is the instant of the call;
// timed reports whether it is known.
func (l *Log) Call(at algorithm.Instant, timed bool, verb string, ops []store.Op) {
	for i, op := range ops {
		l.add(event{at: at, timed: timed, verb: verb, op: op})
		if i == 0 {
			verb = strings.Repeat(" ", len(verb)-1) + "+" // the same call
		}
	}
}

// Note adds a line of text.
func (l *Log) Note(at algorithm.Instant, timed bool, format string, args ...any) {
	l.add(event{at: at, timed: timed, note: fmt.Sprintf(format, args...)})
}

func (l *Log) add(e event) {
	if len(l.events) == 10*keep {
		n := copy(l.events, l.events[len(l.events)-keep:])
		l.dropped += len(l.events) - n
		l.events = l.events[:n]
	}
	l.events = append(l.events, e)
}

// Reset makes the log empty.
func (l *Log) Reset() { *l = Log{} }

// String returns the last events, below a line that says from which instant their
// clock counts.
func (l *Log) String() string {
	shown := l.events[max(0, len(l.events)-keep):]
	var b strings.Builder
	b.WriteString("  transcript")
	var from algorithm.Instant
	if i := slices.IndexFunc(shown, func(e event) bool { return e.timed }); i >= 0 {
		from = shown[i].at
		fmt.Fprintf(&b, ", by the clock from %v µs on", from)
	}
	b.WriteByte(':')
	if n := l.dropped + len(l.events) - len(shown); n > 0 {
		fmt.Fprintf(&b, " (%d earlier lines left out)", n)
	}
	write(&b, shown, from)
	return strings.TrimRight(b.String(), "\n")
}

// clock is when an event happened, counted from an instant.
func (e *event) clock(from algorithm.Instant) string {
	switch d := time.Duration(e.at-from) * time.Microsecond; {
	case !e.timed:
		return "-"
	case d < 0:
		return d.String()
	default:
		return "+" + d.String()
	}
}

// write writes the ops in columns of one width and the notes between them.
func write(to *strings.Builder, events []event, from algorithm.Instant) {
	width := len("clock")
	for i := range events {
		width = max(width, utf8.RuneCountInString(events[i].clock(from)))
	}
	rows := [][]any{{fmt.Sprintf("%-*s", width, "clock"), "call", "slot", "cost", "answer", "left", "retry after", "fresh after", "delay"}}
	for i := range events {
		e := &events[i]
		if e.verb == "" {
			continue
		}
		o := e.op.Outcome
		answer, retry := "allowed", "-"
		if !o.Allowed {
			answer, retry = "denied", Wait(o.RetryAfter)
		}
		rows = append(rows, []any{
			fmt.Sprintf("%-*s", width, e.clock(from)), e.verb, Slot(e.op.Slot), Cost(e.op.Request), answer,
			fmt.Sprintf("%d of %d", o.Remaining-o.Debt, o.Limit), retry, o.ResetAfter, o.Delay,
		})
	}
	lines := Table(rows)
	if len(lines) > 1 {
		to.WriteString("\n    " + lines[0])
	}
	for i := range events {
		e := &events[i]
		if e.verb == "" {
			fmt.Fprintf(to, "\n    %-*s  %s", width, e.clock(from), strings.ReplaceAll(e.note, "\n", "\n      "))
			continue
		}
		lines = lines[1:]
		to.WriteString("\n    " + lines[0])
	}
}

// Table returns the lines of a table whose columns are two spaces apart.
func Table(rows [][]any) []string {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				fmt.Fprint(t, "\t")
			}
			fmt.Fprint(t, cell)
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush() // to memory
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// Wait shows a wait, which may be Never.
func Wait(d time.Duration) string {
	if d == algorithm.Never {
		return "never"
	}
	return d.String()
}

// Cost shows a request.
func Cost(r algorithm.Request) string {
	switch {
	case r.Verb == algorithm.Refund:
		return fmt.Sprintf("refund %d of %v", r.Cost, r.At)
	case r.Verb != algorithm.Take:
		return fmt.Sprintf("%v %d", r.Verb, r.Cost)
	case r.MaxDelay != 0:
		return fmt.Sprintf("%d<=%v", r.Cost, r.MaxDelay)
	}
	return fmt.Sprint(r.Cost)
}

// Slot shows a slot, or the algorithm of a slot that has no key. Keys and limit names
// are made by the suite, so they may be shown; long ones are cut off.
func Slot(s store.Slot) string {
	if s.Key == "" {
		return fmt.Sprint(s.Algorithm)
	}
	return fmt.Sprintf("%s/%s %v", quoted(s.Key), quoted(s.Limit), s.Algorithm)
}

func quoted(text string) string {
	const most = 40
	if len(text) > most {
		text = fmt.Sprintf("%s…(%d bytes)", text[:most], len(text))
	}
	return fmt.Sprintf("%q", text)
}

// Outcome shows an answer in words.
func Outcome(o algorithm.Outcome) string {
	if o.Allowed {
		return fmt.Sprintf("allowed, %d of %d remain, fresh after %v, delay %v", o.Remaining-o.Debt, o.Limit, o.ResetAfter, o.Delay)
	}
	retry := Wait(o.RetryAfter)
	if o.RetryAfter != algorithm.Never {
		retry = "after " + retry
	}
	return fmt.Sprintf("denied, %d of %d remain, retry %s, fresh after %v", o.Remaining-o.Debt, o.Limit, retry, o.ResetAfter)
}

// Difference names the fields in which an outcome is not as it must be.
func Difference(got, want algorithm.Outcome) string {
	var fields []string
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range g.NumField() {
		if a, b := g.Field(i).Interface(), w.Field(i).Interface(); a != b {
			if d, is := a.(time.Duration); is {
				a, b = Wait(d), Wait(b.(time.Duration))
			}
			fields = append(fields, fmt.Sprintf("%s is %v, not %v", g.Type().Field(i).Name, a, b))
		}
	}
	return strings.Join(fields, ", ")
}
