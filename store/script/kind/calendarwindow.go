package kind

import "github.com/weirgo/weir/algorithm"

func calendarWindow() Kind {
	return Kind{
		Name: algorithm.KindCalendarWindow, File: "calendarwindow", Limit: units,
		Request: func(a algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64 {
			return append(count(a, r, numbers), 0)
		},
		Charge: func(a algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64 {
			a = raise(a)
			return append(count(a, r, units(a, numbers)), 0)
		},
		Refund: func(a algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64 {
			return append(units(a, numbers), -min(r.Cost, algorithm.MaxWord), int64(r.At))
		},
		Around: edges,
	}
}

// units is the limit.
func units(a algorithm.Algorithm, numbers []int64) []int64 {
	return append(numbers, a.Spec().Params[0])
}

// windowOf is an algorithm as a calendar window: of another Go type, such as one that
// wraps it, that of the same Spec. It is nil where there is none.
func windowOf(a algorithm.Algorithm) *algorithm.CalendarWindow {
	w, is := a.(*algorithm.CalendarWindow)
	if !is {
		spec := a.Spec()
		family, _ := algorithm.FamilyOf(spec.Kind)
		again, err := family.With(spec, spec.Params[0], spec.Params[0])
		if err != nil || again.Spec() != spec {
			return nil
		}
		w = again.(*algorithm.CalendarWindow)
	}
	return w
}

// edges are where the window around an instant starts and ends, with that of the window
// before and the end of the window behind it.
func edges(a algorithm.Algorithm, at algorithm.Instant) (numbers []int64, from, until algorithm.Instant) {
	w := windowOf(a)
	if w == nil { // no edges suit, so that its Step decides
		return make([]int64, 4), at, at + 1
	}
	from, until = w.Window(at)
	before := from
	if from > 0 {
		before, _ = w.Window(from - 1)
	}
	_, behind := w.Window(until) // the last window there is has none: it ends with itself
	return []int64{int64(before), int64(from), int64(until), int64(max(until, behind))}, from, until
}
