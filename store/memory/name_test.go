package memorystore

import (
	"fmt"
	"hash/maphash"
	"testing"
)

// TestKeyThatIsTheNameOfItsLimit: slots have hashes of their own, also where the key is the name of the limit, as
// where each tenant has a limit of its own.
func TestKeyThatIsTheNameOfItsLimit(t *testing.T) {
	s, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	spec := parseLimit(t, "gcra:3/1h").Spec()
	seen := map[uint64]bool{}
	for i := range 1000 {
		tenant := fmt.Sprint("tenant-", i)
		seen[maphash.String(s.seed, tenant)^s.identify(tenant, spec).hash] = true
	}
	if len(seen) < 1000 {
		t.Errorf("1000 slots have %d hashes", len(seen))
	}
}
