package main

import (
	"encoding/json"
	"io"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/cmd/weir/internal/trace"
)

// decisionLine is the line of one decision: a JSON object with its fields in a fixed
// order and no spaces, so that two replays can be compared byte for byte. Bytes of a key
// that are not UTF-8, which JSON cannot hold, become U+FFFD; only access logs have such
// keys.
type decisionLine struct {
	At         int64  `json:"at_us"`
	Key        string `json:"key"`
	Cost       int64  `json:"cost"`
	Allowed    bool   `json:"allowed"`
	Limit      int64  `json:"limit"`
	Remaining  int64  `json:"remaining"`
	RetryAfter int64  `json:"retry_after_us"` // -1 where a retry never helps
	ResetAfter int64  `json:"reset_after_us"`
	Delay      int64  `json:"delay_us"`
}

func lineOf(e trace.Event, d weir.Decision) decisionLine {
	return decisionLine{e.At, e.Key, e.Cost, d.Allowed, d.Limit, d.Remaining, wholeMicros(d.RetryAfter), wholeMicros(d.ResetAfter), wholeMicros(d.Delay)}
}

func wholeMicros(d time.Duration) int64 {
	if d == weir.Never {
		return -1
	}
	return d.Microseconds()
}

// newDecisions returns what writes such lines.
func newDecisions(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}
