//go:build !race

package redisstore

const UnderRace = false
