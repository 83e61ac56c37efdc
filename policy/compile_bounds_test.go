package policy

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
)

// chained returns rules of which each replaces the next.
func chained(n int) *Policy {
	p := &Policy{Version: 1}
	for i := range n {
		r := Rule{ID: fmt.Sprint("r", i), Limit: specOf("0")}
		if i+1 < n {
			r.Replaces = []string{fmt.Sprint("r", i+1)}
		}
		p.Rules = append(p.Rules, r)
	}
	return p
}

func TestMemoryForAChainOfReplacesGrowsWithItsLength(t *testing.T) {
	bytes := func(n int) uint64 {
		p := chained(n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Compile(*p, nil); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if short, long := bytes(400), bytes(3200); long > 16*short {
		t.Errorf("8 times the rules take %d times the memory", long/short)
	}
}

func TestManyUnknownNamesAreAllShownAndFewExplained(t *testing.T) {
	p := chained(4 * mostExplained)
	for i := range p.Rules {
		p.Rules[i].Replaces = []string{"r1x"}
	}
	_, err := Compile(*p, nil)
	var invalid *InvalidError
	if !errors.As(err, &invalid) || len(invalid.Fields) != len(p.Rules) {
		t.Fatal(err)
	}
	for i, e := range invalid.Fields {
		explained := e.Allowed != "" && e.Suggestion == "r1"
		if e.Problem != "unknown rule" || e.Value != "r1x" || explained != (i < mostExplained) {
			t.Fatalf("error %d: %+v", i, e)
		}
	}
}
