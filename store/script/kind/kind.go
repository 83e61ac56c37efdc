// Package kind holds what scripts on a server need to know of each built-in algorithm:
// beside NAME.go, with the numbers that its Lua is called with, lies NAME.lua, which
// decides as the Go function does. An algorithm of a user brings both in a
// script.Source.
//
// What follows from cost and parameters alone is computed here, once, with 128 bits,
// and not on the server. By the bounds of algorithm.Rate every number is below 2^53.
package kind

import (
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/exact"
)

//go:generate go run ../../../internal/generate/list -type Kind -func All -out kinds_generated.go

// Kind is what scripts need to know of the algorithms of one kind.
type Kind struct {
	// Name is their Spec().Kind.
	Name string
	// File is the name of the file of Lua, without ".lua".
	File string
	// Limit appends the numbers of a limit: always the same count.
	Limit func(a algorithm.Algorithm, numbers []int64) []int64
	// Request appends the numbers of a take: always the same count.
	Request func(a algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64
	// Charge and Refund append all the numbers of a request with that verb, those of
	// the limit included. nil: the Lua decides takes only.
	Charge, Refund func(a algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64
	// Around returns the numbers that follow those of every request, of an algorithm
	// whose windows the Lua cannot compute: they are made for an instant, and suit it
	// best from from on and before until. The Lua answers '?' where the instant of the
	// decision is too far from that. nil: there are none.
	Around func(a algorithm.Algorithm, at algorithm.Instant) (numbers []int64, from, until algorithm.Instant)
}

// All returns all the numbers of a charge or a refund; nil where the Lua does not
// decide them.
func (k *Kind) All(a algorithm.Algorithm, r algorithm.Request) []int64 {
	all := k.Charge
	if r.Verb == algorithm.Refund {
		all = k.Refund
	}
	if all == nil {
		return nil
	}
	return all(a, r, nil)
}

// raised is an algorithm whose capacity is larger by the largest debt: a charge is a take
// of such a one.
type raised struct {
	algorithm.Algorithm
	spec algorithm.Spec
}

// Spec implements algorithm.Algorithm.
func (r raised) Spec() algorithm.Spec { return r.spec }

func raise(a algorithm.Algorithm) algorithm.Algorithm {
	r := raised{a, a.Spec()}
	if r.spec.Params[2] != 0 {
		r.spec.Params[2] += maxDebt(a)
	} else {
		r.spec.Params[0] += maxDebt(a)
	}
	return r
}

// maxDebt is the largest debt of a built-in algorithm, which is an algorithm.Charger.
func maxDebt(a algorithm.Algorithm) int64 { return a.(algorithm.Charger).MaxDebt() }

// chargeWindow is the numbers of a charge that is counted.
func chargeWindow(a algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64 {
	a = raise(a)
	return count(a, r, window(a, numbers))
}

// refundWindow is a cost below 0, and the instant of the take.
func refundWindow(a algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64 {
	return append(window(a, numbers), -min(r.Cost, algorithm.MaxWord), int64(r.At))
}

// chargeTime is the numbers of a charge that takes time.
func chargeTime(a algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64 {
	a = raise(a)
	return costTime(a, r, burstTime(a, numbers))
}

// refundTime is minus cost × T, which is cut down to what Lua can hold.
func refundTime(a algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64 {
	p := a.Spec().Params
	units, per := exact.Lowest(p[0], p[1])
	whole, part := exact.MulDiv(r.Cost, per, units)
	if whole >= algorithm.MaxWord {
		whole, part = algorithm.MaxWord, 0
	}
	if part > 0 {
		whole, part = whole+1, units-part
	}
	return append(burstTime(a, numbers), -whole, part)
}

// count is the cost, where it is impossible cut down to one that is too.
func count(a algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64 {
	return append(numbers, min(r.Cost, capacity(a.Spec().Params)+1))
}

// capacity is the largest cost that can ever be admitted.
func capacity(p [4]int64) int64 {
	if p[2] != 0 {
		return p[2] // burst or capacity
	}
	return p[0]
}

// window is the limit and the period.
func window(a algorithm.Algorithm, numbers []int64) []int64 {
	p := a.Spec().Params
	return append(numbers, p[0], p[1])
}

// burstTime is burst × T as whole µs and a numerator over the limit in lowest terms,
// and that limit.
func burstTime(a algorithm.Algorithm, numbers []int64) []int64 {
	p := a.Spec().Params
	units, per := exact.Lowest(p[0], p[1])
	whole, part := exact.MulDiv(p[2], per, units)
	return append(numbers, whole, part, units)
}

// costTime is cost × T, as burstTime.
func costTime(a algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64 {
	p := a.Spec().Params
	units, per := exact.Lowest(p[0], p[1])
	whole, part := exact.MulDiv(min(r.Cost, p[2]+1), per, units)
	return append(numbers, whole, part)
}

// micros is a duration in µs, cut down to what Lua can hold.
func micros(d time.Duration) int64 {
	return min(int64(d/time.Microsecond), algorithm.MaxWord)
}
