package architecture

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mostLines are upper bounds for the lines of Go in the folders of the command, tests left aside. Decision 37 says where the lines are: who
// needs more has a reason that stands in the commit.
var mostLines = map[string]int{
	".":                     6500,
	"internal/live":         550,
	"internal/load":         650,
	"internal/load/target":  350,
	"internal/manual":       250,
	"internal/report":       3300,
	"internal/report/chart": 900,
	"internal/suggest":      420,
	"internal/trace":        3450,
}

func TestTheCommandGrowsOnPurposeOnly(t *testing.T) {
	lines := map[string]int{}
	err := fs.WalkDir(os.DirFS("../../cmd/weir"), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(filepath.Join("../../cmd/weir", path))
		lines[filepath.ToSlash(filepath.Dir(path))] += bytes.Count(text, []byte("\n"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for folder, n := range lines {
		if n > mostLines[folder] {
			t.Errorf("cmd/weir/%s has %d lines: at most %d", folder, n, mostLines[folder])
		}
	}
	for folder, most := range mostLines {
		if lines[folder] < most*9/10 {
			t.Errorf("cmd/weir/%s has %d lines: the bound %d is to go down with them", folder, lines[folder], most)
		}
	}
}
