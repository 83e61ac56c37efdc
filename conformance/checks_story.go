package conformance

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// checkEvent is something that happened in a story: an op and its answer, or a
// note.
type checkEvent struct {
	at     algorithm.Instant
	before bool // the first answer of a store with a clock of its own: there is no instant
	verb   string
	op     store.Op
	note   string
}

// clockText is when it happened, counted from an instant.
func (e checkEvent) clockText(from algorithm.Instant) string {
	if e.before {
		return "-"
	}
	d := time.Duration(e.at-from) * time.Microsecond
	if d < 0 {
		return d.String()
	}
	return "+" + d.String()
}

// fault is what a check has found to be wrong.
type fault struct{ what, got, want string }

func (f fault) Error() string { return fmt.Sprintf("%s: got %s, want %s", f.what, f.got, f.want) }

// keepEvents is how many of the last events a story tells.
const keepEvents = 40

// tell adds a call and its answers to the story.
func (w *checkWorld) tell(verb string, ops []store.Op, err error) {
	if err != nil {
		w.note("%s of %d ops: error %v", verb, len(ops), err)
		return
	}
	for i, op := range ops {
		w.add(checkEvent{verb: verb, op: op})
		if i == 0 {
			verb = strings.Repeat(" ", len(verb)-1) + "+" // the same call
		}
	}
}

// note adds a line to the story.
func (w *checkWorld) note(format string, args ...any) {
	w.add(checkEvent{note: fmt.Sprintf(format, args...)})
}

func (w *checkWorld) add(e checkEvent) {
	e.at = w.now()
	e.before = w.config().OwnClock && e.at == 0
	if len(w.story) == 10*keepEvents {
		n := copy(w.story, w.story[len(w.story)-keepEvents:])
		w.untold += len(w.story) - n
		w.story = w.story[:n]
	}
	w.story = append(w.story, e)
}

// failf ends the check with what has broken its rule and the end of the story.
func (w *checkWorld) failf(format string, args ...any) {
	w.Helper()
	w.end(fmt.Sprintf(format, args...))
}

// wrong is failf for what can be said as what came and what had to.
func (w *checkWorld) wrong(got, want any, format string, args ...any) {
	w.Helper()
	w.fail(fault{fmt.Sprintf(format, args...), fmt.Sprint(got), fmt.Sprint(want)})
}

// fail is wrong for what was found elsewhere, such as by a concurrent caller.
func (w *checkWorld) fail(err error) {
	w.Helper()
	f, is := err.(fault)
	if !is {
		f = fault{"a call failed, and must not", err.Error(), "no error"}
	}
	indent := func(s string) string { return strings.ReplaceAll(s, "\n", "\n             ") }
	w.end(fmt.Sprintf("%s\n  got:       %s\n  want:      %s", f.what, indent(f.got), indent(f.want)))
}

func (w *checkWorld) end(broken string) {
	w.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n  rule:      %s\n  check:     %s\n  broken by: %s\n  story",
		w.check.Name, w.check.Property, w.check.Rule, w.here(), broken)
	told := w.story[max(0, len(w.story)-keepEvents):]
	i := slices.IndexFunc(told, func(e checkEvent) bool { return !e.before })
	var from algorithm.Instant
	if i >= 0 {
		from = told[i].at
		fmt.Fprintf(&b, ", by the clock from %v µs on", from)
	}
	b.WriteByte(':')
	if n := w.untold + len(w.story) - len(told); n > 0 {
		fmt.Fprintf(&b, " (%d earlier lines left out)", n)
	}
	writeStory(&b, told, from)
	w.Fatal(strings.TrimRight(b.String(), "\n"))
}

// here is the file and line of the check that has failed: where its own code
// last called what checks share.
func (w *checkWorld) here() string {
	if w.where != "" {
		return w.where
	}
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	for {
		f, more := frames.Next()
		switch name := filepath.Base(filepath.ToSlash(f.File)); name {
		case "checks_story.go", "checks_world.go", "checks_call.go", "checks_crowd.go":
		default:
			return fmt.Sprintf("%s:%d", path.Join("conformance", name), f.Line)
		}
		if !more {
			return "unknown"
		}
	}
}

// writeStory writes events in fixed columns, each below the other, with the time
// that has passed from an instant on.
func writeStory(to *strings.Builder, events []checkEvent, from algorithm.Instant) {
	width := len("clock")
	for _, e := range events {
		width = max(width, utf8.RuneCountInString(e.clockText(from)))
	}
	var columns bytes.Buffer
	t := tabwriter.NewWriter(&columns, 0, 0, 2, ' ', 0)
	rows := 0
	for _, e := range events {
		if e.verb == "" {
			continue
		}
		if rows++; rows == 1 {
			fmt.Fprintln(t, "clock\tcall\tslot\tcost\tanswer\tleft\tretry after\tfresh after\tdelay")
		}
		cost := fmt.Sprint(e.op.Request.Cost)
		if e.op.Request.MaxDelay != 0 {
			cost += fmt.Sprintf("<=%v", e.op.Request.MaxDelay)
		}
		o := e.op.Outcome
		answer, retry := "allowed", "-"
		if !o.Allowed {
			answer, retry = "denied", waitText(o.RetryAfter)
		}
		fmt.Fprintf(t, "%-*s\t%s\t%s\t%s\t%s\t%d of %d\t%s\t%v\t%v\n", width, e.clockText(from), e.verb, checkSlotText(e.op.Slot), cost,
			answer, o.Remaining, o.Limit, retry, o.ResetAfter, o.Delay)
	}
	_ = t.Flush() // to memory
	lines := strings.Split(columns.String(), "\n")
	if rows > 0 {
		to.WriteString("\n    " + lines[0])
		lines = lines[1:]
	}
	for _, e := range events {
		if e.verb == "" {
			fmt.Fprintf(to, "\n    %-*s  %s", width, e.clockText(from), strings.ReplaceAll(e.note, "\n", "\n      "))
			continue
		}
		to.WriteString("\n    " + strings.TrimRight(lines[0], " "))
		lines = lines[1:]
	}
}

func waitText(d time.Duration) string {
	if d == algorithm.Never {
		return "never"
	}
	return d.String()
}

// checkSlotText shows a slot; keys are made by the suite, so it may show them,
// but some are very long.
func checkSlotText(s store.Slot) string {
	const most = 40
	key := s.Key
	if len(key) > most {
		key = fmt.Sprintf("%s…(%d bytes)", key[:most], len(key))
	}
	return fmt.Sprintf("%q/%q %v", key, s.Limit, s.Algorithm)
}

// differing names the fields in which an outcome is not as it must be.
func differing(got, want algorithm.Outcome) string {
	var fields []string
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range g.NumField() {
		if a, b := g.Field(i).Interface(), w.Field(i).Interface(); a != b {
			if d, is := a.(time.Duration); is {
				a, b = waitText(d), waitText(b.(time.Duration))
			}
			fields = append(fields, fmt.Sprintf("%s is %v, not %v", g.Type().Field(i).Name, a, b))
		}
	}
	return strings.Join(fields, ", ")
}

func checkOutcomeText(o algorithm.Outcome) string {
	if o.Allowed {
		return fmt.Sprintf("allowed, %d of %d remain, fresh after %v, delay %v", o.Remaining, o.Limit, o.ResetAfter, o.Delay)
	}
	retry := waitText(o.RetryAfter)
	if o.RetryAfter != algorithm.Never {
		retry = "after " + retry
	}
	return fmt.Sprintf("denied, %d of %d remain, retry %s, fresh after %v", o.Remaining, o.Limit, retry, o.ResetAfter)
}
