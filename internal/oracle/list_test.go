package oracle

import (
	"os"
	"testing"

	"github.com/weirgo/weir/internal/generate"
)

func TestOracleListOfFamiliesIsCurrent(t *testing.T) {
	want, err := generate.List(".", "family", "families", "families_generated.go")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("families_generated.go")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("families_generated.go is not current: run go generate in this folder; it should be\n%s", want)
	}
}
