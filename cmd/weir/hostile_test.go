package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// hostileKeys are what strangers may send to whoever reads the report.
var hostileKeys = []string{
	"\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x9b2J", "\u009b2J", "\r\nforged line", "\ttab", "\x00", "\x7f", "a\u202etxt.exe",
	"\xff\xfe", `"quoted"`, " spaces ", `C:\new`, "日本", "\u00a0", "\ufeff",
}

// hostileLog is a log with a line for each of some user agents.
func hostileLog(agents ...string) string {
	var log strings.Builder
	for _, agent := range agents {
		var escaped strings.Builder
		for _, c := range []byte(agent) {
			fmt.Fprintf(&escaped, `\x%02x`, c)
		}
		fmt.Fprintf(&log, "h - - [01/Jan/2026:00:00:00 +0000] \"-\" 200 1 \"-\" \"%s\"\n", escaped.String())
	}
	return log.String()
}

func TestReportShowsNothingThatATerminalActsOn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "\x1b[31m")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip("this system has no such file names:", err)
	}
	log := hostileLog(hostileKeys...)
	for _, bad := range hostileKeys {
		log += bad + "\n"
	}
	for _, key := range hostileKeys { // ten of the most denied at a time
		file := filepath.Join(dir, "access.log")
		write(t, file, hostileLog(key, key)+log)
		got := start("replay", "--key", "user-agent", "--limit", "gcra:1/1h", file)
		if got.status != exitOK || !strings.Contains(got.out, "denied    2 ") || !strings.Contains(got.out, " bad lines\n") {
			t.Fatalf("%q: status %d, %s\n%s", key, got.status, got.err, got.out)
		}
		if i := strings.IndexFunc(got.out, func(c rune) bool { return c != '\n' && !strconv.IsPrint(c) }); i >= 0 || !utf8.ValidString(got.out) {
			t.Errorf("%q: the report holds %q", key, got.out[max(0, i):])
		}
	}
}

func TestEveryKeyMakesAValidDecisionLine(t *testing.T) {
	var agents []string
	for c := range 256 {
		agents = append(agents, string([]byte{byte(c)}))
	}
	agents = append(agents, hostileKeys...)
	lines := strings.SplitAfter(replayed(t, hostileLog(agents...), "--key", "user-agent", "--limit", "gcra:1/1h", "--decisions", "-"), "\n")
	if len(lines) != len(agents)+1 {
		t.Fatalf("%d lines for %d keys", len(lines)-1, len(agents))
	}
	for i, agent := range agents {
		var d struct{ Key string }
		if err := json.Unmarshal([]byte(lines[i]), &d); err != nil || !utf8.ValidString(lines[i]) {
			t.Errorf("key %q: %q: %v", agent, lines[i], err)
		}
		if want := strings.ToValidUTF8(agent, "\ufffd"); utf8.ValidString(agent) && d.Key != want {
			t.Errorf("key %q reads as %q", agent, d.Key)
		}
		for _, c := range lines[i][:len(lines[i])-1] {
			if c < ' ' {
				t.Errorf("key %q: the line holds %q", agent, c)
			}
		}
	}
}

// JSON cannot hold the bytes, but the limit can: these are two clients.
func TestKeysThatLookTheSameAreDecidedApart(t *testing.T) {
	log := hostileLog("\xff", "\xfe", "\ufffd", "\xff")
	got := replayed(t, log, "--key", "user-agent", "--limit", "gcra:1/1h", "--decisions", "-")
	var allowed []bool
	for line := range strings.Lines(got) {
		if !strings.Contains(line, "\"key\":\"\ufffd\"") && !strings.Contains(line, `"key":"\ufffd"`) {
			t.Errorf("not U+FFFD: %s", line)
		}
		allowed = append(allowed, strings.Contains(line, `"allowed":true`))
	}
	if fmt.Sprint(allowed) != "[true true true false]" {
		t.Errorf("allowed %v", allowed)
	}
	summary := replayed(t, log, "--key", "user-agent", "--limit", "gcra:1/1h")
	if !strings.Contains(summary, "keys      3, of which 1 denied") || !strings.Contains(summary, `"\xff"`) {
		t.Error(summary)
	}
}
