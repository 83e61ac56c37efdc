package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEachFaultMakesAGoodLineUnreadable(t *testing.T) {
	good := request{from: newPopulation(newStream(1, "clients"))[0], method: "GET", path: "/", status: 200, bytes: 9}.line()
	if _, err := parse(good); err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		s := newStream(1, fault.name)
		for range 200 {
			bad := fault.spoil(good, s)
			if _, err := parse(bad); err == nil {
				t.Fatalf("%s: readable: %q", fault.name, bad)
			}
			if strings.ContainsAny(bad, "\r\n") {
				t.Fatalf("%s: more than one line: %q", fault.name, bad)
			}
		}
	}
}

// The kinds are told apart by their looks and in their order, not by asking the code that made them.
func TestFiveLinesAreMalformedOneOfEachKind(t *testing.T) {
	_, malformed := readLog(t)
	kinds := []struct {
		name string
		is   func(line string) bool
	}{
		{"truncated line", func(line string) bool { return strings.Contains(line, "[") && !strings.Contains(line, "]") }},
		{"missing closing quote", func(line string) bool { return strings.Count(line, `"`) == 5 }},
		{"impossible date", func(line string) bool { return strings.Contains(line, "[31/Feb/2026:") }},
		{"not a log line", func(line string) bool { return utf8.ValidString(line) && !strings.ContainsAny(line, `["`) }},
		{"binary garbage", func(line string) bool { return !utf8.ValidString(line) && strings.Contains(line, "\x00") }},
	}
	if len(malformed) != len(kinds) {
		t.Fatalf("%d malformed lines, want %d: %q", len(malformed), len(kinds), malformed)
	}
	for i, kind := range kinds {
		if !kind.is(malformed[i]) {
			t.Errorf("malformed line %d is no %s: %q", i+1, kind.name, malformed[i])
		}
	}
}
