package main

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var commandOnPage = regexp.MustCompile(`<code>(weir [^<]*)</code>`)

func TestReplayAndCompareWriteAPage(t *testing.T) {
	for _, args := range [][]string{
		{"replay", "--limit", "gcra:30/1m"},
		{"compare", "--limit", "gcra:30/1m", "--limit", "fixed-window:30/1m"},
	} {
		page := filepath.Join(t.TempDir(), "report.html")
		want := start(append(args, sample)...)
		got := start(append(args, "--html", page, sample)...)
		if got != want {
			t.Errorf("%q: the text is another one with --html: status %d, %s%s", args, got.status, got.out, got.err)
		}
		written := read(t, page)
		if !strings.HasPrefix(written, "<!DOCTYPE html>") || !strings.HasSuffix(written, "</html>\n") || strings.Count(written, "<figure ") < 2 {
			t.Errorf("%q: no page with pictures: %.200s", args, written)
		}
		onStandardOutput := start(append(args, "--html", "-", sample)...)
		if onStandardOutput != (result{exitOK, written, ""}) {
			t.Errorf("%q: --html - is not the page alone: status %d, %s", args, onStandardOutput.status, onStandardOutput.err)
		}
	}
}

// The command on a page gives the same report again.
func TestTheCommandOnAPageGivesTheSamePage(t *testing.T) {
	name := filepath.Join(t.TempDir(), "it's a trace.csv")
	write(t, name, "when,who,cost\n1,ada,1\n3,bob,7\n2,ada,2\n")
	args := []string{"replay", "--html", "-", "--limit", "gcra:2/1s", "--time-column", "when", "--time-unit", "ms", "--key", "who", "--cost-column", "cost", name}
	page := start(args...)
	if page.status != exitOK {
		t.Fatal(page.err)
	}
	found := commandOnPage.FindStringSubmatch(page.out)
	if found == nil {
		t.Fatalf("no command in %s", page.out)
	}
	words := shellSplit(t, html.UnescapeString(found[1]))
	again := start(append(words[1:], "--html", "-")...)
	if again != page {
		t.Errorf("%q gives another page: status %d, %s", words, again.status, again.err)
	}
}

// shellSplit splits a line at spaces outside of quotes, as a shell does.
func shellSplit(t *testing.T, line string) (words []string) {
	t.Helper()
	word, quoted := "", false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'':
			quoted = !quoted
		case c == '\\' && !quoted:
			i++
			word += string(line[i])
		case c == ' ' && !quoted:
			words, word = append(words, word), ""
		default:
			word += string(c)
		}
	}
	if quoted {
		t.Fatalf("an open quote in %s", line)
	}
	return append(words, word)
}

func TestAPageGoesToAPlaceOfItsOwn(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	copied := filepath.Join(t.TempDir(), "trace.jsonl")
	write(t, copied, twoKeys)
	for want, args := range map[string][]string{
		"--decisions and --html are both":                             {"replay", "--limit", "gcra:1/1s", "--decisions", out, "--html", out, copied},
		"--json and --html are both":                                  {"compare", "--limit", "gcra:1/1s", "--limit", "gcra:2/1s", "--json", "-", "--html", "-", copied},
		"--html: \"" + copied + "\" is the trace itself":              {"replay", "--limit", "gcra:1/1s", "--html", copied, copied},
		"--html: open " + filepath.Join(out, "missing", "page.html:"): {"replay", "--limit", "gcra:1/1s", "--html", filepath.Join(out, "missing", "page.html"), copied},
	} {
		if got := start(args...); got.status == exitOK || !strings.Contains(got.err, want) || got.out != "" {
			t.Errorf("%q: status %d, %s%s", args, got.status, got.out, got.err)
		}
	}
	if read(t, copied) != twoKeys {
		t.Error("the trace was overwritten")
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a refused command has written something")
	}
}
