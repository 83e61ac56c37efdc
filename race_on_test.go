//go:build race

package weir_test

// underRace says that the race detector is on, which allocates.
const underRace = true
