//go:build race

package redisstore

// UnderRace says that the race detector is on: it allocates, and is slow.
const UnderRace = true
