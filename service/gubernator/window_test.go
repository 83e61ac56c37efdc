package gubernator

import (
	"testing"

	"github.com/weirgo/weir/conformance"
)

// TestWindowKeepsTheLaws: taking from it is as from every limit, also after changes.
func TestWindowKeepsTheLaws(t *testing.T) {
	conformance.TestAlgorithm(t, window{limit: 5, length: 7_000_000}, window{limit: 3, length: 7_000_000}, window{limit: 900, length: 2_000_000})
}
