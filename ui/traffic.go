package ui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weirgo/weir/internal/observed"
	"github.com/weirgo/weir/internal/topk"
	"github.com/weirgo/weir/policy"
)

// The most that the first page shows of each.
const (
	shownRules    = 50
	shownSubjects = 10
)

// trafficView is the first page.
type trafficView struct {
	Now      nowView
	Hour     bool // the charts show an hour
	Rules    rulesView
	Busiest  []subjectView
	Denied   []subjectView
	ShowKeys bool
	Sources  []sourceRow
}

// nowView are the numbers of now.
type nowView struct {
	Rows      []nowRow
	Latencies []latencyRow
	Errors    []classCount
	Lists     [2]int64
}

// nowRow is one result, by how long ago.
type nowRow struct {
	Name                        string
	Second, Minute, Hour, Total int64
}

type latencyRow struct {
	Name         string
	Minute, Hour float64 // in seconds; NaN where nothing was measured
}

type classCount struct {
	Class string
	Count int64
}

// subjectView is one who asks.
type subjectView struct {
	Subject, Limit string
	Least, Most    int64
}

// rulesView are rules in a table.
type rulesView struct {
	Rules []ruleView
	More  int // that are not shown
}

// ruleView is one of them.
type ruleView struct {
	ID, Mode, Limits                                    string
	Allowed, Denied, ShadowAllowed, ShadowDenied, Error int64 // of the last hour
	Used                                                float64
	Standing                                            string
}

func (h *Handler) now() nowView {
	r := h.recorder
	r.mu.Lock()
	last, minute, hour := r.ring.since(1), r.ring.since(60), r.ring.since(3600)
	errors := maps.Clone(r.errors)
	r.mu.Unlock()
	total := r.totals()
	v := nowView{Lists: [2]int64{r.lists[0].Load(), r.lists[1].Load()}}
	for i, name := range []string{observed.Allowed: "allowed", observed.Denied: "denied", observed.ShadowAllowed: "allowed in shadow", observed.ShadowDenied: "denied in shadow"} {
		v.Rows = append(v.Rows, nowRow{name, last.results[i], minute.results[i], hour.results[i], total.results[i]})
	}
	v.Rows = append(v.Rows,
		nowRow{"errors", last.failed, minute.failed, hour.failed, total.failed},
		nowRow{"decided without the store", last.degraded, minute.degraded, hour.degraded, total.degraded})
	for _, q := range []struct {
		name string
		part float64
	}{{"half of them took at most", 0.5}, {"99 of 100 took at most", 0.99}} {
		v.Latencies = append(v.Latencies, latencyRow{q.name, minute.quantile(q.part), hour.quantile(q.part)})
	}
	for _, class := range slices.Sorted(maps.Keys(errors)) {
		v.Errors = append(v.Errors, classCount{class, errors[class]})
	}
	return v
}

// rules returns at most n rules: those that have denied and answered most in the last hour, in
// the order of the policy, and of their IDs where the policy does not have them.
func (h *Handler) rules(n int) rulesView {
	met := h.recorder.allRules()
	var all []ruleView
	add := func(id, mode, limits string) {
		c, has := met[id]
		if !has {
			c.id = id
		}
		delete(met, id)
		all = append(all, ruleView{
			ID: id, Mode: mode, Limits: limits, Allowed: c.hour[observed.Allowed], Denied: c.hour[observed.Denied],
			ShadowAllowed: c.hour[observed.ShadowAllowed], ShadowDenied: c.hour[observed.ShadowDenied], Error: c.hour[errorResult], Used: c.used, Standing: c.standing.String(),
		})
	}
	if p := h.policyNow(); p.File != nil {
		for i := range p.File.Policy.Rules {
			r := &p.File.Policy.Rules[i]
			add(r.ID, modeOf(r), limitsOf(r))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(met)) {
		add(id, "", "")
	}
	if len(all) <= n {
		return rulesView{Rules: all}
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &all[a], &all[b]
		return cmp.Or(cmp.Compare(y.Denied+y.ShadowDenied, x.Denied+x.ShadowDenied), cmp.Compare(y.Allowed+y.Error, x.Allowed+x.Error))
	})
	order = order[:n]
	slices.Sort(order)
	v := rulesView{More: len(all) - n}
	for _, i := range order {
		v.Rules = append(v.Rules, all[i])
	}
	return v
}

func (h *Handler) policyNow() Policy {
	if h.options.Policy == nil {
		return Policy{}
	}
	return h.options.Policy()
}

// modeOf is the mode of a rule, which is Enforce where it has none.
func modeOf(r *policy.Rule) string { return string(cmp.Or(r.Mode, policy.Enforce)) }

// limitsOf is the text of the limits of a rule.
func limitsOf(r *policy.Rule) string {
	one := func(l policy.LimitRef) string {
		if l.Tier != "" {
			return "tier: " + l.Tier
		}
		return string(l.Spec)
	}
	var all []string
	if r.Limit != (policy.LimitRef{}) {
		all = append(all, one(r.Limit))
	}
	for _, each := range []map[string]policy.LimitRef{r.Limits, r.Endpoints} {
		for _, name := range slices.Sorted(maps.Keys(each)) {
			all = append(all, name+": "+one(each[name]))
		}
	}
	const most = 4
	if more := len(all) - most; more > 0 {
		all = append(all[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, "; ")
}

func (h *Handler) subjects() (busiest, denied []subjectView) {
	return h.shown(h.recorder.busiest.Top(shownSubjects, nil)), h.shown(h.recorder.denied.Top(shownSubjects, nil))
}

func (h *Handler) trafficView() trafficView {
	v := trafficView{Now: h.now(), Rules: h.rules(shownRules), ShowKeys: h.options.ShowKeys, Sources: h.recorder.allSources()}
	v.Busiest, v.Denied = h.subjects()
	return v
}

func (h *Handler) traffic(w http.ResponseWriter, r *http.Request) {
	v := h.trafficView()
	v.Hour = r.URL.Query().Get("range") == "hour"
	h.show(w, r, http.StatusOK, "traffic", "Traffic", v)
}

func (h *Handler) allRules(w http.ResponseWriter, r *http.Request) {
	h.show(w, r, http.StatusOK, "all-rules", "All rules", h.rules(math.MaxInt))
}

// series are the numbers of a chart: counts a second.
type series struct {
	At      []int64   `json:"at"` // Unix seconds
	Allowed []float64 `json:"allowed"`
	Denied  []float64 `json:"denied"`
	Shadow  []float64 `json:"shadow"` // denied in shadow
	Errors  []float64 `json:"errors"`
	// P50 and P99 are in milliseconds; null where nothing was measured.
	P50 []*float64 `json:"p50"`
	P99 []*float64 `json:"p99"`
}

// newSeries has lists without a number, to which the page adds.
func newSeries() series {
	return series{[]int64{}, []float64{}, []float64{}, []float64{}, []float64{}, []*float64{}, []*float64{}}
}

func (s *series) add(p *point) {
	rate := func(n int64) float64 { return math.Round(float64(n)/float64(p.width)*100) / 100 }
	s.At = append(s.At, p.at)
	s.Allowed = append(s.Allowed, rate(p.results[observed.Allowed]))
	s.Denied = append(s.Denied, rate(p.results[observed.Denied]))
	s.Shadow = append(s.Shadow, rate(p.results[observed.ShadowDenied]))
	s.Errors = append(s.Errors, rate(p.failed))
	s.P50 = append(s.P50, millis(p.quantile(0.5)))
	s.P99 = append(s.P99, millis(p.quantile(0.99)))
}

func millis(seconds float64) *float64 {
	if math.IsNaN(seconds) {
		return nil
	}
	ms := math.Round(seconds*1e6) / 1e3
	return &ms
}

// data are the numbers of the charts: of five minutes by the second, of an hour by 10 s, and
// of a rule by the minute.
func (h *Handler) data(w http.ResponseWriter, r *http.Request) {
	if q := r.URL.Query(); q.Has("rule") {
		answerJSON(w, h.ruleSeries(q.Get("rule")))
		return
	}
	seconds, width := int64(300), int64(1)
	if r.URL.Query().Get("range") == "hour" {
		seconds, width = hour, 10
	}
	h.recorder.mu.Lock()
	points := h.recorder.ring.points(seconds, width)
	h.recorder.mu.Unlock()
	s := newSeries()
	for i := range points {
		s.add(&points[i])
	}
	answerJSON(w, s)
}

// ruleSeries are the answers of a rule in each minute of the last hour.
func (h *Handler) ruleSeries(id string) series {
	c := h.recorder.rule(id)
	s := newSeries()
	for i := range c.minutesOfHour {
		m := &c.minutesOfHour[i]
		s.At = append(s.At, c.firstOfMinutes+int64(i)*60)
		s.Allowed = append(s.Allowed, float64(m[observed.Allowed]+m[observed.ShadowAllowed]))
		s.Denied = append(s.Denied, float64(m[observed.Denied]))
		s.Shadow = append(s.Shadow, float64(m[observed.ShadowDenied]))
		s.Errors = append(s.Errors, float64(m[errorResult]))
	}
	return s
}

func answerJSON(w http.ResponseWriter, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		http.Error(w, "the numbers cannot be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // a browser that has left reads no answer
}

// Bounds of streams.
const (
	maxStreams    = 64
	streamFor     = 5 * time.Minute // then the browser asks again, and is asked who it is
	streamTimeout = 10 * time.Second
)

// stream sends the parts of the first page that have changed, each second.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request) {
	if h.streams.Add(1) > maxStreams {
		h.streams.Add(-1)
		w.Header().Set("Retry-After", "10")
		h.fail(w, r, http.StatusServiceUnavailable, "Too many browsers watch this page.")
		return
	}
	defer h.streams.Add(-1)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // that of a request is none of a stream; where it cannot be set there is none
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	end := time.NewTimer(streamFor)
	defer end.Stop()
	for {
		ticks, ticked := h.recorder.next()
		text, err := h.eventOf(ticks)
		if err != nil {
			return
		}
		_ = control.SetWriteDeadline(time.Now().Add(streamTimeout))
		if _, err := w.Write(text); err != nil {
			return
		}
		if err := control.Flush(); err != nil {
			return
		}
		select {
		case <-ticked:
		case <-end.C:
			return
		case <-r.Context().Done():
			return
		case <-h.recorder.closed:
			return
		}
	}
}

// event is what a stream sends.
type event struct {
	Parts map[string]string `json:"parts"` // HTML by the id of an element
	Last  series            `json:"last"`  // the last second
}

// eventOf returns the event of a second, which all streams share.
func (h *Handler) eventOf(ticks int64) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.eventAt == ticks {
		return h.event, nil
	}
	v := h.trafficView()
	e := event{Parts: map[string]string{}}
	for name, content := range map[string]any{"now": v.Now, "rules": v.Rules, "subjects": v, "sources": v.Sources} {
		var b bytes.Buffer
		if err := templates.ExecuteTemplate(&b, name, content); err != nil {
			return nil, fmt.Errorf("ui: %w", err)
		}
		e.Parts[name] = b.String()
	}
	h.recorder.mu.Lock()
	points := h.recorder.ring.points(1, 1)
	h.recorder.mu.Unlock()
	e.Last = newSeries()
	for i := range points {
		e.Last.add(&points[i])
	}
	text, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("ui: %w", err)
	}
	h.event, h.eventAt = fmt.Appendf(nil, "retry: 2000\ndata: %s\n\n", text), ticks
	return h.event, nil
}

// shown are counts with subjects as they are shown.
func (h *Handler) shown(counts []topk.Count) []subjectView {
	var all []subjectView
	for _, c := range counts {
		all = append(all, subjectView{h.subject(c.Key), c.Limit, c.Least, c.Most})
	}
	return all
}
