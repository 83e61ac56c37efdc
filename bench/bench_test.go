package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEverythingIsMeasured runs the whole command for a moment, and each name that it
// lists has a value, and each goal a measurement.
func TestEverythingIsMeasured(t *testing.T) {
	var listed bytes.Buffer
	list := &run{scale: instant, only: regexp.MustCompile(""), list: true, log: &listed, values: book{}}
	list.all(t)
	r := &run{scale: instant, only: regexp.MustCompile(""), log: io.Discard, values: book{}}
	r.all(t)
	names := strings.Fields(listed.String())
	if len(names) < 300 {
		t.Errorf("only %d names", len(names))
	}
	for _, name := range names {
		found := false
		for value := range r.values {
			found = found || value == name || strings.HasPrefix(value, name+"/")
		}
		if !found && !strings.HasPrefix(name, "processor/") { // which a server counts in hundredths of a second
			t.Errorf("%s has no value", name)
		}
	}
	for _, g := range goals() {
		if len(g.medians(r.values)) == 0 && !strings.HasPrefix(g.name, "processor/") {
			t.Errorf("%s: there is no %s", g.what, g.name)
		}
	}
	text := r.markdown()
	for _, table := range r.tables() {
		if table.title != "" && !strings.Contains(text, "### "+table.title+"\n") && len(table.rows) > 0 {
			t.Errorf("there is no table %q", table.title)
		}
	}
}

// TestOnlyWhatIsWantedIsMeasured: -only, and -list, which measures nothing.
func TestOnlyWhatIsWantedIsMeasured(t *testing.T) {
	var out, log bytes.Buffer
	if status := command([]string{"-list", "-only", "^heap/(floor|weir-gcra)$"}, &out, &log); status != exitDone {
		t.Fatalf("status %d: %s", status, &log)
	}
	if log.String() != "heap/floor\nheap/weir-gcra\n" || out.String() != "" {
		t.Errorf("%q, %q", &log, &out)
	}
	for _, args := range [][]string{{"-only", "("}, {"-unknown"}, {"word"}} {
		if status := command(args, io.Discard, io.Discard); status != exitUsage {
			t.Errorf("%q: status %d", args, status)
		}
	}
}

// TestGoalsAreJudgedAsTheyAreShown: a goal is missed where the number that is printed is
// worse, and a check fails only beyond twice the goal.
func TestGoalsAreJudgedAsTheyAreShown(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   string
		missed int
	}{
		{"memory/hot/serial/admitted/weir-gcra", []float64{9, 1.304, 0.1}, "| 1.30 | ≤ 1.3 | met |", 0},
		{"memory/hot/serial/admitted/weir-gcra", []float64{1.306}, "| 1.31 | ≤ 1.3 | missed |", 0},
		{"memory/hot/serial/admitted/weir-gcra", []float64{2.61}, "| 2.61 | ≤ 1.3 | missed |", 1},
		{"server/redis/1/one/admitted/redisstore/rate", []float64{1.04}, "| 1.04 | ≥ 1.05 | missed |", 0},
		{"server/redis/1/one/admitted/redisstore/rate", []float64{0.5}, "| 0.50 | ≥ 1.05 | missed |", 1},
		{"bytes/redis/gcra", []float64{133.4}, "| 133 | ≤ 133 / ≤ 117 | met |", 0},
	} {
		r := &run{scale: instant, values: book{c.name: c.values}}
		if text := r.markdown(); !strings.Contains(text, c.want) || len(r.missed()) != c.missed {
			t.Errorf("%s %v: missed %q, in\n%s", c.name, c.values, r.missed(), text)
		}
	}
}

// TestDocsAreWrittenBetweenTheirMarks: and nothing else of the file changes.
func TestDocsAreWrittenBetweenTheirMarks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(file, []byte("# Page\n<!-- bench -->\nold\n<!-- /bench -->\nrest\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := replaceBetween(file, "new\n"); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := os.ReadFile(file); string(got) != "# Page\n<!-- bench -->\nnew\n<!-- /bench -->\nrest\n" {
		t.Errorf("%q", got)
	}
	if err := os.WriteFile(file, []byte("<!-- bench -->\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := replaceBetween(file, "new"); err == nil {
		t.Error("a file with one mark is written")
	}
}

// TestPlotsHaveTheirCurves: each plot of which there are values is a file with a line for
// each of its curves, and the others are left out.
func TestPlotsHaveTheirCurves(t *testing.T) {
	r := &run{scale: instant, values: book{"growth/keys/floor/10": {40}, "growth/keys/floor/20": {50}, "growth/keys/weir-gcra/10": {90}, "growth/keys/weir-gcra/20": {1500}}}
	folder := t.TempDir()
	if err := r.draw(folder); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != 1 || files[0].Name() != "growth-keys.svg" {
		t.Fatalf("%v, %v", files, err)
	}
	text, _ := os.ReadFile(filepath.Join(folder, "growth-keys.svg"))
	if err := xml.Unmarshal(text, new(struct{})); err != nil || strings.Count(string(text), `fill="none"`) != 2 || !strings.Contains(string(text), ">10k ns<") {
		t.Errorf("%v:\n%s", err, text)
	}
}

// TestOrderOfRoundsTurns: each limiter has a block of the reference right before it, and
// another neighbour in each round.
func TestOrderOfRoundsTurns(t *testing.T) {
	var order strings.Builder
	interleave(3, 3, func() byte { order.WriteByte('-'); return '-' },
		func(i int) byte { order.WriteByte("abc"[i]); return "abc"[i] },
		func(i int, x, y byte) {
			if x != '-' || y != "abc"[i] {
				t.Errorf("%c beside %c", y, x)
			}
		})
	if order.String() != "-a-b-c-b-c-a-c-a-b" {
		t.Error(order.String())
	}
}
