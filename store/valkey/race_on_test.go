//go:build race

package valkeystore

// UnderRace says that the race detector is on: it allocates, and is slow.
const UnderRace = true
