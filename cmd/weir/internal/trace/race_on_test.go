//go:build race

package trace

// raceEnabled is whether the race detector is on. It empties every sync.Pool at random, such as that of encoding/json.
const raceEnabled = true
