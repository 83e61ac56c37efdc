package main

import (
	"bytes"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestGeneratorReproducesTheCheckedInLog(t *testing.T) {
	got, want := string(generate(defaultSeed)), readFile(t, "access.log")
	if got == want {
		return
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(gotLines), len(wantLines)) {
		if gotLines[i] != wantLines[i] {
			t.Fatalf("line %d differs:\ngenerated  %q\nchecked in %q", i+1, gotLines[i], wantLines[i])
		}
	}
	t.Fatalf("generated %d lines, checked in are %d", len(gotLines), len(wantLines))
}

func TestLogStaysSmall(t *testing.T) {
	if size := len(readFile(t, "access.log")); size > 300_000 {
		t.Errorf("access.log has %d bytes, more than 300000", size)
	}
}

func TestReadmeStatesTheCounts(t *testing.T) {
	entries, malformed := readLog(t)
	var latest time.Time
	var stepBack time.Duration
	outOfOrder, escaped := 0, 0
	clients, clients6 := map[netip.Addr]bool{}, map[netip.Addr]bool{}
	for _, e := range entries {
		if e.at.Before(latest) {
			outOfOrder++
			stepBack = max(stepBack, latest.Sub(e.at))
		} else {
			latest = e.at
		}
		clients[e.client] = true
		if e.client.Is6() {
			clients6[e.client] = true
		}
		if strings.Contains(e.agent, `\"`) {
			escaped++
		}
	}
	counts := map[string]int{
		"lines":                         len(logLines(t)),
		"malformed lines":               len(malformed),
		"lines out of order":            outOfOrder,
		"largest step back, in seconds": int(stepBack / time.Second),
		"clients":                       len(clients),
		"clients with IPv6":             len(clients6),
		"lines with an escaped quote":   escaped,
	}

	rows := regexp.MustCompile(`(?m)^\| ([^|]+) \| ([0-9]+) \|$`).FindAllStringSubmatch(readFile(t, "README.md"), -1)
	if len(rows) != len(counts) {
		t.Errorf("README.md states %d counts, want %d", len(rows), len(counts))
	}
	for _, row := range rows {
		stated, err := strconv.Atoi(row[2])
		if err != nil {
			t.Fatal(err)
		}
		if count, known := counts[row[1]]; !known {
			t.Errorf("README.md counts %q, which is unknown here", row[1])
		} else if stated != count {
			t.Errorf("README.md: %s: %d, counted %d", row[1], stated, count)
		}
	}
}

func TestReadmeNamesTheClientsWithAPart(t *testing.T) {
	readme := readFile(t, "README.md")
	for _, c := range []client{crawler, guesser, office} {
		if !strings.Contains(readme, "| "+c.address.String()+" |") {
			t.Errorf("README.md does not name %s", c.address)
		}
	}
}

func TestSeedChangesTheLog(t *testing.T) {
	var standard, same, other bytes.Buffer
	for _, call := range []struct {
		args []string
		out  *bytes.Buffer
	}{
		{nil, &standard},
		{[]string{"-seed", "2026"}, &same},
		{[]string{"-seed", "1"}, &other},
	} {
		if status := run(call.args, call.out, io.Discard); status != 0 {
			t.Fatalf("%q: exit status %d", call.args, status)
		}
	}
	if !bytes.Equal(standard.Bytes(), same.Bytes()) {
		t.Error("-seed 2026 differs from the log without a seed")
	}
	if bytes.Equal(standard.Bytes(), other.Bytes()) {
		t.Error("-seed 1 gives the log of seed 2026")
	}
}

func TestOutputFlagWritesTheFileAndNothingElse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "day.log")
	var stdout, stderr bytes.Buffer
	if status := run([]string{"-o", file}, &stdout, &stderr); status != 0 {
		t.Fatalf("exit status %d: %s", status, &stderr)
	}
	if stdout.Len() > 0 || stderr.Len() > 0 {
		t.Errorf("standard output %q, standard error %q, want both empty", &stdout, &stderr)
	}
	if readFile(t, file) != readFile(t, "access.log") {
		t.Error("the file differs from access.log")
	}
}

func TestWrongUsageExitsWithTwoAndWritesNoLog(t *testing.T) {
	for _, args := range [][]string{
		{"-seed", "many"}, {"-seed", "-1"}, {"-seed", "18446744073709551616"}, {"-seed"}, {"-o", ""}, {"-o"}, {"-x"}, {"day.log"},
	} {
		var stdout, stderr bytes.Buffer
		if status := run(args, &stdout, &stderr); status != 2 {
			t.Errorf("%q: exit status %d, want 2", args, status)
		}
		if stdout.Len() > 0 {
			t.Errorf("%q: wrote %d bytes of log", args, stdout.Len())
		}
		if !strings.Contains(stderr.String(), "Usage") {
			t.Errorf("%q: no usage on standard error: %q", args, &stderr)
		}
	}
}

func TestHelpIsNotAnError(t *testing.T) {
	if status := run([]string{"-h"}, io.Discard, io.Discard); status != 0 {
		t.Errorf("exit status %d, want 0", status)
	}
}

func TestUnwritableOutputExitsWithOne(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing", "day.log")
	var stderr bytes.Buffer
	if status := run([]string{"-o", missing}, io.Discard, &stderr); status != 1 {
		t.Errorf("missing folder: exit status %d, want 1", status)
	}
	if stderr.Len() == 0 {
		t.Error("missing folder: nothing on standard error")
	}

	closed, err := os.Create(filepath.Join(t.TempDir(), "closed"))
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	if status := run(nil, closed, io.Discard); status != 1 {
		t.Errorf("closed standard output: exit status %d, want 1", status)
	}
}
