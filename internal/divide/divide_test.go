package divide_test

import (
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/divide"
)

// TestPartsAreTogetherTheLimit, for every sample of every family.
func TestPartsAreTogetherTheLimit(t *testing.T) {
	for _, f := range algorithm.Families() {
		for _, sample := range f.Samples {
			a := algorithm.Must(algorithm.ParseSpec(sample))
			rate, capacity := f.Parameters(a.Spec())
			for _, n := range []int{1, 2, 7, divide.MaxParts} {
				parts, err := divide.Parts(a, n)
				if _, isQueue := a.(algorithm.Queue); isQueue {
					if err == nil {
						t.Errorf("%s: a queue was divided", sample)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s in %d: %v", sample, n, err)
					continue
				}
				if want := min(int64(n), rate.Units, capacity); int64(len(parts)) != want {
					t.Errorf("%s in %d: %d parts, want %d", sample, n, len(parts), want)
				}
				var units, capacities int64
				for _, p := range parts {
					r, c := f.Parameters(p.Spec())
					if r.Per != rate.Per || p.Spec().Kind != f.Kind {
						t.Errorf("%s in %d: a part is %v", sample, n, p.Spec())
					}
					units, capacities = units+r.Units, capacities+c
				}
				if units != rate.Units || capacities != capacity {
					t.Errorf("%s in %d: the parts have %d units and a capacity of %d", sample, n, units, capacities)
				}
			}
		}
	}
}

func TestKeysOfPartsAreDifferent(t *testing.T) {
	seen := map[string]bool{}
	for _, key := range []string{"", "a", "a\x00", "a\x001", "a\x00\x00"} {
		for i := range 20 {
			if k := divide.Key(key, i); seen[k] {
				t.Errorf("%q is the key of two parts", k)
			} else {
				seen[k] = true
			}
		}
	}
}
