package main

import (
	"fmt"
	"strings"
	"time"
)

// midnight is where the day begins. The zone is fixed, so the log does not depend on a time zone database, and the date is far
// from a change of daylight saving time.
var midnight = time.Date(2026, time.February, 3, 0, 0, 0, 0, time.FixedZone("", 60*60))

const day = 24 * time.Hour

// request is one line of the log.
type request struct {
	at, took     time.Duration // since midnight; until the line is written
	from         client
	user         string // "" for nobody
	method, path string
	status       int
	bytes        int    // 0 for no body
	referer      string // "" for none
}

// line formats the request in Combined Log Format. The time is the start of the request, as in Apache's %t.
func (r request) line() string {
	size := "-"
	if r.bytes > 0 {
		size = fmt.Sprint(r.bytes)
	}
	return fmt.Sprintf(`%s - %s [%s] "%s %s %s" %d %s "%s" "%s"`,
		r.from.address, orDash(r.user), midnight.Add(r.at).Format("02/Jan/2006:15:04:05 -0700"),
		r.method, r.path, r.from.protocol, r.status, size, orDash(r.referer), quoteEscaper.Replace(r.from.agent))
}

// quoteEscaper escapes what the client chose, as Apache does, so that a quote in it does not end the field.
var quoteEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
