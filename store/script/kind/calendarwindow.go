package kind

import (
	"fmt"

	"github.com/weirgo/weir/algorithm"
)

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

// edges are where the window around an instant starts and ends, with that of the window
// before and the end of the window behind it.
func edges(a algorithm.Algorithm, at algorithm.Instant) (numbers []int64, from, until algorithm.Instant) {
	w := calendarOf(a)
	from, until = w.Window(at)
	before := from
	if from > 0 {
		before, _ = w.Window(from - 1)
	}
	_, behind := w.Window(until) // the last window there is has none: it ends with itself
	return []int64{int64(before), int64(from), int64(until), int64(max(until, behind))}, from, until
}

// calendarOf returns the windows of an algorithm. What a script is given follows from the Spec: of another
// Go type with that Spec they are made anew.
func calendarOf(a algorithm.Algorithm) *algorithm.CalendarWindow {
	if w, is := a.(*algorithm.CalendarWindow); is {
		return w
	}
	family, _ := algorithm.FamilyOf(algorithm.KindCalendarWindow)
	w, err := family.With(a.Spec(), a.Spec().Params[0], 0)
	if err != nil {
		panic(fmt.Sprintf("kind: %s: %v", algorithm.KindCalendarWindow, err)) // the Spec is of another layout
	}
	return w.(*algorithm.CalendarWindow)
}
