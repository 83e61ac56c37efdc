package check

import "github.com/weirgo/weir/sim/result"

// Kind is the kind of an event, as a number for the digest.
type Kind uint8

// The kinds of events; see result.Event.
const (
	Asked Kind = iota + 1
	Sent
	Lost
	Repeated
	Refused
	Decided
	Fallback
	Answered
	Failed
	Unknown
	Dropped
	Forgotten
	Peeked
	Began
	Ended
	Circuit
)

var kindNames = [...]string{
	"", "asked", "sent", "lost", "repeated", "refused", "decided", "fallback", "answered",
	"failed", "unknown", "dropped", "forgotten", "peeked", "began", "ended", "breaker",
}

// String returns the name of the kind.
func (k Kind) String() string { return kindNames[k] }

// Journal keeps the last events and a digest of all.
type Journal struct {
	Trace func(*result.Event) // may be nil

	kind   Kind // of the present event
	digest uint64
	count  int64
	last   [keptEvents]result.Event
}

const keptEvents = 50

// Next begins an event, at a true time in µs. Its fields may be set until Add.
func (j *Journal) Next(kind Kind, now int64, node int32) *result.Event {
	e := &j.last[j.count%keptEvents]
	*e = result.Event{Number: j.count + 1, Micros: now, Kind: kind.String(), Node: node}
	j.kind = kind
	return e
}

// Add counts an event, whose key has a hash. That a fault begins or ends is left out of
// the digest: its effects are in other events, and a fault without an effect must not
// change the digest.
func (j *Journal) Add(e *result.Event, hash uint64) {
	j.count++
	if j.kind < Began {
		j.mix(uint64(j.kind) | uint64(uint32(e.Node))<<8 | uint64(uint32(e.Limit))<<40 | uint64(One(e.Allowed))<<63)
		j.mix(uint64(e.Micros))
		j.mix(hash ^ uint64(e.Cost))
		j.mix(uint64(e.At))
		j.mix(uint64(e.Remaining) ^ uint64(e.ResetMicros)<<20 ^ uint64(e.DelayMicros)<<40)
		j.mix(uint64(e.RetryMicros))
	}
	if j.Trace != nil {
		j.Trace(e)
	}
}

// mix adds a word to the digest. It is no cryptography: it finds runs that differ by
// mistake.
func (j *Journal) mix(word uint64) {
	h := (j.digest ^ word) * 0x9E3779B97F4A7C15
	j.digest = h ^ h>>29
}

// Digest returns the digest of all events, and their number.
func (j *Journal) Digest() (digest uint64, events int64) { return j.digest, j.count }

// lines returns the last events, the oldest first.
func (j *Journal) lines() []string {
	var all []string
	for n := max(0, j.count-keptEvents); n < j.count; n++ {
		all = append(all, j.last[n%keptEvents].String())
	}
	return all
}

// One returns 1 for true and 0 for false.
func One(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Hash is FNV-1a of 64 bits.
func Hash(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}
