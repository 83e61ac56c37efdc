package trace

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// fields is what a parser finds in a line. The key may share memory with the line: it is valid until the next line.
type fields struct {
	at, end      int64
	key          []byte
	cost, actual int64
}

// A request that took longer than a day is no request, or its duration is in another unit.
const (
	maxTook   = 24 * 3600 * 1e6
	faultLong = " is longer than a day: it must be in seconds"
)

// maxFields is the most fields that a parser wants of a line.
const maxFields = 32

// parser reads the lines of one format for one choice of a key.
type parser struct {
	format *format
	cutter cutter
	names  []string // of the wanted fields
	labels []string // how the reasons name them
	values [maxFields][]byte

	timeForm         timeForm
	took, only, cost int // places of values; -1 for none. The time is at 0
	keys             []keyPart
	settle, duration int
	durationForm     timeForm
	members          []member // of reservations, in JSON
	lineMembers      []string // of the first line that lacks one of them
	text             []byte   // scratch for a key of two parts
	record           bool     // the key is made of Options.Fields
	joined           []byte   // scratch for that key
}

// keyPart is a part of a key: the first of some fields that is not empty.
type keyPart struct {
	from, to int // places of values
	form     part
	host     bool
}

// part makes a part of a key of the decoded text of a field.
type part func(text []byte) (key []byte, reason string)

// newParser returns the parser of a format, whose key is a part of an access log line or a field.
func newParser(f *format, o *Options) (*parser, error) {
	p := &parser{format: f, cutter: f.cutter(o), timeForm: f.timeForm, took: -1, only: -1, cost: -1, settle: -1, duration: -1}
	timeField, costField := f.time, f.cost
	if f.name == csvName {
		timeField, costField, p.timeForm = o.TimeColumn, o.CostColumn, timeUnits[o.TimeUnit]
	}
	p.want("time", timeField)
	if f.took != "" {
		p.took = p.want("duration", f.took)
	}
	if f.only != "" {
		p.only = p.want("", f.only)
	}
	if o.SettleColumn != "" {
		p.wantSettlement(o)
	} else if costField != "" {
		p.cost = p.want("cost", costField)
	}
	if len(o.Fields) > 0 {
		if err := p.wantFields(o); err != nil {
			return nil, err
		}
	} else {
		p.wantKey(o)
	}
	if err := p.cutter.want(p.names); err != nil {
		return nil, optionError("key", "a %s trace has %w", f.name, err)
	}
	return p, nil
}

// want adds a field and returns its place.
func (p *parser) want(label, name string) (place int) {
	if p.format.name != csvName {
		label = name // a column may be called anything
	}
	p.names, p.labels = append(p.names, name), append(p.labels, label)
	return len(p.names) - 1
}

// wantPart adds a part of a key. A field that is wanted already, such as that of the time, has one
// place: a line is cut once.
func (p *parser) wantPart(form part, fields ...string) {
	k := keyPart{from: len(p.names), form: form}
	if len(fields) == 1 && slices.Contains(p.names, fields[0]) {
		k.from = slices.Index(p.names, fields[0])
		k.to = k.from + 1
		fields = nil
	}
	for _, name := range fields {
		k.to = p.want("key", name) + 1
	}
	p.keys = append(p.keys, k)
}

// wantKey adds the parts of the key that Options.Key names.
func (p *parser) wantKey(o *Options) {
	name := cmp.Or(o.Key, p.format.key)
	if name == "" && p.format.hosts != nil {
		name = KeyHost
	}
	switch {
	case name == KeyHostPath && p.format.hosts != nil:
		p.wantNamed(KeyHost)
		p.wantNamed(KeyPath)
	case name != "":
		p.wantNamed(name)
	}
}

// wantNamed adds a part of a key by its name: a part of an access log line, or a field. The cutter refuses what no line has.
func (p *parser) wantNamed(name string) {
	f := p.format
	switch {
	case f.hosts == nil: // the event has fields of its own
		p.wantPart(nil, name)
	case name == KeyHost:
		p.wantPart(f.hostForm, f.hosts...)
		p.keys[len(p.keys)-1].host = true
	case name == KeyPath && f.targets != nil:
		p.wantPart(f.pathForm, f.targets...)
	case name == KeyMethod && f.method == "" && f.hasRequest():
		p.wantPart(requestMethod, "request")
	case name == KeyMethod:
		p.wantPart(nil, cmp.Or(f.method, name))
	case name == KeyUserAgent:
		p.wantPart(nil, cmp.Or(f.agent, name))
	default:
		p.wantPart(nil, name)
	}
}

// parse reads one line, which is not blank. It returns "" or why the line cannot be used; then f holds nothing of value. It
// returns isHeader where the line is no request.
func (p *parser) parse(line []byte, f *fields) (reason string) {
	clear(p.values[:])
	if reason = p.cutter.cut(line, p.values[:len(p.names)]); reason != "" {
		return reason
	}
	if p.only >= 0 && p.values[p.only] != nil {
		if text, fault := p.cutter.text(p.values[p.only]); fault != "" || !p.format.isRequest(text) {
			return isHeader
		}
	}
	end, reason := p.time(0, p.timeForm)
	if reason != "" {
		return reason
	}
	var took exact
	if p.took >= 0 {
		if took, reason = p.time(p.took, p.format.tookForm); reason != "" {
			return reason
		}
		if took.micros > maxTook {
			return p.labels[p.took] + faultLong
		}
	}
	if f.at, reason = end.before(took); reason != "" {
		return reason
	}
	if f.key, reason = p.key(); reason != "" {
		return reason
	}
	if p.settle >= 0 {
		return p.settlement(line, end.micros, f)
	}
	f.cost = 1
	if p.cost >= 0 && p.values[p.cost] != nil {
		f.cost, reason = p.units(p.cost)
	}
	return reason
}

// units reads a cost.
func (p *parser) units(place int) (n int64, reason string) {
	if p.values[place] == nil {
		return 0, p.labels[place] + faultMissing
	}
	if n, reason = wholeNumber(p.values[place], math.MaxInt64); reason != "" {
		reason = p.labels[place] + reason
	}
	return n, reason
}

func (p *parser) time(place int, form timeForm) (e exact, reason string) {
	if p.values[place] == nil {
		return e, p.labels[place] + faultMissing
	}
	if e, reason = form(p.values[place]); reason != "" && reason[0] == ' ' {
		reason = p.labels[place] + reason
	}
	return e, reason
}

// wholeNumber reads digits as a number up to bound. A fraction or an exponent is refused even where the value is whole (1.0, 1e3).
// -0 is 0.
func wholeNumber(text []byte, bound int64) (n int64, fault string) {
	digits := bytes.TrimPrefix(text, []byte("-"))
	end := passDigits(digits, 0)
	switch {
	case end == 0 || end < len(digits) && digits[end] != '.' && digits[end]|0x20 != 'e':
		return 0, " is not a number"
	case end < len(digits):
		return 0, " is not written as a whole number"
	case len(digits) < len(text) && len(bytes.Trim(digits, "0")) > 0:
		return 0, " is negative"
	}
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil || n > bound {
		return 0, fmt.Sprintf(" is above %d", bound)
	}
	return n, ""
}

// wholeMicros is the form of a time in whole µs.
func wholeMicros(text []byte) (e exact, fault string) {
	e.micros, fault = wholeNumber(text, MaxAt)
	return e, fault
}
