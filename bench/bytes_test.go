package main

import (
	"fmt"
	"testing"
)

// TestServerBytes fails where a state takes too much beside the least that a key can
// hold, an integer, which lies in the object itself: the name and the allocator of the
// server are the same for both.
func TestServerBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("fills servers")
	}
	for _, kind := range servers {
		for _, row := range []struct {
			all  []kept
			most float64 // bytes beside an integer
		}{{keptInteger, 0}, {keptShort, 32}, {keptLong, 67}} {
			for _, k := range row.all {
				t.Run(fmt.Sprintf("%s/%s", kind, k.name), func(t *testing.T) {
					bytes, integer, state := k.bytes(t, kind, 12_500)
					t.Logf("%.0f bytes, %.0f beside an integer, at most %.0f: %d characters: %s", bytes, bytes-integer, row.most, len(state), state)
					if bytes-integer > row.most+2 { // what else the server does
						t.Errorf("%.0f bytes beside an integer are more than %.0f", bytes-integer, row.most)
					}
				})
			}
		}
	}
}

// TestServerBytesOfALog fails where an entry of a long log takes more than it should.
func TestServerBytesOfALog(t *testing.T) {
	most := map[string]float64{"log-entry": 14, "log-entry-of-1-to-5": 20}
	for _, kind := range servers {
		for name, costs := range keptEntries {
			t.Run(fmt.Sprintf("%s/%s", kind, name), func(t *testing.T) {
				if bytes := entryBytes(t, kind, costs); bytes > most[name] {
					t.Errorf("an entry takes %.1f bytes, more than %.0f", bytes, most[name])
				}
			})
		}
	}
}
