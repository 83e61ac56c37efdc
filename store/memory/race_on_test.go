//go:build race

package memorystore_test

// underRace says that the race detector is on: it allocates, and is slow.
const underRace = true
