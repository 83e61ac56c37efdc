// Package doctest runs what the documentation shows: every Go program is
// compiled and run, and every command is run, and the output must be the one
// that the page shows.
//
// A block marked go that starts with "package main" is a program; a text block
// right after it is its output. A program that names serverAddr runs against a
// server of its own, which has another address. Each page is a subtest, such as
// TestDocumentationRuns/docs/guides/waiting.
//
// A block, of any language, whose first line is the path of a file of the project
// in a comment is a part of that file, which has tests of its own. Any other block
// marked go is a part of a test, see parts. A block marked console holds commands
// after "$ " and their output. Blocks marked sh are for setting up a machine, and
// are what CI itself does, or need a server; they are not run here.
package doctest

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/internal/servertest"
)

var update = flag.Bool("update", false, "write the output of console blocks into the pages")

const root = "../.."

func TestDocumentationRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs programs: skipped by -short")
	}
	programs, commands := 0, 0
	for _, page := range pages(t) {
		t.Run(nameOf(page), func(t *testing.T) {
			p, c := runPage(t, page)
			programs += p
			commands += c
		})
	}
	if programs == 0 && commands == 0 {
		t.Error("no block was run: are the blocks still marked, or does -run match no page?")
	}
}

// nameOf returns the name of the test of a page, such as docs/guides/waiting.
func nameOf(page string) string {
	name := strings.TrimSuffix(filepath.ToSlash(page), ".md")
	return strings.TrimPrefix(name, root+"/")
}

// runPage runs the blocks of a page, and counts them.
func runPage(t *testing.T, page string) (programs, commands int) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := split(string(text))
	for i := range blocks {
		b := &blocks[i]
		where := fmt.Sprintf("%s:%d", page, b.line)
		file, part := quoted(b.text)
		switch {
		case file != "":
			programs++
			mustQuote(t, where, file, part)
		case b.language == "go" && strings.HasPrefix(b.text, "package main\n"):
			programs++
			got := runProgram(t, where, b.text)
			if i+1 < len(blocks) && blocks[i+1].language == "text" && got != blocks[i+1].text && got != skipped {
				t.Errorf("%s: the program prints\n%s\nthe page says\n%s", where, got, blocks[i+1].text)
			}
		case b.language == "go":
			programs++
			runPart(t, where, b.text)
		case b.language == "console":
			got, n := runConsole(t, where, b.text)
			commands += n
			if got == b.text {
				continue
			}
			if !*update {
				t.Errorf("%s: got\n%s\nthe page says\n%s", where, got, b.text)
				continue
			}
			text = []byte(strings.Replace(string(text), "```console\n"+b.text, "```console\n"+got, 1))
		}
	}
	if *update {
		if err := os.WriteFile(page, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return programs, commands
}

// link is a Markdown link to a file of the project.
var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

func TestLinksLeadSomewhere(t *testing.T) {
	links := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), found[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
	if links == 0 {
		t.Error("no link found")
	}
}

var (
	place   = regexp.MustCompile(`\]\(([^)#:]*)#([^)]+)\)`) // a link to a heading
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	silent  = regexp.MustCompile(`[^\pL\pN_ -]`) // what is left out of the name of a heading
)

func TestLinksToHeadingsLeadSomewhere(t *testing.T) {
	texts := map[string]string{}
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Clean(page)] = fenced.ReplaceAllString(string(text), "")
	}
	headings := func(text string) (names []string) {
		for _, found := range heading.FindAllStringSubmatch(text, -1) {
			names = append(names, strings.ReplaceAll(strings.ToLower(silent.ReplaceAllString(found[1], "")), " ", "-"))
		}
		return names
	}
	links := 0
	for page, text := range texts {
		for _, found := range place.FindAllStringSubmatch(text, -1) {
			to := page
			if found[1] != "" {
				to = filepath.Join(filepath.Dir(page), found[1])
			}
			if there, isPage := texts[to]; isPage {
				links++
				if names := headings(there); !slices.Contains(names, found[2]) {
					t.Errorf("%s: %s has no heading %q: %q", page, to, found[2], names)
				}
			}
		}
	}
	if links == 0 {
		t.Error("no link found")
	}
}

// file is a path of the project between backticks, such as `store/decide.go`.
var file = regexp.MustCompile("`((?:[a-zA-Z_]+/)*[a-zA-Z_]+\\.(?:go|lua|md|txt)|(?:[a-z]+/)+[a-z]+)`")

// TestArchitectureNamesWhatIsThere: who looks for a file by the page finds it.
func TestArchitectureNamesWhatIsThere(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, found := range file.FindAllStringSubmatch(string(text), -1) {
		path := found[1]
		if strings.Contains(path, "NAME") { // of what is to come
			continue
		}
		named++
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(path))); err != nil {
			t.Errorf("docs/architecture.md: %v", err)
		}
	}
	if named < 50 {
		t.Errorf("the page names %d files: are they still between backticks?", named)
	}
}

// pages returns the Markdown pages that are for users and contributors.
func pages(t *testing.T) []string {
	t.Helper()
	all := []string{filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")}
	for _, folder := range []string{"docs", "examples"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "node_modules" {
				return filepath.SkipDir // packages of others
			}
			if err == nil && filepath.Ext(path) == ".md" {
				all = append(all, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// block is a fenced block of a page.
type block struct {
	language, text string
	line           int
}

func split(page string) (all []block) {
	var open *block
	for i, line := range strings.SplitAfter(page, "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimRight(line, "\n"), "```")
		switch {
		case isFence && open == nil:
			open = &block{language: fence, line: i + 1}
		case isFence:
			all = append(all, *open)
			open = nil
		case open != nil:
			open.text += line
		}
	}
	return all
}

// fileLine is a comment that names a file of the project.
var fileLine = regexp.MustCompile(`^(?://|--|#) ([a-z]+(?:/[a-z_]+)+\.(?:go|lua|py|mjs|sh))\n`)

// quoted returns the file that a block is a part of, and the part; no file where it
// is a part of none.
func quoted(block string) (file, part string) {
	found := fileLine.FindStringSubmatch(block)
	if found == nil {
		return "", block
	}
	return found[1], block[len(found[0]):]
}

// mustQuote fails unless a part of a page is a part of a file.
func mustQuote(t *testing.T, where, file, part string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		t.Errorf("%s: %v", where, err)
	} else if !strings.Contains(string(text), strings.TrimLeft(part, "\n")) {
		t.Errorf("%s: %s holds no such lines:\n%s", where, file, part)
	}
}

// serverAddr is where programs on pages expect a server.
const serverAddr = "127.0.0.1:6379"

// runProgram runs a Go program and returns what it prints. Without the server that
// it needs it is skipped, and the rest of the page is not.
func runProgram(t *testing.T, where, source string) (output string) {
	t.Helper()
	if !strings.Contains(source, serverAddr) {
		return runGo(t, where, source)
	}
	kind := servertest.Redis
	if strings.Contains(source, "valkey-go") {
		kind = servertest.Valkey
	}
	output = skipped
	t.Run(filepath.Base(where), func(t *testing.T) {
		server := servertest.Start(t, kind, nil)
		output = runGo(t, where, strings.ReplaceAll(source, serverAddr, server.Addr()))
	})
	return output
}

// skipped is the output of a program that did not run.
const skipped = "\x00skipped"

func runGo(t *testing.T, where, source string) string {
	t.Helper()
	return run(t, where, "go", "run", "-overlay", overlaid(t, "program/main.go", source), "./internal/doctest/program")
}

// parts are what the parts of tests that pages show stand in: a function by
// itself, and the statements of one.
const (
	functionPart = `package doctest

import (
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

// inspect is nil: a page shows one.
var inspect func(conformance.TB, store.Store, store.Slot) (conformance.Stored, bool)

func newMyStore(clk clock.Clock) store.Store {
	s, err := memorystore.New(&memorystore.Options{Clock: clk})
	if err != nil {
		panic(err)
	}
	return s
}

`
	statementPart = `package doctest

import (
	"testing"

	"github.com/weirgo/weir"
)

func TestPart(t *testing.T) {
	%s
	t.Log(limit)
}
`
)

// runPart runs a part of a test.
func runPart(t *testing.T, where, part string) {
	t.Helper()
	source := functionPart + part
	if !strings.HasPrefix(part, "func ") {
		source = fmt.Sprintf(statementPart, part)
	}
	run(t, where, "go", "test", "-vet=off", "-short", "-run", "^(TestPart|TestMyStore)$",
		"-overlay", overlaid(t, "part_test.go", source), "./internal/doctest")
}

// overlaid returns an overlay for the go command in which a file lies in a
// folder of this module, without writing it there.
func overlaid(t *testing.T, name, source string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "file.go")
	module, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(module, "internal", "doctest", filepath.FromSlash(name)): file},
	})
	if err != nil {
		t.Fatal(err)
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	for name, content := range map[string]string{file: source, overlayFile: string(overlay)} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return overlayFile
}

// runConsole runs the commands of a console block and returns the block with
// the output that they gave. They are split at spaces, without a shell.
func runConsole(t *testing.T, where, text string) (got string, commands int) {
	t.Helper()
	for line := range strings.Lines(text) {
		if command, is := strings.CutPrefix(line, "$ "); is {
			commands++
			words := strings.Fields(command)
			got += line + run(t, where, words[0], words[1:]...)
		}
	}
	return got, commands
}

// run runs a command in the root of the project and returns its output.
func run(t *testing.T, where, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %s %s: %v\n%s", where, name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
