package audit

import (
	"slices"
	"time"
)

// Query says which entries are wanted.
type Query struct {
	// Tenant is whose entries; required. Entries without a tenant, such as a reload of the
	// process and a log-in of somebody unknown, are those of the tenant "".
	Tenant string
	// Target is the target of the entries; "" is all.
	Target string
	// Since is the time of the first; the zero time is no bound.
	Since time.Time
	// After is the Seq that entries must be above: the Next of the page before.
	After int64
	// Limit bounds the entries of a page, 1 or more.
	Limit int
}

// Page is a part of the log, in its order.
type Page struct {
	Entries []Entry
	// Next is the After of the next page; 0 where there is no more now. A page may have
	// fewer entries than Limit and a Next, where much was looked at.
	Next int64
}

// mostRead bounds the lines that one Read looks at.
const mostRead = 100_000

// Read returns entries in the order in which they were written. It reads files, and does
// not hold up writers.
func (l *Log) Read(q Query) (Page, error) {
	dates, err := l.dates()
	if err != nil {
		return Page{}, err
	}
	l.mu.Lock()
	last := l.seq // what is not synced is not shown
	l.mu.Unlock()
	page := Page{Entries: []Entry{}}
	from := ""
	if !q.Since.IsZero() {
		from = q.Since.UTC().Format(day) // an entry is in the file of its day, or of a later one
	}
	looked, more := 0, false
	var seen int64
	for _, date := range dates {
		if date < from || more {
			continue
		}
		err := l.lines(date, q.After, func(e Entry) bool {
			if e.Seq > last {
				return false
			}
			fits := e.Tenant == q.Tenant && (q.Target == "" || e.Target == q.Target) && !e.Time.Before(q.Since)
			if looked++; looked > mostRead || fits && len(page.Entries) == q.Limit {
				more = true
				return false
			}
			seen = e.Seq
			if fits {
				page.Entries = append(page.Entries, e)
			}
			return true
		})
		if err != nil {
			return Page{}, err
		}
	}
	if more {
		page.Next = seen
	}
	return page, nil
}

// Last returns the last n entries of a tenant, the newest first. It reads the files of the
// newest days from their ends, no further than the 100,000th line, and does not hold up writers.
func (l *Log) Last(tenant string, n int) ([]Entry, error) {
	dates, err := l.dates()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	last := l.seq // what is not synced is not shown
	l.mu.Unlock()
	var all []Entry
	looked := 0
	for _, date := range slices.Backward(dates) {
		err := l.backwards(date, func(e Entry) bool {
			if e.Tenant == tenant && e.Seq <= last && len(all) < n {
				all = append(all, e)
			}
			looked++
			return len(all) < n && looked < mostRead
		})
		if err != nil {
			return nil, err
		}
		if len(all) >= n || looked >= mostRead {
			break
		}
	}
	return all, nil
}
