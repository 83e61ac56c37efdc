package algorithm

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // also where the machine has no database
)

// TestZoneHasOneName: what machines have beside the names of the database is refused: other
// spellings of a name, which would count apart, and the folders posix and right, of which the
// latter has other clocks.
func TestZoneHasOneName(t *testing.T) {
	for _, name := range []string{
		"Europe//Berlin", "Europe/Berlin/", "posix/Europe/Berlin", "right/Europe/Berlin", "right/UTC", "Posix/UTC",
		"../../etc/passwd", "Europe/../Europe/Berlin", "/etc/localtime", "Local", "LOCALTIME", "right/posixrules", "Europe/Berlin\x00", "Europe",
		"europe/berlin", "EUROPE/BERLIN", "Europe/BERLIN", "utc", "etc/gmt+12", "est5edt",
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

// TestZoneNamesAreThoseOfTheDatabase: each is found, and is its own spelling.
func TestZoneNamesAreThoseOfTheDatabase(t *testing.T) {
	names := strings.Fields(zoneNames)
	if len(names) < 500 {
		t.Fatalf("%d names", len(names))
	}
	for _, name := range names {
		if _, err := LoadZone(name); err != nil {
			t.Error(err)
		}
		for _, other := range []string{strings.ToLower(name), strings.ToUpper(name)} {
			if got := spelledZone(other); got != name {
				t.Errorf("spelledZone(%q) = %q, want %q", other, got, name)
			}
		}
	}
}

// TestSpellingOfAZoneIsRefusedWhereItHasAFile: as on file systems that tell no upper case from lower
// case. A zone that is newer than the list has the spelling of its file.
func TestSpellingOfAZoneIsRefusedWhereItHasAFile(t *testing.T) {
	if folder := os.Getenv("ZONEINFO"); os.Getenv("WEIR_TEST_ZONES") != "" { // package time reads it once
		for _, name := range []string{"europe/berlin", "utc"} {
			if _, err := time.LoadLocation(name); err != nil {
				t.Fatalf("%s: not found in %s: %v", name, folder, err)
			}
			var refused *ParameterError
			if zone, err := LoadZone(name); !errors.As(err, &refused) {
				t.Errorf("LoadZone(%q) = %v, %v, want a *ParameterError", name, zone, err)
			}
		}
		if _, err := LoadZone("Moon/Tranquility"); err != nil {
			t.Error(err)
		}
		return
	}
	zone := "TZif" + strings.Repeat("\x00", 16+19) + "\x01\x00\x00\x00\x04" + strings.Repeat("\x00", 6) + "UTC\x00" // one type, of no difference from UTC
	folder := t.TempDir()
	for _, name := range []string{"europe/berlin", "utc", "Moon/Tranquility"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(zone), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), "WEIR_TEST_ZONES=1", "ZONEINFO="+folder)
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}
