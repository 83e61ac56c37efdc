//go:build race

package algorithm_test

// raceEnabled says that everything takes ten times as long: the exhaustive
// searches, which are of one goroutine, then do as much as in short mode.
const raceEnabled = true
