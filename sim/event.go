package sim

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is what an Event tells.
type Kind uint8

// The kinds of events.
const (
	Asked     Kind = iota + 1 // a caller makes an attempt
	Sent                      // a node sends a call
	Vanished                  // a message is lost on its way
	Repeated                  // a request arrives a second time
	Refused                   // the server is down, and says so
	Decided                   // the server decides one op
	Stood                     // a failure mode admits or denies
	Answered                  // a caller gets a decision
	Failed                    // a caller gets an error, and nothing was charged
	Unknown                   // a caller gets an error, and something may have been charged
	Dropped                   // a client holds an attempt back
	Forgotten                 // the server has lost the state of a slot, or a part of it
	Probed                    // a key is looked at after the end
	Began                     // a fault begins
	Ended                     // a fault ends
)

var kindNames = [...]string{
	"?", "asked", "sent", "vanished", "repeated", "refused", "decided", "stood", "answered",
	"failed", "unknown", "dropped", "forgotten", "probed", "began", "ended",
}

// String returns the name of the kind.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// Event is one thing that happened in a run. Fields that its kind has no use for are 0.
type Event struct {
	Number  int64 // from 1
	Micros  int64 // true time, since the start
	Kind    Kind
	Allowed bool
	Node    int32 // from 0; −1 where it is about none
	Limit   int32 // index of the run's limit
	Key     string
	Cost    int64 // units; for a call the number of its groups
	At      int64 // instant of the decision, µs since 1970
	// Of the decision; RetryMicros is the largest number where no wait helps.
	Remaining   int64
	RetryMicros int64
	ResetMicros int64
	DelayMicros int64
	// Note is the fault that began or ended.
	Note string

	hash uint64 // of the key
}

// EventColumns is the heading over the lines of Event.String.
const EventColumns = "  number          time µs what      node limit         cost ok       remaining     retry µs     reset µs at                 key"

// String returns the event in fixed columns.
func (e *Event) String() string {
	ok, at := "", ""
	if e.Kind == Decided || e.Kind == Stood || e.Kind == Answered || e.Kind == Probed {
		ok = map[bool]string{true: "yes", false: "no"}[e.Allowed]
	}
	if e.At != 0 {
		at = strconv.FormatInt(e.At, 10)
	}
	node := "-"
	if e.Node >= 0 {
		node = strconv.Itoa(int(e.Node))
	}
	retry := strconv.FormatInt(e.RetryMicros, 10)
	if e.RetryMicros == neverMicros {
		retry = "never"
	}
	line := fmt.Sprintf("%8d %16d %-9s %4s %5d %12d %-3s %14d %12s %12d %-18s %s",
		e.Number, e.Micros, e.Kind, node, e.Limit, e.Cost, ok, e.Remaining, retry, e.ResetMicros, at, e.Key)
	if e.Note != "" {
		line += e.Note
	}
	return strings.TrimRight(line, " ")
}

// journal keeps the last events and a digest of all.
type journal struct {
	digest uint64
	count  int64
	last   [keptEvents]Event
	trace  func(*Event)
}

const keptEvents = 50

// next returns the place for the next event, which add then counts.
func (j *journal) next() *Event {
	e := &j.last[j.count%keptEvents]
	*e = Event{}
	return e
}

// add counts an event. That a fault begins or ends is left out of the digest: what comes of
// it is in other events, and a fault from which nothing comes must not change it.
func (j *journal) add(e *Event) {
	j.count++
	e.Number = j.count
	if e.Kind < Began {
		j.mix(uint64(e.Kind) | uint64(uint32(e.Node))<<8 | uint64(uint32(e.Limit))<<40 | uint64(truth(e.Allowed))<<63)
		j.mix(uint64(e.Micros))
		j.mix(e.hash ^ uint64(e.Cost))
		j.mix(uint64(e.At))
		j.mix(uint64(e.Remaining) ^ uint64(e.ResetMicros)<<20 ^ uint64(e.DelayMicros)<<40)
		j.mix(uint64(e.RetryMicros))
	}
	if j.trace != nil {
		j.trace(e)
	}
}

func truth(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// mix adds a word to the digest. It is no cryptography: it tells runs apart that differ
// by mistake.
func (j *journal) mix(word uint64) {
	h := (j.digest ^ word) * 0x9E3779B97F4A7C15
	j.digest = h ^ h>>29
}

// lines returns the last events, the oldest first.
func (j *journal) lines() []string {
	var all []string
	for n := max(0, j.count-keptEvents); n < j.count; n++ {
		all = append(all, j.last[n%keptEvents].String())
	}
	return all
}

// hashOf is FNV-1a of 64 bits.
func hashOf(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}
