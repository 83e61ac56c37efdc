package policy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

// pure are the files that Compile, Resolve and Explain are made of.
var pure = []string{
	"address.go", "attribute.go", "compile.go", "compile_exception.go", "compile_match.go", "compile_rule.go", "compile_schedule.go", "compile_tier.go",
	"endpoint.go", "explain.go", "index.go", "key.go", "match.go", "pattern.go", "plan.go", "policy.go", "request.go", "resolve.go", "terms.go", "values.go", "week.go",
}

// TestResolutionReadsNoClockAndDoesNoIO: what is not handed in cannot count.
func TestResolutionReadsNoClockAndDoesNoIO(t *testing.T) {
	imports := []string{
		"crypto/hmac", "crypto/sha256", "encoding/hex", "encoding/json", "errors", "fmt", "hash", "iter", "maps", "math", "net", "net/http", "net/netip",
		"net/url", "path", "slices", "strconv", "strings", "sync", "time",
		"github.com/weirgo/weir", "github.com/weirgo/weir/algorithm", "github.com/weirgo/weir/store",
		"github.com/weirgo/weir/internal/divide", "github.com/weirgo/weir/internal/document/words",
	}
	names := map[string][]string{ // of packages that can do more
		"net":  {"SplitHostPort"},
		"http": {"NewServeMux", "ServeMux", "NotFoundHandler"},
		"sync": {"Pool", "Map"},
		"time": {"Time", "Duration", "Microsecond", "Date", "UTC", "RFC3339", "RFC3339Nano",
			"Location"}, // a table of the zone database, read by Compile
	}
	for _, file := range pure {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if name, _ := strconv.Unquote(i.Path.Value); !slices.Contains(imports, name) {
				t.Errorf("%s imports %s", file, name)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			s, is := n.(*ast.SelectorExpr)
			if !is {
				if _, is := n.(*ast.GoStmt); is {
					t.Errorf("%s starts a goroutine", file)
				}
				return true
			}
			if pkg, is := s.X.(*ast.Ident); is && names[pkg.Name] != nil && !slices.Contains(names[pkg.Name], s.Sel.Name) && pkg.Obj == nil {
				t.Errorf("%s uses %s.%s", file, pkg.Name, s.Sel.Name)
			}
			return true
		})
	}
}
