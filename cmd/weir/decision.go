package main

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/cmd/weir/internal/trace"
)

// appendDecision appends the line of one decision: a JSON object with its fields
// in a fixed order and no spaces, so that two replays can be compared byte for
// byte. Times are µs; a retry that never helps is -1.
func appendDecision(line []byte, e trace.Event, d weir.Decision) []byte {
	line = append(line, `{"at_us":`...)
	line = strconv.AppendInt(line, e.At, 10)
	line = append(line, `,"key":`...)
	line = appendJSON(line, e.Key)
	line = append(line, `,"cost":`...)
	line = strconv.AppendInt(line, e.Cost, 10)
	line = append(line, `,"allowed":`...)
	line = strconv.AppendBool(line, d.Allowed)
	line = append(line, `,"limit":`...)
	line = strconv.AppendInt(line, d.Limit, 10)
	line = append(line, `,"remaining":`...)
	line = strconv.AppendInt(line, d.Remaining, 10)
	line = append(line, `,"retry_after_us":`...)
	line = appendMicros(line, d.RetryAfter)
	line = append(line, `,"reset_after_us":`...)
	line = appendMicros(line, d.ResetAfter)
	line = append(line, `,"delay_us":`...)
	line = appendMicros(line, d.Delay)
	return append(line, "}\n"...)
}

func appendMicros(line []byte, d time.Duration) []byte {
	if d == weir.Never {
		return append(line, "-1"...)
	}
	return strconv.AppendInt(line, int64(d/time.Microsecond), 10)
}

// appendJSON appends s as a JSON string. Bytes that are not UTF-8, which JSON
// cannot hold, become U+FFFD; only access logs have such keys.
func appendJSON(line []byte, s string) []byte {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return appendEscaped(line, s)
		}
	}
	line = append(line, '"')
	line = append(line, s...)
	return append(line, '"')
}

func appendEscaped(line []byte, s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string always encodes
	}
	return append(line, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}
