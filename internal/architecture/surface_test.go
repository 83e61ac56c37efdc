package architecture

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// surfaceFile lists every exported name of every package that a user can import,
// each with the reason why it is public. The names are written by -update, the
// reasons by hand: a name without one fails.
const surfaceFile = "testdata/surface.golden"

const noReason = "?"

func TestExportedNamesAreTheGoldenOnes(t *testing.T) {
	old, err := os.ReadFile(surfaceFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	reasons := reasonsOf(string(old))
	var got strings.Builder
	for _, module := range modules {
		if module == "cmd/weir" || module == "bench" || module == "bench/ratelimit" {
			continue // commands
		}
		for _, p := range list(t, module, "./...") {
			pkg := below(p.ImportPath)
			if pkg == "api/weirv1" || pkg == "service/gubernator/pb" {
				continue // generated: its names are those of the .proto file, and a test beside it guards them
			}
			if strings.Contains("/"+pkg+"/", "/internal/") || strings.HasPrefix(pkg, "examples/") {
				continue
			}
			writeSurface(t, &got, pkg, filepath.Join("..", "..", filepath.FromSlash(pkg)), reasons)
		}
	}
	if *update {
		if err := os.WriteFile(surfaceFile, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		old = []byte(got.String())
	}
	if got.String() != string(old) {
		t.Errorf("exported names have changed: go test ./internal/architecture -update, and give each new one a reason\n%s", firstDifference(string(old), got.String()))
	}
	for line := range strings.Lines(got.String()) {
		if strings.HasSuffix(line, " — "+noReason+"\n") {
			t.Errorf("%s: no reason to be public: %s", surfaceFile, strings.TrimSpace(line))
		}
	}
}

// reasonsOf reads the reasons of a surface file, by package and name.
func reasonsOf(text string) map[string]string {
	reasons := map[string]string{}
	pkg := ""
	for line := range strings.Lines(text) {
		name, reason, found := strings.Cut(strings.TrimSpace(line), " — ")
		if !found {
			continue
		}
		if !strings.HasPrefix(line, "\t") {
			pkg = name
		}
		reasons[pkg+"\x00"+name] = reason
	}
	return reasons
}

// writeSurface writes a line for a package, one for each exported name, and below a
// type one with its exported fields and methods.
func writeSurface(t *testing.T, w *strings.Builder, pkg, dir string, reasons map[string]string) {
	t.Helper()
	head := "package " + pkg
	if pkg == "" {
		head = "package weir"
	}
	d := docOf(t, dir)
	line := func(indent, name string) {
		reason := cmp.Or(reasons[head+"\x00"+name], reasonOfFamily(d, name), noReason)
		fmt.Fprintf(w, "%s%s — %s\n", indent, name, reason)
	}
	line("", head)
	for _, v := range slices.Concat(d.Consts, d.Vars) {
		writeValues(line, v)
	}
	for _, f := range d.Funcs {
		line("\t", "func "+f.Name)
	}
	for _, typ := range d.Types {
		line("\t", "type "+typ.Name)
		if names := members(typ); len(names) > 0 {
			fmt.Fprintf(w, "\t\t%s\n", strings.Join(names, " "))
		}
		for _, v := range slices.Concat(typ.Consts, typ.Vars) {
			writeValues(line, v)
		}
		for _, f := range typ.Funcs {
			line("\t", "func "+f.Name)
		}
	}
}

// reasonOfFamily is the reason of the three names that each algorithm of package
// algorithm has: KindX, X and NewX.
func reasonOfFamily(d *doc.Package, name string) string {
	kinds := map[string]bool{}
	for _, v := range d.Consts {
		for _, name := range v.Names {
			kinds[name] = true
		}
	}
	is := func(prefix, reason string) string {
		if of, found := strings.CutPrefix(name, prefix); found && d.Name == "algorithm" && kinds["Kind"+of] {
			return reason
		}
		return ""
	}
	return cmp.Or(is("const Kind", "stores and tools tell kinds apart"), is("type ", "an algorithm"), is("func New", "makes one from numbers"))
}

func writeValues(line func(indent, name string), v *doc.Value) {
	kind := v.Decl.Tok.String()
	for _, name := range v.Names {
		if token.IsExported(name) {
			line("\t", kind+" "+name)
		}
	}
}

// members are the exported fields and methods of a type.
func members(typ *doc.Type) (names []string) {
	for _, m := range typ.Methods {
		names = append(names, m.Name+"()")
	}
	var fields *ast.FieldList
	switch s := typ.Decl.Specs[0].(*ast.TypeSpec).Type.(type) {
	case *ast.StructType:
		fields = s.Fields
	case *ast.InterfaceType:
		fields = s.Methods
	}
	if fields == nil {
		return names
	}
	for _, f := range fields.List {
		for _, name := range f.Names {
			if name.IsExported() {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

func docOf(t *testing.T, dir string) *doc.Package {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	d, err := doc.NewFromFiles(fset, files, root)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func firstDifference(old, got string) string {
	a, b := strings.Split(old, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\n- %s\n+ %s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, and %d now", len(a), len(b))
}
