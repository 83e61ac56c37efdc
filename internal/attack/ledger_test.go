package attack

import (
	"strings"
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
)

func TestKeysHaveAllKindsAndCapacities(t *testing.T) {
	families := len(algorithm.Families())
	seen := map[string]bool{}
	for _, k := range newKeys(4*families, 500) {
		a, err := algorithm.ParseSpec(k.Spec)
		if err != nil || a.Spec().Kind != k.kind {
			t.Fatalf("%s: %v", k.Spec, err)
		}
		seen[k.Limit] = true
	}
	if len(seen) != 3*families {
		t.Errorf("%d limits: %v", len(seen), seen)
	}
}

func TestCountOfStoredStates(t *testing.T) {
	const begin = 1_790_000_000_000_000
	for _, c := range []struct {
		kind, state string
		want        int64 // -1 is an error
	}{
		{algorithm.KindGCRA, "", 0},
		{algorithm.KindGCRA, "1790018000100000", 5},
		{algorithm.KindGCRA, "1790018000100000 1 3", 5},
		{algorithm.KindLeakyBucket, "1790003600000001", 1},
		{algorithm.KindTokenBucket, "1790000000000001 93", 7},
		{algorithm.KindTokenBucket, "1790000000000001 93 7 3600000000", 7},
		{algorithm.KindTokenBucket, "1790000000000001", -1},
		{algorithm.KindFixedWindow, "1789000000000000 9", 9},
		{algorithm.KindSlidingCounter, "1789000000000000 9", 9},
		{algorithm.KindSlidingCounter, "1789000000000000 9 1", -1}, // of the window before: not from this run
		{algorithm.KindSlidingLog, "1790000000000001 1790000000000002", 2},
		{algorithm.KindSlidingLog, "1790000000000001:4+4:16 1790000000000002:2", 6},
		{algorithm.KindSlidingLog, "1790000000000001+1:14 1790000000000002:2:1 1790000000000003", 4},
		{algorithm.KindSlidingLog, "1790000000000001:4+3:0 1790000000000002:2", -1},
		{algorithm.KindSlidingLog, "1790000000000001:4", -1},
		{algorithm.KindGCRA, "x", -1},
		{"unknown/1", "1", -1},
	} {
		k := key{kind: c.kind, log: c.kind == algorithm.KindSlidingLog, capacity: 100}
		got, err := k.count(strings.Fields(c.state), begin)
		if (err != nil) != (c.want < 0) || err == nil && got != c.want {
			t.Errorf("%s %q: %d, %v, want %d", c.kind, c.state, got, err, c.want)
		}
	}
}

func TestLedgerRefusesWhatItDoesNotKnow(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		keys := newKeys(len(algorithm.Families()), 500)
		read := func() (counts []int64, err error) {
			err = servertest.AsTest(func(tb testing.TB) { counts = newLedger(tb, keys).read(s) })
			return counts, err
		}
		s.Do("SET", "other", "v")
		if counts, err := read(); err != nil || len(counts) != len(keys) {
			t.Fatalf("an empty server: %v, %v", counts, err)
		}
		for name, change := range map[string][]string{
			"a state without a life time": {"SET", keys[0].stored, "1790000000000000"},
			"another name of a state":     {"SET", "w{attack0}Gother", "1790000000000000", "PX", "10000"},
			"a state that is no state":    {"SET", keys[0].stored, "text", "PX", "10000"},
		} {
			s.Do(change...)
			if counts, err := read(); err == nil {
				t.Errorf("%s: %v", name, counts)
			}
			s.Do("DEL", change[1])
		}
		if _, err := read(); err != nil {
			t.Error(err)
		}
	})
}
