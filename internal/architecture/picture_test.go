package architecture

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	page  = "../../docs/architecture.md"
	begin = "<!-- layers: written by go test ./internal/architecture -update -->\n```text\n"
	end   = "```\n"
)

// TestArchitecturePageShowsTheLayers prints the layers as the imports have them and
// holds the page against them.
func TestArchitecturePageShowsTheLayers(t *testing.T) {
	want := picture(t)
	text, err := os.ReadFile(filepath.FromSlash(page))
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	got, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no block that starts with\n%s", page, begin)
	}
	if *update {
		got = want
		if err := os.WriteFile(filepath.FromSlash(page), []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got != want {
		t.Errorf("the picture in %s is not that of the imports: go test ./internal/architecture -update writes\n%s", page, want)
	}
}

// picture has a line for each layer, a layer below what imports it: the layer, an
// arrow, and what it imports of the project.
func picture(t *testing.T) string {
	t.Helper()
	imports := map[string][]string{}
	for _, module := range modules {
		for _, p := range list(t, module, "./...") {
			from := layerOf(below(p.ImportPath))
			for _, imported := range append(p.Imports, p.ImportPath) {
				if imported == root || strings.HasPrefix(imported, root+"/") {
					if to := layerOf(below(imported)); to != from && !slices.Contains(imports[from], to) {
						imports[from] = append(imports[from], to)
					}
				}
			}
			imports[from] = append([]string{}, imports[from]...)
		}
	}
	var layers []string
	width := 0
	for layer := range imports {
		slices.Sort(imports[layer])
		layers = append(layers, layer)
		width = max(width, len(layer))
	}
	height := map[string]int{}
	var heightOf func(layer string) int
	heightOf = func(layer string) int {
		if h, known := height[layer]; known {
			return h
		}
		h := 0
		for _, below := range imports[layer] {
			h = max(h, heightOf(below)+1)
		}
		height[layer] = h
		return h
	}
	slices.SortFunc(layers, func(a, b string) int {
		if d := heightOf(b) - heightOf(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var b strings.Builder
	last := -1
	for _, layer := range layers {
		if last >= 0 && heightOf(layer) != last {
			b.WriteByte('\n')
		}
		last = heightOf(layer)
		line := layer
		if len(imports[layer]) > 0 {
			line = fmt.Sprintf("%-*s  → %s", width, layer, strings.Join(imports[layer], " "))
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// layerOf is the layer that a package belongs to; what is internal and has no rule of
// its own serves the tests and is left out of the picture as one layer.
func layerOf(pkg string) string {
	r := ruleOf(pkg)
	switch {
	case r == nil:
		return pkg
	case r.layer == "":
		return "weir"
	}
	return r.layer
}
