//go:build !race

package memorystore_test

const underRace = false
