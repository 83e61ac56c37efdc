package conformance_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/store"
)

// Outside go test the checks are a loop. Here they judge a store that forgets
// that a long key is more than its beginning.
func ExampleCheck_Verify() {
	open := func(clk clock.Clock) store.Store {
		s := &faultyStore{plainStore: newPlainStore(clk)}
		s.rewrite = func(op *store.Op) { op.Key = op.Key[:min(200, len(op.Key))] }
		return s
	}
	cfg := &conformance.Config{Waive: map[string]string{"key/any-bytes": "keys are names here, and plain ones"}}
	for _, c := range cfg.Checks() {
		switch err := c.Verify(open); {
		case errors.Is(err, conformance.ErrSkipped) && strings.HasPrefix(c.Name, "key/"):
			fmt.Println(err)
		case errors.Is(err, conformance.ErrSkipped): // of what the store does not offer
		case err != nil:
			fmt.Println("failed:", c.Name, "-", c.Rule)
		}
	}
	// Output:
	// skipped: waived: keys are names here, and plain ones
	// failed: key/long - long keys are kept apart by all of their bytes
}
