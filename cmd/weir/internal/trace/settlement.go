package trace

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
)

// settlementField is a column or a member of which a reservation is made or settled.
type settlementField struct{ option, label, name string }

// settlement returns the fields of reservations that are set, in the order in which a parser wants them.
func (o *Options) settlement() (fields []settlementField) {
	for _, f := range []settlementField{
		{"reserve column", "reserved cost", o.ReserveColumn},
		{"settle column", "actual cost", o.SettleColumn},
		{"duration column", "duration", o.DurationColumn},
	} {
		if f.name != "" {
			fields = append(fields, f)
		}
	}
	return fields
}

// checkSettlement refuses reservations of a format that cannot have them.
func (o *Options) checkSettlement(f *format) error {
	_, isJSON := f.cutter(o).(*object)
	if o.SettleColumn != "" && f.name != csvName && !isJSON {
		return optionError("settle column", "%s has no columns to choose: must be left out", f.name)
	}
	if o.DurationColumn != "" && f.name != csvName && f.name != "jsonl" {
		return optionError("duration column", "%s has its own times: must be left out", f.name)
	}
	return nil
}

// member is a field of reservations that a line of JSON may lack.
type member struct {
	settlementField
	place int
	seen  bool // whether a line has it
}

// wantSettlement adds the fields of reservations.
func (p *parser) wantSettlement(o *Options) {
	_, isJSON := p.cutter.(*object)
	for _, f := range o.settlement() {
		place := p.want(f.label, f.name)
		switch f.option {
		case "reserve column":
			p.cost = place
		case "settle column":
			p.settle = place
		case "duration column":
			p.duration = place
		}
		if isJSON {
			p.members = append(p.members, member{settlementField: f, place: place})
		}
	}
	p.durationForm = timeUnits[cmp.Or(o.TimeUnit, "s")]
	if p.format.name == "jsonl" {
		p.durationForm = wholeMicros
	}
}

// settlement reads the fields of reservations of a line. time is that of the line: the start, and where the format has
// durations the end.
func (p *parser) settlement(line []byte, time int64, f *fields) (reason string) {
	for i := range p.members {
		m := &p.members[i]
		m.seen = m.seen || p.values[m.place] != nil
		if !m.seen && p.lineMembers == nil {
			p.lineMembers = memberNames(line)
		}
	}
	f.cost = 0
	if p.cost >= 0 {
		if f.cost, reason = p.units(p.cost); reason != "" {
			return reason
		}
	}
	if f.actual, reason = p.units(p.settle); reason != "" {
		return reason
	}
	if f.end = time; p.duration < 0 {
		return ""
	}
	took, reason := p.time(p.duration, p.durationForm)
	switch {
	case reason != "":
		return reason
	case took.micros > maxTook:
		return p.labels[p.duration] + " is longer than a day"
	case f.at > MaxAt-took.micros:
		return reasonLate
	}
	f.end = f.at + took.micros
	return ""
}

// memberNames returns the members of a JSON object by name.
func memberNames(object []byte) []string {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		panic("trace: encoding/json refuses an object that it found valid")
	}
	return slices.Sorted(maps.Keys(members))
}

// checkMembers returns an error, at the end of a trace, where no line has a member of reservations.
func (p *parser) checkMembers() error {
	for _, m := range p.members {
		if !m.seen && p.lineMembers != nil {
			return optionError(m.option, "no line has %q: the first has %s", m.name, listColumns(p.lineMembers))
		}
	}
	return nil
}
