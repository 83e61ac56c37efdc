package attack

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Row is one event on one server with one client library.
type Row struct {
	Event, Server, Client string

	Calls, Acked, Denied, Unavailable, Unknown int64

	Charged          int64 // held by the server in the end
	LostMin, LostMax int64 // charged before, and lost: exact where both are equal
	Over, OverMost   int64 // admitted beyond the capacities: in all, and of one key

	Outage time.Duration // the longest time that one caller was without a decision
	P99    time.Duration // of a call

	Lossy  bool
	Note   string // what else was measured
	Broken error  // the bounds that do not hold
}

// heading is the head of the table, in the order of Row.String.
const heading = "| event | server | client | calls | acked | denied | unavailable | unknown | charged | lost | over | verdict | longest outage | p99 | measured |\n" +
	"|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|--:|--:|---|\n"

// String returns the row as a line of Markdown.
func (r *Row) String() string {
	lost, over := "", ""
	if r.Lossy {
		lost = fmt.Sprint(r.LostMin)
		if r.LostMax != r.LostMin {
			lost += fmt.Sprint(" to ", r.LostMax)
		}
		over = fmt.Sprintf("%d (%d of one key)", r.Over, r.OverMost)
	}
	cells := []string{
		r.Event, r.Server, r.Client, fmt.Sprint(r.Calls), fmt.Sprint(r.Acked), fmt.Sprint(r.Denied), fmt.Sprint(r.Unavailable),
		fmt.Sprint(r.Unknown), fmt.Sprint(r.Charged), lost, over, r.Verdict(), short(r.Outage), short(r.P99), r.Note,
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// Verdict says in a word or two whether the bounds hold.
func (r *Row) Verdict() string {
	switch {
	case r.Broken != nil:
		return "BROKEN"
	case r.Lossy:
		return "lossy, within what was lost"
	}
	return "exact"
}

// p99 returns the time, given in µs, that 99 of 100 calls do not exceed. It sorts
// what it is given.
func p99(micros []int64) time.Duration {
	if len(micros) == 0 {
		return 0
	}
	slices.Sort(micros)
	return (time.Duration(micros[(len(micros)*99-1)/100]) * time.Microsecond).Round(100 * time.Microsecond)
}

func short(d time.Duration) string {
	if d >= time.Second {
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(100 * time.Microsecond).String()
}
