package conformance_test

import (
	"errors"
	"fmt"

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
	for _, c := range conformance.Checks() {
		switch err := c.Verify(open); {
		case errors.Is(err, conformance.ErrSkipped):
			fmt.Println("skipped:", c.Name)
		case err != nil:
			fmt.Println("failed: ", c.Name, "-", c.Rule)
		}
	}
	// Output:
	// skipped: boundary/bound-limit
	// failed:  key/long - long keys are kept apart by all of their bytes
}
