package main

import (
	"encoding"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/sim"
	simresult "github.com/weirgo/weir/sim/result"
	"github.com/weirgo/weir/sim/scenario"
)

// tagsOf adds the names that the fields of a type have in a text, and those of what they
// hold.
func tagsOf(of reflect.Type, tag string, names map[string]bool) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || of.PkgPath() == "time" || reflect.PointerTo(of).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return
	}
	for i := range of.NumField() {
		field := of.Field(i)
		if name, _, _ := strings.Cut(field.Tag.Get(tag), ","); name != "" {
			names[name] = true
		}
		tagsOf(field.Type, tag, names)
	}
}

// wantWords wants that a page names all of these as code.
func wantWords(t *testing.T, page string, names []string) {
	t.Helper()
	text := read(t, filepath.Join("..", "..", "docs", page))
	if len(names) == 0 {
		t.Errorf("%s: nothing to look for", page)
	}
	for _, name := range names {
		if !regexp.MustCompile("`[^`\n]*(?:^|\\b)" + regexp.QuoteMeta(name) + "\\b[^`\n]*`").MatchString(text) {
			t.Errorf("%s does not tell of %q", page, name)
		}
	}
}

func TestDocumentationTellsOfAllThatASimulationTakes(t *testing.T) {
	names := map[string]bool{}
	tagsOf(reflect.TypeFor[scenario.Scenario](), "yaml", names)
	var fields []string
	for name := range names {
		fields = append(fields, name)
	}
	slices.Sort(fields)
	wantWords(t, "reference/scenario.md", append(fields, scenario.Metrics()...))
	wantWords(t, "guides/simulate.md", scenario.Rules())

	var flags []string
	for _, found := range regexp.MustCompile(`(?m)^ +(--[a-z]+)`).FindAllStringSubmatch(start("sim", "--help").out, -1) {
		flags = append(flags, found[1][2:])
	}
	wantWords(t, "reference/sim.md", slices.DeleteFunc(flags, func(f string) bool { return f == "help" || f == "version" }))

	var inJSON []string
	results := reflect.TypeFor[simresult.Result]()
	for i := range results.NumField() {
		name, _, _ := strings.Cut(results.Field(i).Tag.Get("json"), ",")
		inJSON = append(inJSON, name)
	}
	counts := reflect.TypeFor[simresult.Counts]()
	for i := range counts.NumField() {
		inJSON = append(inJSON, counts.Field(i).Tag.Get("json"))
	}
	wantWords(t, "reference/sim.md", inJSON)
}

// drawn is a command of a page that draws a picture of it.
var drawn = regexp.MustCompile(`(?m)^go run \./cmd/weir ((?:sim|suggest) .*) --plot docs/guides/(images/\S+)$`)

// The pictures of a page are those that its commands draw.
func TestPicturesOfTheGuideAreUpToDate(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the last digits of a drawing may differ on " + runtime.GOARCH)
	}
	t.Chdir(filepath.Join("..", ".."))
	pictures := map[string]bool{}
	for _, name := range []string{"docs/guides/choose.md", "docs/reference/track-record.md", "docs/reference/suggest.md"} {
		page := read(t, name)
		commands := drawn.FindAllStringSubmatch(page, -1)
		if len(commands) == 0 {
			t.Errorf("%s: no command draws a picture: has the page changed?", name)
		}
		for _, command := range commands {
			file := command[2]
			if !strings.Contains(page, file+")") {
				t.Errorf("%s: the page does not show %s", name, file)
			}
			pictures[filepath.Base(file)] = true
			picture := filepath.Join(t.TempDir(), filepath.Base(file))
			if got := start(append(strings.Fields(command[1]), "--plot", picture)...); got.status != exitOK {
				t.Fatalf("%s: status %d, %s", command[1], got.status, got.err)
			}
			if *update {
				write(t, filepath.Join("docs/guides", file), read(t, picture))
			}
			if read(t, picture) != read(t, filepath.Join("docs/guides", file)) {
				t.Errorf("%s is another picture now. If that is right: go test ./cmd/weir -update", file)
			}
		}
	}
	there, err := os.ReadDir("docs/guides/images")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range there {
		if !pictures[file.Name()] {
			t.Errorf("no command draws images/%s", file.Name())
		}
	}
}

// The page explains every corner that a report may name.
func TestDocumentationExplainsEveryCorner(t *testing.T) {
	results, err := sim.Run(t.Context(), scenario.Generate(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	page := read(t, filepath.Join("..", "..", "docs", "reference", "sim.md"))
	for _, g := range results[0].Goals {
		if !strings.Contains(page, "\n| "+g.Name+" | ") {
			t.Errorf("no row is about %q", g.Name)
		}
	}
}
