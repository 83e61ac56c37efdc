// Package timeline reads histories in text whose numbers were worked out by hand, from
// what the algorithms mean, and plays them. timelines/README.md says how to read and
// write them.
package timeline

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance/internal/transcript"
	"github.com/weirgo/weir/conformance/internal/world"
	"github.com/weirgo/weir/store"
)

// Folder is the folder of the timelines, below package conformance.
const Folder = "timelines"

// Checks returns one check for each file of Folder in files, and one that fails for
// each family of algorithms that has no file of its name. A file that cannot be
// read panics: the files are part of the program, and a test reads them.
func Checks(files fs.FS) []world.Check {
	names, err := fs.Glob(files, Folder+"/*.txt")
	if err != nil {
		panic(err)
	}
	var checks []world.Check
	missing := map[string]bool{}
	for _, f := range algorithm.Families() {
		missing[f.Name] = true
	}
	for _, file := range names {
		text, err := fs.ReadFile(files, file)
		if err != nil {
			panic(err)
		}
		t, err := parse(file, string(text))
		if err != nil {
			panic(err)
		}
		name := strings.TrimSuffix(path.Base(file), ".txt")
		delete(missing, name)
		checks = append(checks, world.Check{Name: "timeline/" + name, Property: t.property, Rule: t.rule, Needs: t.needs(), Body: t.run})
	}
	for _, f := range algorithm.Families() {
		if missing[f.Name] {
			checks = append(checks, world.Check{
				Name: "timeline/" + f.Name, Property: "L1 L2 L6", Rule: "every family of algorithms has a timeline",
				Body: func(w *world.World) {
					w.Failf("the family %q has none: write conformance/%s/%s.txt", f.Name, Folder, f.Name)
				},
			})
		}
	}
	return checks
}

type timeline struct {
	rule, property string
	calls          []call
}

// call is one call to the store.
type call struct {
	line string // file:line and the text, for the failure
	verb string // take, charge, refund, peek, reset or repeat; or --- for a new store
	at   time.Duration
	ops  []store.Op // with the expected Outcome
	// repeat: how often the op is taken, and how often it is to be admitted.
	times, admitted int
}

// needs are what the calls of t ask of a store.
func (t *timeline) needs() world.Needs {
	n := world.NeedsClock
	for _, c := range t.calls {
		for _, op := range c.ops[min(1, len(c.ops)):] {
			if n |= world.NeedsOps; op.Key != c.ops[0].Key {
				n |= world.NeedsKeys
			}
		}
	}
	return n
}

// run plays the calls of t. The answers must be those of the text; that they
// are those of the model too is checked with every call.
func (t *timeline) run(w *world.World) {
	for _, c := range t.calls {
		w.Where, _, _ = strings.Cut(c.line, ": ")
		w.Where = path.Join("conformance", w.Where)
		if c.verb == "---" {
			w.StartAt(world.Start)
			continue
		}
		w.SetClock(world.Start + algorithm.Instant(c.at/time.Microsecond))
		w.Note("%s", c.line)
		ops := make([]store.Op, len(c.ops))
		for i, op := range c.ops {
			ops[i] = store.Op{Slot: op.Slot, Request: op.Request}
		}
		switch c.verb {
		case "take", "charge", "refund":
			w.Apply(ops...)
		case "peek":
			w.Peek(ops...)
		case "reset":
			w.Reset(ops[0].Slot)
			continue
		case "repeat":
			admitted := 0
			for range c.times {
				if w.Apply(ops...) {
					admitted++
				}
			}
			if admitted != c.admitted {
				w.Wrong(admitted, c.admitted, "%s\n  is not what was admitted", c.line)
			}
			continue
		}
		for i := range ops {
			if ops[i].Outcome != c.ops[i].Outcome {
				w.Wrong(transcript.Outcome(ops[i].Outcome), transcript.Outcome(c.ops[i].Outcome), "%s, op %d", c.line, i)
			}
		}
	}
}

// reader parses one file.
type reader struct {
	timeline
	limits map[string]algorithm.Algorithm
}

func parse(name, text string) (*timeline, error) {
	r := reader{limits: map[string]algorithm.Algorithm{}}
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

func (r *reader) read(fields []string, code, where string) error {
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
		r.calls = append(r.calls, call{line: where, verb: fields[0]})
		return nil
	case "+":
		if len(r.calls) == 0 || len(fields) < 2 {
			return fmt.Errorf("no call to continue")
		}
		last := &r.calls[len(r.calls)-1]
		if last.verb != "take" && last.verb != "peek" && last.verb != "repeat" {
			return fmt.Errorf("only take, peek and repeat have several ops")
		}
		last.line += "\n" + where
		return r.readOp(last, fields[1:])
	}
	if len(fields) < 3 {
		return fmt.Errorf("want: TIME take|charge|refund|peek|reset|repeat KEY/LIMIT …")
	}
	c := call{line: where, verb: fields[1]}
	var err error
	if c.at, err = parseDuration(fields[0]); err != nil {
		return err
	}
	if err := r.readOp(&c, fields[2:]); err != nil {
		return err
	}
	r.calls = append(r.calls, c)
	return nil
}

// readOp reads KEY/LIMIT and what the verb wants after it.
func (r *reader) readOp(c *call, fields []string) (err error) {
	var op store.Op
	key, limit, found := strings.Cut(fields[0], "/")
	if op.Algorithm = r.limits[limit]; !found || op.Algorithm == nil {
		return fmt.Errorf("%q is not KEY/LIMIT with a limit that was named before", fields[0])
	}
	op.Key, op.Limit = key, limit
	switch c.verb {
	case "take", "charge", "refund", "peek":
		if len(fields) != 6 && len(fields) != 7 {
			return fmt.Errorf("want: KEY/LIMIT COST allow|deny LEFT RETRY RESET [DELAY]")
		}
		if op.Request, err = parseRequest(c.verb, fields[1]); err == nil {
			op.Outcome, err = parseOutcome(fields[2:])
		}
		op.Outcome.Limit = world.Capacity(op.Algorithm)
	case "repeat":
		first := len(c.ops) == 0
		if first && (len(fields) != 6 || fields[2] != "times" || fields[4] != "admits") {
			return fmt.Errorf("want: KEY/LIMIT COST times N admits N")
		}
		if !first && len(fields) != 2 {
			return fmt.Errorf("want: KEY/LIMIT COST")
		}
		if op.Request, err = parseRequest(c.verb, fields[1]); err == nil && first {
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

// parseRequest reads a cost, or a cost and a bound on the delay: 1<=3s; for a refund a
// cost and the time at which it was taken: 1@3s.
func parseRequest(verb, text string) (r algorithm.Request, err error) {
	switch verb {
	case "charge":
		r.Verb = algorithm.Charge
	case "refund":
		r.Verb = algorithm.Refund
		cost, at, found := strings.Cut(text, "@")
		if !found {
			return r, fmt.Errorf("want: COST@TIME")
		}
		taken, err := parseDuration(at)
		if err != nil {
			return r, err
		}
		text, r.At = cost, world.Start+algorithm.Instant(taken/time.Microsecond)
	}
	cost, bound, bounded := strings.Cut(text, "<=")
	if bounded {
		if r.MaxDelay, err = time.ParseDuration(bound); err != nil {
			return r, err
		}
	}
	r.Cost, err = strconv.ParseInt(cost, 10, 64)
	return r, err
}

func parseOutcome(fields []string) (o algorithm.Outcome, err error) {
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
	if o.Remaining < 0 {
		o.Remaining, o.Debt = 0, -o.Remaining
	}
	for i, to := range []*time.Duration{&o.RetryAfter, &o.ResetAfter, &o.Delay} {
		if i+2 < len(fields) {
			if *to, err = parseDuration(fields[i+2]); err != nil {
				return o, err
			}
		}
	}
	return o, nil
}

// parseDuration reads a length of time of whole microseconds.
func parseDuration(text string) (time.Duration, error) {
	if text == "never" {
		return algorithm.Never, nil
	}
	d, err := time.ParseDuration(text)
	if err == nil && d%time.Microsecond != 0 {
		err = fmt.Errorf("%q is not whole microseconds", text)
	}
	return d, err
}
