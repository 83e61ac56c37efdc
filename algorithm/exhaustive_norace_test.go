//go:build !race

package algorithm_test

const raceEnabled = false
