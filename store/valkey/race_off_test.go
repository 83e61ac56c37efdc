//go:build !race

package valkeystore

const UnderRace = false
