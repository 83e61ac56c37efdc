package conformance

import (
	"embed"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// Timelines are stories in text whose numbers were worked out by hand, from
// what the algorithms mean. testdata/README.md says how to read and write them.
//
//go:embed testdata/*.txt
var timelineFiles embed.FS

// timelineChecks makes one check of each file, which is read once.
var timelineChecks = sync.OnceValue(readTimelines)

func readTimelines() []Check {
	const folder = "testdata"
	files, err := timelineFiles.ReadDir(folder)
	if err != nil {
		panic(err) // the files are part of the program, and a test reads them
	}
	var checks []Check
	for _, f := range files {
		name := path.Join(folder, f.Name())
		text, err := timelineFiles.ReadFile(name)
		if err != nil {
			panic(err)
		}
		t, err := parseTimeline(name, string(text))
		if err != nil {
			panic(err)
		}
		checks = append(checks, checkOf("timeline/"+strings.TrimSuffix(f.Name(), ".txt"), t.property, t.rule, t.run).needing(t.needs()))
	}
	return checks
}

type timeline struct {
	rule, property string
	calls          []timelineCall
}

// timelineCall is one call to the store.
type timelineCall struct {
	line string // file:line and the text, for the failure
	verb string // take, peek, reset or rush; or --- for a new store
	at   time.Duration
	ops  []store.Op // with the expected Outcome
	// rush: how often the op is taken, and how often it is to be admitted.
	times, admitted int
}

// needs are what the calls of t ask of a store.
func (t *timeline) needs() needs {
	n := needsClock
	for _, c := range t.calls {
		for _, op := range c.ops[min(1, len(c.ops)):] {
			if n |= needsOps; op.Key != c.ops[0].Key {
				n |= needsKeys
			}
		}
	}
	return n
}

// run plays the calls of t. The answers must be those of the text; that they
// are those of the model too is checked with every call.
func (t *timeline) run(w *checkWorld) {
	w.Helper()
	for _, c := range t.calls {
		w.where, _, _ = strings.Cut(c.line, ": ")
		w.where = path.Join("conformance", w.where)
		if c.verb == "---" {
			w.startAt(checkStart)
			continue
		}
		w.setClock(checkStart + algorithm.Instant(c.at/time.Microsecond))
		w.note("%s", c.line)
		ops := make([]store.Op, len(c.ops))
		for i, op := range c.ops {
			ops[i] = store.Op{Slot: op.Slot, Request: op.Request}
		}
		switch c.verb {
		case "take":
			w.apply(ops...)
		case "peek":
			w.peek(ops...)
		case "reset":
			w.reset(ops[0].Slot)
			continue
		case "rush":
			admitted := 0
			for range c.times {
				if w.apply(ops...) {
					admitted++
				}
			}
			if admitted != c.admitted {
				w.wrong(admitted, c.admitted, "%s\n  is not what was admitted", c.line)
			}
			continue
		}
		for i := range ops {
			if ops[i].Outcome != c.ops[i].Outcome {
				w.wrong(checkOutcomeText(ops[i].Outcome), checkOutcomeText(c.ops[i].Outcome), "%s, op %d", c.line, i)
			}
		}
	}
}

// timelineReader parses one file.
type timelineReader struct {
	timeline
	limits map[string]algorithm.Algorithm
}

func parseTimeline(name, text string) (*timeline, error) {
	r := timelineReader{limits: map[string]algorithm.Algorithm{}}
	for i, line := range strings.Split(text, "\n") {
		code, _, _ := strings.Cut(line, "#")
		fields := strings.Fields(code)
		if len(fields) == 0 {
			continue
		}
		where := fmt.Sprintf("%s:%d: %s", name, i+1, strings.Join(fields, " "))
		if err := r.read(fields, code, where); err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
	}
	if r.rule == "" || r.property == "" || len(r.calls) == 0 {
		return nil, fmt.Errorf("%s: needs a rule, a property and at least one call", name)
	}
	return &r.timeline, nil
}

func (r *timelineReader) read(fields []string, code, where string) error {
	switch fields[0] {
	case "rule":
		r.rule = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(code), "rule"))
		return nil
	case "property":
		r.property = strings.Join(fields[1:], " ")
		return nil
	case "limit":
		if len(fields) != 3 {
			return fmt.Errorf("want: limit NAME SPEC")
		}
		a, err := algorithm.ParseSpec(fields[2])
		r.limits[fields[1]] = a
		return err
	case "---":
		r.calls = append(r.calls, timelineCall{line: where, verb: fields[0]})
		return nil
	case "+":
		if len(r.calls) == 0 || len(fields) < 2 {
			return fmt.Errorf("no call to continue")
		}
		last := &r.calls[len(r.calls)-1]
		if last.verb != "take" && last.verb != "peek" && last.verb != "rush" {
			return fmt.Errorf("only take, peek and rush have several ops")
		}
		last.line += "\n" + where
		return r.readOp(last, fields[1:])
	}
	if len(fields) < 3 {
		return fmt.Errorf("want: TIME take|peek|reset|rush KEY/LIMIT …")
	}
	c := timelineCall{line: where, verb: fields[1]}
	var err error
	if c.at, err = parseTimelineSpan(fields[0]); err != nil {
		return err
	}
	if err := r.readOp(&c, fields[2:]); err != nil {
		return err
	}
	r.calls = append(r.calls, c)
	return nil
}

// readOp reads KEY/LIMIT and what the verb wants after it.
func (r *timelineReader) readOp(c *timelineCall, fields []string) (err error) {
	var op store.Op
	key, limit, found := strings.Cut(fields[0], "/")
	if op.Algorithm = r.limits[limit]; !found || op.Algorithm == nil {
		return fmt.Errorf("%q is not KEY/LIMIT with a limit that was named before", fields[0])
	}
	op.Key, op.Limit = key, limit
	switch c.verb {
	case "take", "peek":
		if len(fields) != 6 && len(fields) != 7 {
			return fmt.Errorf("want: KEY/LIMIT COST allow|deny LEFT RETRY RESET [DELAY]")
		}
		if op.Request, err = parseTimelineRequest(fields[1]); err == nil {
			op.Outcome, err = parseTimelineOutcome(fields[2:])
		}
		op.Outcome.Limit = checkCapacity(op.Algorithm)
	case "rush":
		first := len(c.ops) == 0
		if first && (len(fields) != 6 || fields[2] != "times" || fields[4] != "admits") {
			return fmt.Errorf("want: KEY/LIMIT COST times N admits N")
		}
		if !first && len(fields) != 2 {
			return fmt.Errorf("want: KEY/LIMIT COST")
		}
		if op.Request, err = parseTimelineRequest(fields[1]); err == nil && first {
			if c.times, err = strconv.Atoi(fields[3]); err == nil {
				c.admitted, err = strconv.Atoi(fields[5])
			}
		}
	case "reset":
		if len(fields) != 1 {
			return fmt.Errorf("want: KEY/LIMIT")
		}
	default:
		return fmt.Errorf("no such verb: %q", c.verb)
	}
	c.ops = append(c.ops, op)
	return err
}

// parseTimelineRequest reads a cost, or a cost and a bound on the delay: 1<=3s.
func parseTimelineRequest(text string) (r algorithm.Request, err error) {
	cost, bound, bounded := strings.Cut(text, "<=")
	if bounded {
		if r.MaxDelay, err = time.ParseDuration(bound); err != nil {
			return r, err
		}
	}
	r.Cost, err = strconv.ParseInt(cost, 10, 64)
	return r, err
}

func parseTimelineOutcome(fields []string) (o algorithm.Outcome, err error) {
	switch fields[0] {
	case "allow":
		o.Allowed = true
	case "deny":
	default:
		return o, fmt.Errorf("%q is neither allow nor deny", fields[0])
	}
	if o.Remaining, err = strconv.ParseInt(fields[1], 10, 64); err != nil {
		return o, err
	}
	for i, to := range []*time.Duration{&o.RetryAfter, &o.ResetAfter, &o.Delay} {
		if i+2 < len(fields) {
			if *to, err = parseTimelineSpan(fields[i+2]); err != nil {
				return o, err
			}
		}
	}
	return o, nil
}

// parseTimelineSpan reads a length of time of whole microseconds.
func parseTimelineSpan(text string) (time.Duration, error) {
	if text == "never" {
		return algorithm.Never, nil
	}
	d, err := time.ParseDuration(text)
	if err == nil && d%time.Microsecond != 0 {
		err = fmt.Errorf("%q is not whole microseconds", text)
	}
	return d, err
}

// checkCapacity is the largest cost that a fresh key admits.
func checkCapacity(a algorithm.Algorithm) int64 {
	_, look := a.Step(algorithm.State{}, checkStart, algorithm.Request{})
	return look.Limit
}
