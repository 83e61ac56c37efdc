package algorithm

import (
	"strconv"
	"strings"
	"time"
)

// maxZone is the most bytes of the name of a zone: the longest of the database has 32.
const maxZone = 48

// LoadZone returns a zone of the IANA database of time zones, such as "Europe/Berlin"; ""
// is UTC. A zone has one name: another spelling, such as "europe/berlin", is a *ParameterError on
// every system, and so are "Local" and the other names of the zone of a machine, which is
// another zone on another machine.
//
// The database is the one that package time finds: the file or folder that the environment
// variable ZONEINFO names, that of the machine, or the one in a program that imports
// time/tzdata. LoadZone reads a file each time.
func LoadZone(name string) (*time.Location, error) { return loadZone("zone", "name", name) }

// loadZone is LoadZone with an error about a field of something.
func loadZone(of, field, name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	allowed := "a name of the IANA database of time zones, such as Europe/Berlin or UTC"
	if isLocal(name) {
		allowed += "; what is local is another zone on another machine"
	} else if isZoneName(name) {
		// A file system that tells no upper case from lower case has each name in many spellings.
		spelled := spelledZone(name)
		if spelled != name {
			allowed += "; perhaps " + spelled
		} else if zone, err := time.LoadLocation(name); err == nil {
			return zone, nil
		} else if !inDatabase("Europe/Berlin") {
			allowed += "; there is no database on this machine, and a program that imports time/tzdata brings one along"
		}
	}
	if len(name) > maxZone {
		name = name[:maxZone] + "..."
	}
	return nil, &ParameterError{Of: of, Field: field, Value: strconv.Quote(name), Allowed: allowed}
}

func inDatabase(name string) bool {
	_, err := time.LoadLocation(name)
	return err == nil
}

// isLocal reports whether a name is one of the zone of a machine, also on a file system
// that tells no upper case from lower case.
func isLocal(name string) bool {
	for _, local := range []string{"local", "localtime", "posixrules"} {
		if strings.EqualFold(name, local) {
			return true
		}
	}
	return false
}

// isZoneName reports whether a name can be one of the database. Machines have a second copy of
// it in a folder posix, and in a folder right one whose clocks count leap seconds; with two
// slashes a file has another name.
func isZoneName(name string) bool {
	if len(name) > maxZone || isAnchor(name) || strings.Contains(name, "//") || strings.HasSuffix(name, "/") {
		return false
	}
	if folder, _, _ := strings.Cut(name, "/"); strings.EqualFold(folder, "posix") || strings.EqualFold(folder, "right") {
		return false
	}
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || (c < '0' || c > '9') && strings.IndexByte("/_+-", c) < 0) {
			return false
		}
	}
	return true
}
