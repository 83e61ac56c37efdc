package policy

import (
	"strings"
	"testing"

	"github.com/weirgo/weir/store"
)

// TestShadowIDsAreThoseOfNothingElse: whoever chooses the IDs of requests makes no request be
// remembered as another one.
func TestShadowIDsAreThoseOfNothingElse(t *testing.T) {
	long := strings.Repeat("x", maxID)
	seen := map[string][2]string{}
	for _, id := range []string{"a", "a ", "a  ", "a b", "b", " a", "a 1 a", "1 a", "rule 1 a", " ", long, long[1:], long[2:] + " "} {
		for _, rule := range []string{"a", "b", "rule", "1", strings.Repeat("r", 64)} {
			got := shadowID(id, rule)
			if len(got) <= maxID || len(got) > store.MaxID {
				t.Errorf("%q of %q has %d bytes, want %d to %d", id, rule, len(got), maxID+1, store.MaxID)
			}
			if other, twice := seen[got]; twice {
				t.Errorf("%q of %q and %q of %q are both %q", id, rule, other[0], other[1], got)
			}
			seen[got] = [2]string{id, rule}
		}
	}
}
