package attack

// tally counts what callers were told about one key. Each call costs one unit.
type tally struct{ Calls, Acked, Denied, Unavailable, Unknown int64 }

func (t *tally) add(o tally) {
	t.Calls += o.Calls
	t.Acked += o.Acked
	t.Denied += o.Denied
	t.Unavailable += o.Unavailable
	t.Unknown += o.Unknown
}

// failed returns the calls without a decision.
func (t *tally) failed() int64 { return t.Unavailable + t.Unknown }

// phase is what happened between two marks.
type phase struct {
	Keys    []tally
	Latency [2][]int64 // µs of each call, by the group of its key
}

// report is what a process of callers says in the end.
type report struct {
	Phases     []phase
	Outage     int64    // µs: the longest time that one caller was without a decision
	Unexpected []string // errors that no event explains, the first few
}

// merge adds the report of another process.
func (r *report) merge(o report) {
	for i, p := range o.Phases {
		if i == len(r.Phases) {
			r.Phases = append(r.Phases, phase{Keys: make([]tally, len(p.Keys))})
		}
		into := &r.Phases[i]
		for k := range p.Keys {
			into.Keys[k].add(p.Keys[k])
		}
		for g := range p.Latency {
			into.Latency[g] = append(into.Latency[g], p.Latency[g]...)
		}
	}
	r.Outage = max(r.Outage, o.Outage)
	r.Unexpected = append(r.Unexpected, o.Unexpected...)
}

// keys returns the tallies of all keys over phases.
func (r *report) keys(phases ...phase) []tally {
	var all []tally
	for _, p := range phases {
		if all == nil {
			all = make([]tally, len(p.Keys))
		}
		for k := range p.Keys {
			all[k].add(p.Keys[k])
		}
	}
	return all
}
