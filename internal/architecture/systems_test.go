package architecture

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// files are those of a package that are built for one system.
type files struct {
	ImportPath, Dir string
	GoFiles         []string
	IgnoredGoFiles  []string // for other systems, and for tags
}

// TestTheCommandHasFilesForEachSystem: what scripts/release builds for other systems compiles
// there, as far as that shows without the minutes that a build takes. Every package of the
// command has files for each system; what our files use of package syscall and of
// golang.org/x/sys is declared there; and where our package has files for some systems, it
// declares the same names on each.
func TestTheCommandHasFilesForEachSystem(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: lists all packages for each system")
	}
	script, err := os.ReadFile("../../scripts/release")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`PLATFORMS:-([^}]+)}`).FindSubmatch(script)
	if found == nil {
		t.Fatal("scripts/release has no list of platforms")
	}
	ours := map[string]map[string]bool{} // what packages declare on the first system
	for platform := range strings.FieldsSeq(string(found[1])) {
		t.Run(platform, func(t *testing.T) {
			goos, goarch, _ := strings.Cut(platform, "/")
			packages := filesFor(t, goos, goarch)
			uses := 0
			for at, p := range packages {
				if !strings.HasPrefix(at, "github.com/weirgo/weir") {
					continue
				}
				uses += checkUses(t, p, packages)
				if len(p.IgnoredGoFiles) == 0 {
					continue
				}
				names := declared(t, p)
				if first := ours[at]; first == nil {
					ours[at] = names
				} else if diff := cmp.Diff(first, names); diff != "" {
					t.Errorf("%s declares other names than on the first system (-first +here):\n%s", at, diff)
				}
			}
			if uses == 0 {
				t.Error("no use of syscall was found: the command ignores SIGPIPE")
			}
		})
	}
}

// filesFor lists the packages of the command, as built for a system without cgo. A package
// that does not exist there is an error of go list.
func filesFor(t *testing.T, goos, goarch string) map[string]files {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,IgnoredGoFiles", ".")
	cmd.Dir = filepath.Join("..", "..", "cmd", "weir")
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	all := map[string]files{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p files
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all[p.ImportPath] = p
	}
}

// checkUses checks what a package uses of those that differ from system to system, and returns
// how many uses there are.
func checkUses(t *testing.T, p files, packages map[string]files) (uses int) {
	t.Helper()
	for _, file := range parsed(t, p) {
		names := map[string]map[string]bool{} // what is declared, by the name of the package in the file
		for _, i := range file.Imports {
			at := strings.Trim(i.Path.Value, `"`)
			if at != "syscall" && !strings.HasPrefix(at, "golang.org/x/sys/") {
				continue
			}
			name := path.Base(at)
			if i.Name != nil {
				name = i.Name.Name
			}
			names[name] = declared(t, packages[at])
		}
		ast.Inspect(file, func(n ast.Node) bool {
			s, is := n.(*ast.SelectorExpr)
			if !is {
				return true
			}
			if x, is := s.X.(*ast.Ident); is && names[x.Name] != nil {
				uses++
				if !names[x.Name][s.Sel.Name] {
					t.Errorf("%s uses %s.%s, which this system does not have", p.ImportPath, x.Name, s.Sel.Name)
				}
			}
			return true
		})
	}
	return uses
}

// declared are the names that a package declares.
func declared(t *testing.T, p files) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, file := range parsed(t, p) {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				all[d.Name.Name] = all[d.Name.Name] || d.Recv == nil
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						all[s.Name.Name] = true
					case *ast.ValueSpec:
						for _, name := range s.Names {
							all[name.Name] = true
						}
					}
				}
			}
		}
	}
	return all
}

func parsed(t *testing.T, p files) (all []*ast.File) {
	t.Helper()
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, file)
	}
	return all
}
