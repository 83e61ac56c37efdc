package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Comparison is what several limits did to one trace, each as if it were alone.
type Comparison struct {
	Source
	Span
	Keys         int64        `json:"keys"`
	UnitsOffered int64        `json:"units_offered"` // at most 2^63-1, where it stops
	Limits       []LimitCount `json:"limits"`        // in the order they were given
	MostDenied   []KeyCounts  `json:"most_denied"`   // by the most that any limit denied

	series series
}

// LimitCount is what one limit did.
type LimitCount struct {
	Limit         string `json:"limit"` // the spec
	Admitted      int64  `json:"admitted"`
	Denied        int64  `json:"denied"`
	KeysHit       int64  `json:"keys_hit"` // denied at least once
	UnitsAdmitted int64  `json:"units_admitted"`
}

// KeyCounts is how often one key asked, and how often each limit denied it.
type KeyCounts struct {
	Key     string  `json:"key"`
	Offered int64   `json:"offered"`
	Denied  []int64 `json:"denied"` // in the order of the limits
}

// Comparer gathers the events of a Comparison, one after the other.
type Comparer struct {
	comparison Comparison
	keys       []KeyCounts // by the number of a key
	timeline   *timeline
}

// NewComparer returns an empty Comparer for limits of these specs.
func NewComparer(limits []string) *Comparer {
	c := &Comparer{timeline: newTimeline(len(limits))}
	for _, limit := range limits {
		c.comparison.Limits = append(c.comparison.Limits, LimitCount{Limit: limit})
	}
	return c
}

// Add counts what each limit decided about one event. number is the number of
// the key, counted from 0 in the order of first use. allowed is not kept.
func (c *Comparer) Add(number int, key string, at, cost int64, allowed []bool) {
	r := &c.comparison
	r.add(at)
	c.timeline.add(at, allowed)
	r.UnitsOffered = saturate(r.UnitsOffered, cost)
	for number >= len(c.keys) {
		c.keys = append(c.keys, KeyCounts{})
	}
	k := &c.keys[number]
	if k.Denied == nil {
		k.Key, k.Denied = key, make([]int64, len(r.Limits))
	}
	k.Offered++
	for i := range r.Limits {
		l := &r.Limits[i]
		if allowed[i] {
			l.Admitted++
			l.UnitsAdmitted = saturate(l.UnitsAdmitted, cost)
			continue
		}
		l.Denied++
		if k.Denied[i]++; k.Denied[i] == 1 {
			l.KeysHit++
		}
	}
}

// Comparison returns what was gathered. The caller fills in its Source.
func (c *Comparer) Comparison() *Comparison {
	r := c.comparison
	denied := []KeyCounts{} // not nil, which JSON would show as null
	for _, k := range c.keys {
		if k.Offered == 0 {
			continue
		}
		r.Keys++
		if slices.Max(k.Denied) > 0 {
			denied = append(denied, k)
		}
	}
	slices.SortFunc(denied, func(a, b KeyCounts) int {
		return cmp.Or(cmp.Compare(slices.Max(b.Denied), slices.Max(a.Denied)),
			cmp.Compare(b.Offered, a.Offered), cmp.Compare(a.Key, b.Key))
	})
	r.MostDenied = denied[:min(Top, len(denied))]
	r.BadLines = []BadLine{}
	r.series = c.timeline.series()
	return &r
}

// WriteJSON writes the comparison as one JSON object, indented.
func (r *Comparison) WriteJSON(w io.Writer) error { return WriteJSON(w, r) }

// WriteText writes the comparison for a terminal; see Report.WriteText.
func (r *Comparison) WriteText(w io.Writer) error {
	t := &text{w: w}
	t.facts(r.facts())
	if r.Events > 0 {
		t.limits(r)
		t.denials(r)
	}
	t.badLines(&r.Source)
	return t.err
}

func (r *Comparison) facts() []fact {
	all := r.Source.facts("", &r.Span)
	if r.Events == 0 {
		return all
	}
	all = append(all, fact{"keys", Digits(r.Keys)})
	if r.UnitsOffered != r.Events {
		all = append(all, fact{"units", Digits(r.UnitsOffered)})
	}
	return all
}

func (t *text) limits(r *Comparison) {
	t.printf("\n")
	units := r.UnitsOffered != r.Events
	head := "\tadmitted\tdenied\t\tkeys hit\t\t"
	if units {
		head += "units admitted\t\t"
	}
	rows := []string{head + "limit"}
	for i, l := range r.Limits {
		row := fmt.Sprintf("%d\t%s\t%s\t%s\t%s\t%s\t", i+1, Digits(l.Admitted), Digits(l.Denied), Percent(l.Denied, r.Events),
			Digits(l.KeysHit), Percent(l.KeysHit, r.Keys))
		if units {
			row += fmt.Sprintf("%s\t%s\t", Digits(l.UnitsAdmitted), Percent(l.UnitsAdmitted, r.UnitsOffered))
		}
		rows = append(rows, row+l.Limit)
	}
	t.keyTable(rows)
}

func (t *text) denials(r *Comparison) {
	if len(r.MostDenied) == 0 {
		return
	}
	t.printf("\nmost denied, by limit\n")
	head := ""
	for i := range r.Limits {
		head += strconv.Itoa(i+1) + "\t"
	}
	rows := []string{head + "of\tkey"}
	for _, k := range r.MostDenied {
		row := ""
		for _, n := range k.Denied {
			row += Digits(n) + "\t"
		}
		rows = append(rows, row+Digits(k.Offered)+"\t"+show(k.Key))
	}
	t.keyTable(rows)
}
