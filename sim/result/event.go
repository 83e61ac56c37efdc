package result

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Event is one thing that happened in a run. Fields that its kind has no use for are 0.
type Event struct {
	Number int64 // from 1
	Micros int64 // true time, since the start
	// Kind is one of
	//   - asked: a caller makes an attempt;
	//   - sent: a node sends a call;
	//   - lost: a message is lost on its way;
	//   - repeated: a request arrives a second time;
	//   - refused: the server is down, and refuses a call;
	//   - decided: the server decides one op;
	//   - fallback: a failure mode admits or denies;
	//   - answered: a caller gets a decision;
	//   - failed: a caller gets an error, and nothing was charged;
	//   - unknown: a caller gets an error, and something may have been charged;
	//   - dropped: a client holds an attempt back;
	//   - forgotten: the server has lost the state of a slot, or a part of it;
	//   - peeked: a key is looked at after the end;
	//   - began, ended: a fault begins or ends;
	//   - breaker: the breaker of a node has opened, closed or become half-open.
	Kind    string
	Allowed bool
	Node    int32 // from 0; −1 where it is about no node
	Limit   int32 // index of the run's limit
	Key     string
	Cost    int64 // units; for a call the number of its groups
	At      int64 // instant of the decision, µs since 1970
	// Of the decision; RetryMicros is Never where no wait helps.
	Remaining   int64
	RetryMicros int64
	ResetMicros int64
	DelayMicros int64
	// Note is the fault that began or ended.
	Note string
}

// Never is the RetryMicros of a cost that is never admitted.
const Never int64 = math.MaxInt64 / 1000

// EventColumns is the heading over the lines of Event.String.
const EventColumns = "  number          time µs what      node limit         cost ok       remaining     retry µs     reset µs     delay µs at                 key"

// String returns the event in fixed columns.
func (e *Event) String() string {
	ok, at, node, retry := "", "", "-", "never"
	switch e.Kind {
	case "decided", "fallback", "answered", "peeked":
		ok = map[bool]string{true: "yes", false: "no"}[e.Allowed]
	}
	if e.At != 0 {
		at = strconv.FormatInt(e.At, 10)
	}
	if e.Node >= 0 {
		node = strconv.Itoa(int(e.Node))
	}
	if e.RetryMicros != Never {
		retry = strconv.FormatInt(e.RetryMicros, 10)
	}
	line := fmt.Sprintf("%8d %16d %-9s %4s %5d %12d %-3s %14d %12s %12d %12d %-18s %s%s",
		e.Number, e.Micros, e.Kind, node, e.Limit, e.Cost, ok, e.Remaining, retry, e.ResetMicros, e.DelayMicros, at, e.Key, e.Note)
	return strings.TrimRight(line, " ")
}
