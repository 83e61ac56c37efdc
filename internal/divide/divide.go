// Package divide divides a limit into parts that together are the limit.
package divide

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/weirgo/weir/algorithm"
)

// MaxParts is the most parts of one limit.
const MaxParts = 256

// Parts returns n limits, at least 1, that together are one: its units and its capacity are
// divided, and the remainder goes to the first parts, one unit each. There are fewer parts where
// the limit has fewer than n units or a smaller capacity. The error says which algorithms can
// be divided.
func Parts(a algorithm.Algorithm, n int) (parts []algorithm.Algorithm, err error) {
	spec := a.Spec()
	family, known := algorithm.FamilyOf(spec.Kind)
	if _, isQueue := a.(algorithm.Queue); !known || isQueue {
		return nil, errors.New("an algorithm of package algorithm that is no queue")
	}
	rate, capacity := family.Parameters(spec)
	n = int(min(int64(n), rate.Units, capacity))
	for i := range n {
		units, part := portionOf(rate.Units, n, i), portionOf(capacity, n, i)
		if i > 0 && units == portionOf(rate.Units, n, i-1) && part == portionOf(capacity, n, i-1) {
			parts = append(parts, parts[i-1])
			continue
		}
		p, err := family.With(spec, units, part)
		if err != nil {
			return nil, fmt.Errorf("an algorithm whose parts are limits: %w", err)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// Key returns the key of part i of a key. No two keys and parts have the same one: what follows
// the last zero byte is the number.
func Key(key string, i int) string { return key + "\x00" + strconv.Itoa(i) }

// portionOf returns what the ith of n gets of a whole.
func portionOf(whole int64, n, i int) int64 {
	part := whole / int64(n)
	if int64(i) < whole%int64(n) {
		part++
	}
	return part
}
