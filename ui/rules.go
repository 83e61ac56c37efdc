package ui

import (
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/weirgo/weir/internal/observed"
	"github.com/weirgo/weir/policy"
)

// rules are the counts by rule. Rules are met while requests are decided; so many of them as
// most are told apart.
type rules struct {
	most int
	byID atomic.Pointer[map[string]*rule] // replaced as a whole
	mu   sync.Mutex                       // for new rules
}

const errorResult = len(observed.ResultNames)

// counts are those of results, and of errors behind them.
type counts [errorResult + 1]int64

func (c *counts) add(other *counts) {
	for i, n := range other {
		c[i] += n
	}
}

// answered is how many answers there are.
func (c *counts) answered() (n int64) {
	for _, each := range c {
		n += each
	}
	return n
}

const minutes = 60

// rule is what is known of one rule.
type rule struct {
	id       string
	results  [errorResult + 1]atomic.Int64
	used     atomic.Uint64 // the bits of the largest used part of a limit in this minute
	standing atomic.Int64  // the worst one in this minute

	mu           sync.Mutex
	last         counts
	minutes      [minutes][errorResult + 1]uint32 // by the minute of Unix time
	minute       int64                            // that is being counted; 0 before the first
	lastUsed     float64                          // of the minute before
	lastStanding policy.Standing
}

// of returns the rule with an ID.
func (r *rules) of(id string) *rule {
	if known := r.byID.Load(); known != nil {
		if found := (*known)[id]; found != nil {
			return found
		}
	}
	return r.meet(id)
}

// meet returns a rule that may be new.
func (r *rules) meet(id string) *rule {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := map[string]*rule{}
	if p := r.byID.Load(); p != nil {
		known = *p
	}
	if found := known[id]; found != nil {
		return found
	}
	if len(known) >= r.most || !utf8.ValidString(id) {
		id = observed.Other // and the ID is not remembered: hostile ones would take memory for ever
		if found := known[id]; found != nil {
			return found
		}
	}
	known = maps.Clone(known)
	known[id] = &rule{id: id}
	r.byID.Store(&known)
	return known[id]
}

// observe counts what the limits of a rule have answered. err is the error of those that are
// enforced.
func (r *rule) observe(limits []policy.RuleVerdict, err error) {
	for i := range limits {
		l := &limits[i]
		if d := &l.Decision; l.Decided && d.Limit > 0 && !d.Degraded {
			r.noteUsed(float64(d.Limit-d.Remaining+d.Debt) / float64(d.Limit))
		}
		if s := int64(l.Standing); s > r.standing.Load() {
			r.standing.Store(s) // one that is overtaken is as bad within a minute
		}
	}
	switch result := observed.RuleResult(limits, err); result {
	case "":
	case observed.Failed:
		r.results[errorResult].Add(1)
	default:
		for i, name := range observed.ResultNames {
			if result == name {
				r.results[i].Add(1)
			}
		}
	}
}

func (r *rule) noteUsed(part float64) {
	if !(part > 0) {
		return
	}
	for next := math.Float64bits(part); ; { // bits of positive numbers are in their order
		before := r.used.Load()
		if next <= before || r.used.CompareAndSwap(before, next) {
			return
		}
	}
}

func (r *rule) totals() (c counts) {
	for i := range r.results {
		c[i] = r.results[i].Load()
	}
	return c
}

// turn begins a minute for all rules.
func (r *rules) turn(minute int64) {
	if known := r.byID.Load(); known != nil {
		for _, each := range *known {
			each.turn(minute)
		}
	}
}

// turn writes down what was counted in the minute before, and begins another one.
func (r *rule) turn(minute int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.totals()
	switch {
	case r.minute == 0 || minute-r.minute > minutes:
		clear(r.minutes[:])
		r.minute = minute - 1
	case minute <= r.minute: // the clock went back: the minutes before are dated back as far
		by := (r.minute - minute + 1) % minutes
		copy(r.minutes[:], slices.Concat(r.minutes[by:], r.minutes[:by]))
		r.minute = minute - 1
	}
	for i, n := range now {
		r.minutes[r.minute%minutes][i] = uint32(min(n-r.last[i], math.MaxUint32))
	}
	r.last = now
	r.lastUsed, r.lastStanding = 0, policy.Normal
	if minute == r.minute+1 {
		r.lastUsed, r.lastStanding = math.Float64frombits(r.used.Load()), policy.Standing(r.standing.Load())
	}
	r.used.Store(0)
	r.standing.Store(0)
	for r.minute++; r.minute < minute; r.minute++ {
		r.minutes[r.minute%minutes] = [errorResult + 1]uint32{}
	}
	r.minutes[r.minute%minutes] = [errorResult + 1]uint32{}
}

// ruleCounts is a reading of a rule.
type ruleCounts struct {
	id             string
	total, hour    counts
	used           float64 // the largest used part of a limit in the last 1 to 2 minutes
	standing       policy.Standing
	minutesOfHour  []counts // the oldest first; the last one is not over
	firstOfMinutes int64    // in Unix seconds
}

// read reads a rule.
func (r *rule) read() (c ruleCounts) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.id, c.total = r.id, r.totals()
	current := c.total
	for i, n := range r.last {
		current[i] -= n
	}
	if r.minute > 0 {
		c.firstOfMinutes = (r.minute - minutes + 1) * 60
		for m := r.minute - minutes + 1; m < r.minute; m++ {
			var of counts
			for i, n := range r.minutes[((m%minutes)+minutes)%minutes] {
				of[i] = int64(n)
			}
			c.minutesOfHour = append(c.minutesOfHour, of)
			c.hour.add(&of)
		}
	}
	c.minutesOfHour = append(c.minutesOfHour, current)
	c.hour.add(&current)
	c.used = max(math.Float64frombits(r.used.Load()), r.lastUsed)
	c.standing = max(policy.Standing(r.standing.Load()), r.lastStanding)
	return c
}

// rule returns a reading of a rule by its ID; zero where it was never asked.
func (r *Recorder) rule(id string) ruleCounts {
	if known := r.rules.byID.Load(); known != nil {
		if found := (*known)[id]; found != nil {
			return found.read()
		}
	}
	return ruleCounts{id: id}
}

// allRules returns readings of all rules that were met, by their IDs.
func (r *Recorder) allRules() map[string]ruleCounts {
	all := map[string]ruleCounts{}
	if known := r.rules.byID.Load(); known != nil {
		for id, each := range *known {
			all[id] = each.read()
		}
	}
	return all
}
