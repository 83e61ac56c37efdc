package promobserver

import (
	"time"

	"github.com/axiomhq/hyperloglog"
	"github.com/cespare/xxhash/v2"
)

// activePeriod is for how long keys are counted before the count begins anew.
const activePeriod = 5 * time.Minute

// activeKeys estimates how many distinct keys there were in this period and in the one
// before. Scrapes turn the periods over.
type activeKeys struct {
	since         time.Time
	current, last *hyperloglog.Sketch
}

func newActiveKeys(now time.Time) *activeKeys {
	return &activeKeys{since: now, current: hyperloglog.New(), last: hyperloglog.New()}
}

func (a *activeKeys) note(key string) { a.current.InsertHash(xxhash.Sum64String(key)) }

func (a *activeKeys) turn(now time.Time) {
	switch age := now.Sub(a.since); {
	case age >= 2*activePeriod:
		a.last, a.current, a.since = hyperloglog.New(), hyperloglog.New(), now
	case age >= activePeriod:
		a.last, a.current, a.since = a.current, hyperloglog.New(), now
	}
}

func (a *activeKeys) count() uint64 {
	both := a.current.Clone()
	if err := both.Merge(a.last); err != nil { // of another precision: New has one alone
		return a.current.Estimate()
	}
	return both.Estimate()
}
