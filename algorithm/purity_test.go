package algorithm_test

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mayImport lists what the package may import, where, and what for. Whatever is
// not here is refused: sync, os, context and clocks of all kinds have no place
// in a pure function. Add a line only with a reason.
var mayImport = map[string]struct{ file, reason string }{
	"github.com/weirgo/weir/internal/exact": {"", "products of 128 bits, and lowest terms"},

	"math":        {"", "MaxInt64"},
	"math/bits":   {"", "products of 128 bits"},
	"slices":      {"", "search and compare"},
	"sort":        {"", "search by a function"},
	"strconv":     {"", "the text of states and messages"},
	"strings":     {"", "the text of states and messages"},
	"time":        {"", "Duration and Time as values; clocks and timers are banned below"},
	"fmt":         {"spec.go", "messages of the parser"},
	"regexp":      {"spec.go", "the parts of a duration"},
	"math/big":    {"spec.go", "rationals: a period such as 0.3s is summed up exactly; decides nothing"},
	"sync/atomic": {"log.go", "states of one log share memory; a Step claims the place behind its entries, or copies"},
}

// mayUseOfTime lists the names of package time that are values. Seconds,
// Minutes and Hours of a Duration are methods and caught as floating point.
var mayUseOfTime = []string{
	"Duration", "Time", "Unix", "UnixMicro", "UTC", "RFC3339Nano", "ParseDuration",
	"Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour",
	"Location", "Date", "Month", "January",
}

// mayUseOfTimeIn lists names of package time that one file may use, and what for.
var mayUseOfTimeIn = map[string]struct{ file, reason string }{
	"LoadLocation": {"zone.go", "a constructor reads the table of a zone; decisions look into it, and read nothing"},
}

// mayBeVariables are the package's variables, which nothing may write to.
var mayBeVariables = map[string]string{
	"oneWord": "shape of a state", "twoWords": "shape of a state", "threeWords": "shape of a state",
	"durationPart": "a compiled expression", "writtenPeriod": "a compiled expression",
	"_": "guards that a type implements an interface",
}

// TestAlgorithmsArePure checks the source of the package (P7, P1): no floating
// point, no clock, no shared mutable state, nothing whose order is not fixed.
func TestAlgorithmsArePure(t *testing.T) {
	sources := sourcesIn(t, ".")
	if len(sources) < 10 {
		t.Fatalf("found %d source files; run in the folder of the package", len(sources))
	}
	for _, impurity := range impurities(t, sources) {
		t.Error("P7: " + impurity)
	}
	for _, impurity := range impurities(t, sourcesIn(t, exactFolder)) {
		t.Error("P7: " + impurity)
	}
}

// exactFolder is where internal/exact lies, which is held to the same rules.
const exactFolder = "../internal/exact"

func sourcesIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sources[name] = string(text)
	}
	return sources
}

// fromSource imports internal/exact from its source, which is not installed, and the
// standard library as the compiler does.
type fromSource struct {
	t   *testing.T
	std types.Importer
}

func (f fromSource) Import(path string) (*types.Package, error) {
	if path != "github.com/weirgo/weir/internal/exact" {
		return f.std.Import(path)
	}
	fset := token.NewFileSet()
	return (&types.Config{Importer: f}).Check(path, fset, parse(f.t, fset, sourcesIn(f.t, exactFolder)), nil)
}

func parse(t *testing.T, fset *token.FileSet, sources map[string]string) (files []*ast.File) {
	t.Helper()
	for name, text := range sources {
		f, err := parser.ParseFile(fset, name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// purity collects what is wrong with a package.
type purity struct {
	fset  *token.FileSet
	pkg   *types.Package
	info  *types.Info
	found []string
}

func impurities(t *testing.T, sources map[string]string) []string {
	t.Helper()
	if build.Default.GOROOT == "" { // a test that was built with -trimpath does not know it
		out, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			t.Fatal(err)
		}
		build.Default.GOROOT = strings.TrimSpace(string(out))
	}
	p := &purity{
		fset: token.NewFileSet(),
		info: &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
		},
	}
	files := parse(t, p.fset, sources)
	var err error
	p.pkg, err = (&types.Config{Importer: fromSource{t, importer.Default()}}).Check("algorithm", p.fset, files, p.info)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		for _, spec := range f.Imports {
			p.checkImport(spec)
		}
		ast.Inspect(f, func(n ast.Node) bool { p.check(n); return true })
	}
	slices.Sort(p.found)
	return p.found
}

func (p *purity) report(at ast.Node, format string, args ...any) {
	p.found = append(p.found, fmt.Sprintf("%v: %s", p.fset.Position(at.Pos()), fmt.Sprintf(format, args...)))
}

func (p *purity) checkImport(spec *ast.ImportSpec) {
	path := strings.Trim(spec.Path.Value, `"`)
	allowed, ok := mayImport[path]
	switch file := filepath.Base(p.fset.Position(spec.Pos()).Filename); {
	case !ok:
		p.report(spec, "imports %s", path)
	case allowed.file != "" && allowed.file != file:
		p.report(spec, "imports %s, which only %s may: %s", path, allowed.file, allowed.reason)
	}
}

func (p *purity) check(n ast.Node) {
	switch n := n.(type) {
	case *ast.GoStmt:
		p.report(n, "starts a goroutine")
	case *ast.SendStmt, *ast.SelectStmt, *ast.ChanType:
		p.report(n, "uses a channel")
	case *ast.BasicLit:
		if n.Kind == token.FLOAT || n.Kind == token.IMAG {
			p.report(n, "the literal %s is not a whole number", n.Value)
		}
	case *ast.RangeStmt:
		if _, isMap := p.info.TypeOf(n.X).Underlying().(*types.Map); isMap {
			p.report(n, "ranges over a map, in no fixed order")
		}
	case *ast.FuncDecl:
		if n.Name.Name == "init" && n.Recv == nil {
			p.report(n, "has an init function")
		}
	case *ast.AssignStmt:
		for _, to := range n.Lhs {
			p.checkWrite(to)
		}
	case *ast.IncDecStmt:
		p.checkWrite(n.X)
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			p.checkWrite(n.X)
		}
	case *ast.Ident:
		p.checkName(n)
	}
	if e, ok := n.(ast.Expr); ok {
		if typ := p.info.TypeOf(e); typ != nil && isFloat(typ, 0) {
			p.report(n, "the type of %s is %v", types.ExprString(e), typ)
		}
	}
}

// checkWrite refuses an assignment to, or the address of, something in a
// variable of the package.
func (p *purity) checkWrite(to ast.Expr) {
	for {
		switch e := to.(type) {
		case *ast.SelectorExpr:
			to = e.X
		case *ast.IndexExpr:
			to = e.X
		case *ast.StarExpr:
			to = e.X
		case *ast.ParenExpr:
			to = e.X
		case *ast.Ident:
			if v, ok := p.info.Uses[e].(*types.Var); ok && p.pkg.Scope().Lookup(v.Name()) == v {
				p.report(to, "writes to the package's variable %s", v.Name())
			}
			return
		default:
			return
		}
	}
}

func (p *purity) checkName(n *ast.Ident) {
	if v, ok := p.info.Defs[n].(*types.Var); ok && v.Parent() == p.pkg.Scope() && mayBeVariables[v.Name()] == "" {
		p.report(n, "declares the package variable %s", v.Name())
	}
	used := p.info.Uses[n]
	if used == nil || used.Pkg() == nil || used.Parent() != used.Pkg().Scope() {
		return // not a package's own name: a local, a field, a method
	}
	if used.Pkg().Path() == "time" && !slices.Contains(mayUseOfTime, used.Name()) && mayUseOfTimeIn[used.Name()].file != filepath.Base(p.fset.Position(n.Pos()).Filename) {
		p.report(n, "uses time.%s", used.Name())
	}
}

// isFloat reports whether a type is, or holds, a floating-point number.
func isFloat(t types.Type, depth int) bool {
	if depth > 8 {
		return false
	}
	switch t := t.(type) {
	case *types.Named:
		if o := t.Obj(); o.Pkg() != nil && o.Pkg().Path() == "math/big" {
			return o.Name() == "Float"
		}
		return isFloat(t.Underlying(), depth+1) && t.Obj().Pkg() != nil && t.Obj().Pkg().Name() == "algorithm"
	case *types.Basic:
		return t.Info()&(types.IsFloat|types.IsComplex) != 0
	case *types.Pointer:
		return isFloat(t.Elem(), depth+1)
	case *types.Slice:
		return isFloat(t.Elem(), depth+1)
	case *types.Array:
		return isFloat(t.Elem(), depth+1)
	case *types.Map:
		return isFloat(t.Key(), depth+1) || isFloat(t.Elem(), depth+1)
	case *types.Tuple:
		for v := range t.Variables() {
			if isFloat(v.Type(), depth+1) {
				return true
			}
		}
	case *types.Signature:
		return isFloat(t.Params(), depth+1) || isFloat(t.Results(), depth+1)
	}
	return false
}

// TestImpuritiesAreFound plants each of them.
func TestImpuritiesAreFound(t *testing.T) {
	if found := impurities(t, map[string]string{"a.go": "package algorithm\nimport \"time\"\nfunc f(d time.Duration) int64 { return int64(d / time.Second) }"}); len(found) > 0 {
		t.Errorf("in pure code: %q", found)
	}
	for _, c := range []struct{ code, want string }{
		{`func f() float64 { return 0 }`, "float64"},
		{`func f(n int64) int64 { return int64(float32(n) * 2) }`, "float32"},
		{`func f(n int64) int64 { return n * 1e6 }`, "literal 1e6"},
		{`const c = 1 / 3.0`, "literal 3.0"},
		{`type s struct{ n []complex128 }`, "complex128"},
		{`import "time"; func f(d time.Duration) int { return int(d.Seconds()) }`, "d.Seconds()"},
		{`import "strconv"; func f(t string) { strconv.ParseFloat(t, 64) }`, "ParseFloat"},
		{`import "math"; func f(n int64) int64 { return int64(math.Ceil(1)) }`, "math.Ceil"},
		{`import "math/big"; func f() *big.Rat { return nil }`, "imports math/big, which only spec.go may"},
		{`import "time"; func f() time.Time { return time.Now() }`, "time.Now"},
		{`import "time"; func f() (*time.Location, error) { return time.LoadLocation("UTC") }`, "time.LoadLocation"},
		{`import "time"; func f() *time.Location { return time.Local }`, "time.Local"},
		{`import "time"; func f(t time.Time) time.Duration { return time.Since(t) }`, "time.Since"},
		{`import "time"; func f() { time.Sleep(1) }`, "time.Sleep"},
		{`import "time"; type t struct{ *time.Timer }`, "time.Timer"},
		{`import "sync"; var _ sync.Mutex`, "imports sync"},
		{`import "sync/atomic"; type t struct{ atomic.Int64 }`, "imports sync/atomic, which only log.go may"},
		{`import "os"; var _ = os.Args`, "imports os"},
		{`import "context"; func f(context.Context) {}`, "imports context"},
		{`import "math/rand/v2"; func f() int { return rand.Int() }`, "imports math/rand/v2"},
		{`func f(m map[int]int) { for range m {} }`, "ranges over a map"},
		{`var calls int`, "package variable calls"},
		{`var families []int; func f() { families = nil }`, "writes to the package's variable families"},
		{`var families [2]int; func f() { families[0]++ }`, "writes to the package's variable families"},
		{`var families [2]int; func f() *int { return &families[1] }`, "writes to the package's variable families"},
		{`func f() { go f() }`, "starts a goroutine"},
		{`func f(c chan int) { c <- 1 }`, "uses a channel"},
		{`func init() {}`, "has an init function"},
	} {
		found := impurities(t, map[string]string{"a.go": "package algorithm\n" + c.code})
		if !strings.Contains(strings.Join(found, "\n"), c.want) {
			t.Errorf("in %q: found %q, want %q", c.code, found, c.want)
		}
	}
}
