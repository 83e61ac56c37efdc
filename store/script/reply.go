package script

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// errReply is a reply that no script gives.
var errReply = errors.New("script: the reply is not one of the script that was sent")

// DisagreementError says that the Lua of a kind and its Go do not decide alike. The
// server has done what the Lua said; Charged reports whether that was to charge. It
// shows no key.
type DisagreementError struct {
	Op      int    // the index of the op that shows it, or of the first
	Kind    string // of its algorithm
	Limit   string
	Cost    int64
	State   string // before the decision; of a log a summary
	Lua, Go string // the verdicts: "admitted", "denied", or "no state"
	Charged bool
}

func (e *DisagreementError) Error() string {
	return fmt.Sprintf("script: op %d: the Lua and the Go of %s disagree: limit %q, cost %d, state %q: %s by Lua, %s by Go; charged: %v",
		e.Op, e.Kind, e.Limit, e.Cost, e.State, e.Lua, e.Go, e.Charged)
}

// decode answers the groups from the reply of the script for a batch.
func (c *call) decode(reply string) {
	at, rest, err := cutInstant(reply, ';')
	if err != nil || strings.Count(rest, ";") != len(c.coalesced)-1 {
		for _, g := range c.Groups {
			g.Value.answer(0, false, g.Value.garbled())
		}
		return
	}
	for i := range c.coalesced {
		var one string
		one, rest, _ = strings.Cut(rest, ";")
		c.coalesced[i].decode(at, one)
	}
}

// single answers from the reply of the script for one op.
func (p *pending) single(reply string) {
	if reply == "" {
		p.answer(0, false, p.garbled())
		return
	}
	verdict := reply[0]
	if verdict == '!' || verdict == '?' {
		p.answer(0, false, p.refused(reply[:1]+"1 "+reply[1:]))
		return
	}
	at, state, err := cutInstant(reply[1:], ' ')
	if err != nil {
		p.answer(0, false, p.garbled())
		return
	}
	p.before = p.before[:0]
	p.read(at, verdict, state)
}

// inBatch answers from what the reply of the script for a batch has for this group.
func (p *pending) inBatch(at algorithm.Instant, reply string) {
	if reply == "" {
		p.answer(0, false, p.garbled())
		return
	}
	verdict, states := reply[0], reply[1:]
	switch verdict {
	case '!', '?':
		p.answer(0, false, p.refused(reply))
		return
	case 'x', 'X':
		var err error = &ServerError{Message: states}
		if verdict == 'x' {
			err = fmt.Errorf("%w: %w", store.ErrUnavailable, err)
		}
		p.answer(0, false, cmp.Or(p.refusal, explain(p.dispatcher.verb(), err, p.dispatcher.takes)))
		return
	}
	p.before = p.before[:0]
	p.read(at, verdict, states)
}

// read takes the states before the step, separated by commas, and lets the Go
// functions answer.
func (p *pending) read(at algorithm.Instant, verdict byte, states string) {
	if verdict != '+' && verdict != '-' {
		p.answer(0, false, p.garbled())
		return
	}
	for i := range p.ops {
		text, rest, more := strings.Cut(states, ",")
		if more != (i < len(p.ops)-1) {
			p.answer(0, false, p.garbled())
			return
		}
		state, err := p.readState(i, text)
		if err != nil {
			p.answer(0, false, p.unreadable(i, verdict, text, err))
			return
		}
		p.before, states = append(p.before, state), rest
	}
	if err := p.step(at, verdict); err != nil {
		p.answer(0, false, err)
		return
	}
	if p.refusal != nil && verdict == '+' && slices.ContainsFunc(p.ops, func(op store.Op) bool { return store.Changes(&op) }) {
		p.answer(0, false, p.refusal)
		return
	}
	p.answer(at, verdict == '+', nil)
}

// readState reads the state before an op.
func (p *pending) readState(op int, text string) (algorithm.State, error) {
	state, err := readState(p.limits[op].source, text)
	if err == nil {
		err = checkState(p.ops[op].Algorithm, state)
	}
	return state, err
}

// unreadable is the error of a group with a state that is none.
func (p *pending) unreadable(op int, verdict byte, text string, err error) error {
	if verdict == '+' { // the script took it for a state
		return p.disagreement(op, verdict, text[:min(len(text), 100)], "no state")
	}
	return corrupt(op, &p.ops[op], err)
}

// step lets the Go functions decide from the states before, which gives the states
// after, and must give the verdict.
func (p *pending) step(at algorithm.Instant, verdict byte) error {
	for len(p.after) < len(p.ops) {
		p.after = append(p.after, algorithm.State{})
	}
	committed := store.Decide(at, p.ops, p.before, p.after[:len(p.ops)])
	switch {
	case committed == (verdict == '+'):
		return nil
	case committed:
		return p.disagreement(0, verdict, p.before[0].String(), "admitted")
	}
	op := slices.IndexFunc(p.ops, func(op store.Op) bool { return !op.Outcome.Allowed })
	return p.disagreement(op, verdict, p.before[op].String(), "denied")
}

func (p *pending) disagreement(i int, verdict byte, state, byGo string) error {
	op := &p.ops[i]
	e := &DisagreementError{
		Op: i, Kind: op.Algorithm.Spec().Kind, Limit: op.Limit, Cost: op.Request.Cost, State: state, Lua: "denied", Go: byGo,
		Charged: verdict == '+' && p.dispatcher.takes && p.refusal == nil,
	}
	if verdict == '+' {
		e.Lua = "admitted"
	}
	return e
}

// refused is the error of a group that was not decided: a mark, the number of an op,
// and after a space what the server says of it.
func (p *pending) refused(reply string) error {
	number, why, _ := strings.Cut(reply[1:], " ")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(p.ops) {
		return p.garbled()
	}
	switch op := &p.ops[n-1]; reply[0] {
	case '!':
		return corrupt(n-1, op, nil)
	case '?':
		if p.limits[n-1].moves() {
			return errOutside
		}
		return fmt.Errorf("script: op %d: the Lua of %s failed; nothing was charged: limit %q, cost %d: %s",
			n-1, op.Algorithm.Spec().Kind, op.Limit, op.Request.Cost, cmp.Or(why, "no reason is given"))
	}
	return p.garbled()
}

// garbled is the error of a reply that says nothing.
func (p *pending) garbled() error {
	return cmp.Or(p.refusal, explain(p.dispatcher.verb(), errReply, p.dispatcher.takes))
}

// corrupt says that a state is not one of its kind. It shows neither the key nor
// what is stored: both may be personal data.
func corrupt(i int, op *store.Op, err error) error {
	if err != nil {
		return fmt.Errorf("%w: op %d, %s: %w", store.ErrCorrupt, i, op.Algorithm.Spec().Kind, err)
	}
	return fmt.Errorf("%w: op %d, %s", store.ErrCorrupt, i, op.Algorithm.Spec().Kind)
}

func checkState(a algorithm.Algorithm, s algorithm.State) error {
	if checker, offered := a.(algorithm.StateChecker); offered {
		return checker.CheckState(s)
	}
	return nil
}

// cutInstant reads the instant that a reply begins with: µs, or seconds and µs with
// a colon between them.
func cutInstant(reply string, end byte) (at algorithm.Instant, rest string, err error) {
	i := strings.IndexByte(reply, end)
	if i < 0 {
		return 0, "", errReply
	}
	whole, part, two := strings.Cut(reply[:i], ":")
	n, err := parseWhole(whole)
	if two && err == nil {
		var µs int64
		µs, err = parseWhole(part)
		if n > int64(algorithm.MaxInstant)/1_000_000 || µs >= 1_000_000 {
			return 0, "", errReply
		}
		n = n*1_000_000 + µs
	}
	if err != nil || n > int64(algorithm.MaxInstant) {
		return 0, "", errReply
	}
	return algorithm.Instant(n), reply[i+1:], nil
}

// parseWhole reads a number >= 0 as scripts write it.
func parseWhole(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || text[0] == '+' || text[0] == '-' || text[0] == '0' && text != "0" {
		return 0, errReply
	}
	return n, nil
}

// readState reads a state as a script shows it: its text, and for a log a summary
// that gives the same Outcome.
func readState(s *source, text string) (algorithm.State, error) {
	if !s.log {
		return algorithm.ParseState(text)
	}
	if text == "" {
		return algorithm.State{}, nil
	}
	var n [4]int64 // units, last; at, through
	i := 0
	for field := range strings.SplitSeq(text, " ") {
		v, err := parseWhole(field)
		if err != nil || i == len(n) {
			return algorithm.State{}, errReply
		}
		n[i] = v
		i++
	}
	units, last, at, through := n[0], n[1], n[2], n[3]
	if i%2 == 1 || units < 1 || through > units || at > last {
		return algorithm.State{}, errReply
	}
	var state algorithm.State
	if through > 0 {
		state = state.Log().Append(algorithm.Instant(at), through)
	}
	if units > through {
		state = state.Log().Append(algorithm.Instant(last), units-through)
	}
	return state, nil
}
