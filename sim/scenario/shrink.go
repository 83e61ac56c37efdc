package scenario

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Shrink returns the smallest scenario that it finds by leaving things out of s and that
// still violates. It leaves out faults, then traffic, expectations and limits; then it
// makes the scenario shorter; then it leaves out fields, and makes numbers smaller and
// rounds them. It begins anew until nothing can be left out. s must violate itself; it is not changed.
//
// It calls violates some hundred times. A scenario that violates a rule only by the
// chance of its draws may lose that with any of them: the result violates too, and is
// not always the smallest.
func Shrink(s *Scenario, violates func(*Scenario) bool) *Scenario {
	h := &shrinker{clone(s), violates}
	for range 20 {
		smaller := false
		for _, step := range []func() bool{h.lists, h.duration, h.fields, h.numbers} {
			smaller = step() || smaller
		}
		if !smaller {
			break
		}
	}
	return h.best
}

type shrinker struct {
	best     *Scenario
	violates func(*Scenario) bool
}

// try keeps a change if it changes something, and if the scenario is valid after it and
// still violates.
func (h *shrinker) try(change func(*Scenario)) bool {
	s := clone(h.best)
	change(s)
	if reflect.DeepEqual(s, h.best) || s.Validate() != nil || !h.violates(s) {
		return false
	}
	h.best = s
	return true
}

// lists leaves out items of lists.
func (h *shrinker) lists() bool {
	smaller := without(h, func(s *Scenario) *[]Fault { return &s.Faults })
	smaller = without(h, func(s *Scenario) *[]Traffic { return &s.Traffic }) || smaller
	smaller = without(h, func(s *Scenario) *[]Expect { return &s.Expect }) || smaller
	return without(h, func(s *Scenario) *[]Limit { return &s.Limits }) || smaller
}

// without leaves out parts of a list: halves first, then smaller pieces, then single
// items (ddmin of Zeller & Hildebrandt 2002).
func without[T any](h *shrinker, list func(*Scenario) *[]T) (smaller bool) {
	for size := len(*list(h.best)); size > 0; size /= 2 {
		for from := 0; from < len(*list(h.best)); {
			to := min(from+size, len(*list(h.best)))
			if h.try(func(s *Scenario) {
				all := list(s)
				*all = slices.Delete(*all, from, to)
				s.Expect = slices.DeleteFunc(s.Expect, func(e Expect) bool { // about a limit that is gone
					return e.Limit != "" && !slices.ContainsFunc(s.Limits, func(l Limit) bool { return l.Name == e.Limit })
				})
			}) {
				smaller = true
			} else {
				from = to
			}
		}
	}
	return smaller
}

// kept are the fields that Shrink leaves as they are: lists and the length have steps of
// their own.
var kept = []string{"name", "seed", "duration", "limits", "traffic", "faults", "expect"}

// each calls do with every field that is set, the outer ones first, until do has shrunk
// one; then it goes on with the fields that are left. do gets a function that finds the
// field in any scenario of that shape.
func (h *shrinker) each(do func(path string, find func(*Scenario) reflect.Value) bool) (smaller bool) {
	for i := 0; ; i++ {
		paths := pathsOf(reflect.ValueOf(h.best).Elem(), "", nil)
		if i >= len(paths) {
			return smaller
		}
		find := func(s *Scenario) reflect.Value { return valueAt(reflect.ValueOf(s).Elem(), "", paths[i]) }
		for do(paths[i], find) {
			smaller = true
			if !find(h.best).IsValid() || find(h.best).IsZero() {
				break
			}
		}
	}
}

// pathsOf appends the paths of the fields below v that are set and may be changed.
func pathsOf(v reflect.Value, path string, all []string) []string {
	walk(v, path, func(path string, v reflect.Value) bool {
		if v.Kind() != reflect.Slice && path != "" && !v.IsZero() && !slices.Contains(kept, path) && !strings.HasSuffix(path, "].name") {
			all = append(all, path)
		}
		return true
	})
	return all
}

// valueAt returns the value at a path; it is not valid where there is none.
func valueAt(v reflect.Value, path, wanted string) (found reflect.Value) {
	walk(v, path, func(path string, v reflect.Value) bool {
		if path == wanted {
			found = v
		}
		return strings.HasPrefix(wanted, path)
	})
	return found
}

// walk calls visit with v and the fields below it, and goes on below where visit returns
// true.
func walk(v reflect.Value, path string, visit func(string, reflect.Value) bool) {
	if !visit(path, v) {
		return
	}
	if v.Kind() == reflect.Pointer {
		if v = v.Elem(); !v.IsValid() {
			return
		}
	}
	switch s := schemas[v.Type()]; {
	case v.Kind() == reflect.Slice && schemas[v.Type().Elem()] != nil:
		for i := range v.Len() {
			walk(v.Index(i), fmt.Sprintf("%s[%d]", path, i), visit)
		}
	case s != nil:
		for i := range s.fields {
			walk(v.Field(s.fields[i].index), join(path, s.fields[i].name), visit)
		}
	}
}

// bounding are the fields of a traffic without which there could be far more requests,
// and a run could take too long.
var bounding = regexp.MustCompile(`^traffic.*\.(attempts|count|stop|think.*)$`)

// fields puts back to their defaults the fields that are not needed.
func (h *shrinker) fields() bool {
	return h.each(func(path string, find func(*Scenario) reflect.Value) bool {
		return !bounding.MatchString(path) && h.try(func(s *Scenario) { find(s).SetZero() })
	})
}

// duration makes the scenario shorter: by halves, then by eighths. Faults that would begin
// after the end are left out.
func (h *shrinker) duration() (smaller bool) {
	for _, part := range []time.Duration{2, 8} {
		for h.best.Duration > time.Millisecond && h.try(func(s *Scenario) {
			s.Duration = time.Duration(rounded(int64(s.Duration-s.Duration/part)/1000, 2)) * 1000
			s.Faults = slices.DeleteFunc(s.Faults, func(f Fault) bool { return f.At >= s.Duration })
		}) {
			smaller = true
		}
	}
	return smaller
}

// numbers makes numbers smaller, by halves, and rounds the numbers that it keeps.
func (h *shrinker) numbers() bool {
	return h.each(func(path string, find func(*Scenario) reflect.Value) bool {
		v := find(h.best)
		unit := int64(1) // of the number
		switch {
		case v.Kind() == reflect.Pointer && v.Type() != decimalPointerType || strings.HasPrefix(path, "expect"):
			return false
		case v.Kind() == reflect.Pointer:
			v = v.Elem()
		}
		switch {
		case v.Type() == rateType:
			v = v.Field(0)
		case v.Type() == durationType:
			unit = 1000
		case v.Kind() != reflect.Int64:
			return false
		}
		n := v.Int() / unit
		candidates := []int64{rounded(n/2, 1), rounded(n, 1), rounded(n, 2)}
		if unit > 1 && strings.HasPrefix(path, "traffic") {
			candidates = candidates[2:] // with shorter times there could be far more requests
		}
		for _, smaller := range candidates {
			if smaller != n && smaller != 0 && h.try(func(s *Scenario) {
				target := find(s)
				if target.Kind() == reflect.Pointer {
					target = target.Elem()
				}
				if target.Type() == rateType {
					target = target.Field(0)
				}
				target.SetInt(smaller * unit)
			}) {
				return true
			}
		}
		return false
	})
}

// rounded cuts a number down to its first digits.
func rounded(n int64, digits int) int64 {
	scale := int64(1)
	for most := pow10(digits); n/scale >= most || n/scale <= -most; {
		scale *= 10
	}
	return n / scale * scale
}

func pow10(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

// clone returns a scenario that shares nothing with s that Shrink changes.
func clone(s *Scenario) *Scenario {
	c := *s
	c.places = nil
	c.Limits = slices.Clone(s.Limits)
	c.Faults = slices.Clone(s.Faults)
	c.Expect = slices.Clone(s.Expect)
	c.Traffic = slices.Clone(s.Traffic)
	c.Network.Reply = own(s.Network.Reply)
	for i := range c.Traffic {
		t := &c.Traffic[i]
		t.Closed, t.Throttle, t.Keys.Alpha = own(t.Closed), own(t.Throttle), own(t.Keys.Alpha)
	}
	return &c
}

// own returns a pointer to a copy; nil of nil.
func own[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}
