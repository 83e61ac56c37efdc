package algorithm

import (
	"errors"
	"strings"
	"testing"
	_ "time/tzdata" // also where the machine has no database
)

// TestZoneHasOneName: what machines have beside the names of the database is refused: other
// spellings of a name, which would count apart, and the folders posix and right, of which the
// latter has other clocks.
func TestZoneHasOneName(t *testing.T) {
	for _, name := range []string{
		"Europe//Berlin", "Europe/Berlin/", "posix/Europe/Berlin", "right/Europe/Berlin", "right/UTC", "Posix/UTC",
		"../../etc/passwd", "Europe/../Europe/Berlin", "/etc/localtime", "Local", "LOCALTIME", "right/posixrules", "Europe/Berlin\x00", "Europe",
	} {
		var refused *ParameterError
		if zone, err := LoadZone(name); !errors.As(err, &refused) {
			t.Errorf("LoadZone(%q) = %v, %v, want a *ParameterError", name, zone, err)
		}
	}
	for _, name := range []string{"", "UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+12", "EST5EDT", "America/Port-au-Prince"} {
		if _, err := LoadZone(name); err != nil {
			t.Error(err)
		}
	}
}

// TestRefusalOfALongZoneIsShort: it repeats the beginning.
func TestRefusalOfALongZoneIsShort(t *testing.T) {
	_, err := LoadZone(strings.Repeat("a", 1<<20))
	if err == nil || len(err.Error()) > 300 || !strings.Contains(err.Error(), `"aaa`) {
		t.Errorf("%.400v", err)
	}
}
