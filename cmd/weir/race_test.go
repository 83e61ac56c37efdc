//go:build race

package main

// The race detector makes everything ten times slower.
const raceEnabled = true
