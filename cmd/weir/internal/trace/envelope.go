package trace

import (
	"bytes"
	"encoding/json"
	"regexp"
)

// envelope is what a log daemon or a container runtime writes around the line of a server. It is around every line or around none:
// a line without it is a bad line, so that no word of it is ever taken for a client.
type envelope struct {
	name string
	open func(line []byte) (inner []byte, ok bool)
}

// envelopes are in the order in which they are tried.
var envelopes = []envelope{
	// <134>Jan 11 00:00:00 host nginx[7]: …, with an RFC 3339 time as rsyslog writes it, or as RFC 5424 has it.
	{"syslog", prefix(`(?:<\d{1,3}>)?(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+) \S+ [^\s:\[\]]+(?:\[\d+\])?: ?` +
		`|<\d{1,3}>1 (?:\S+ ){5}(?:-|(?:\[(?:[^\]"\\]|"(?:[^"\\]|\\.)*")*\])+) (?:\x{feff})?`)},
	// Lines of Kubernetes as they are on the disk. A part (P) of a line that was cut is no line.
	{"cri", prefix(`\d{4}-\d\d-\d\dT\S+ (?:stdout|stderr) F `)},
	{"docker", openDocker},
	// Lines of docker logs -t and kubectl logs --timestamps.
	{"timestamp", prefix(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(?:Z|[+-]\d\d:\d\d) `)},
	// Lines of docker compose logs.
	{"compose", prefix(`[A-Za-z0-9._-]+ +\| `)},
}

// noEnvelope is the name of no envelope.
const noEnvelope = "none"

// Envelopes returns the names that Options.Envelope knows, in the order in which help should show them.
func Envelopes() []string {
	names := []string{auto, noEnvelope}
	for _, e := range envelopes {
		names = append(names, e.name)
	}
	return names
}

// prefix returns the opener of a prefix.
func prefix(pattern string) func(line []byte) ([]byte, bool) {
	p := regexp.MustCompile("^(?:" + pattern + ")")
	return func(line []byte) ([]byte, bool) {
		end := p.FindIndex(line)
		if end == nil {
			return nil, false
		}
		return line[end[1]:], true
	}
}

// openDocker opens a line of Docker's json-file: {"log":"…\n","stream":"stdout","time":"…"}.
func openDocker(line []byte) (inner []byte, ok bool) {
	if !bytes.HasPrefix(line, []byte(`{"log":`)) {
		return nil, false
	}
	var entry struct {
		Log  *string `json:"log"`
		Time *string `json:"time"`
	}
	if json.Unmarshal(line, &entry) != nil || entry.Log == nil || entry.Time == nil {
		return nil, false
	}
	return trimEnd([]byte(*entry.Log)), true
}
