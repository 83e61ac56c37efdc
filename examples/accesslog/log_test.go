package main

import (
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// entry is a line as a reader of the log understands it. The reader shares nothing with the generator, so that a mistake in the
// one does not hide in the other.
type entry struct {
	at           time.Time
	client       netip.Addr
	method, path string
	status       string
	referer      string
	agent        string
}

var combined = regexp.MustCompile(
	`^(\S+) - \S+ \[([^\]]+)\] "([A-Z]+) (\S+) HTTP/[0-9.]+" ([0-9]{3}) (?:[0-9]+|-) "([^"]*)" "((?:[^"\\]|\\.)*)"$`)

func parse(line string) (entry, error) {
	field := combined.FindStringSubmatch(line)
	if field == nil {
		return entry{}, fmt.Errorf("not in Combined Log Format: %q", line)
	}
	client, err := netip.ParseAddr(field[1])
	if err != nil {
		return entry{}, err
	}
	at, err := time.Parse("02/Jan/2006:15:04:05 -0700", field[2])
	if err != nil {
		return entry{}, err
	}
	return entry{at, client, field[3], field[4], field[5], field[6], field[7]}, nil
}

// readLog returns the readable and the malformed lines of the checked-in log.
func readLog(t *testing.T) (entries []entry, malformed []string) {
	t.Helper()
	for _, line := range logLines(t) {
		if e, err := parse(line); err != nil {
			malformed = append(malformed, line)
		} else {
			entries = append(entries, e)
		}
	}
	return entries, malformed
}

func logLines(t *testing.T) []string {
	t.Helper()
	text, complete := strings.CutSuffix(readFile(t, "access.log"), "\n")
	if !complete {
		t.Fatal("access.log does not end with an end of line")
	}
	return strings.Split(text, "\n")
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
