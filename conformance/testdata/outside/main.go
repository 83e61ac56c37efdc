// Outside runs every check on the memory store from a command, where there is
// no go test around it.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/store"
	memorystore "github.com/weirgo/weir/store/memory"
)

func main() {
	passed := 0
	for _, c := range conformance.Checks() {
		err := c.Verify(func(clk clock.Clock) store.Store {
			s, err := memorystore.New(&memorystore.Options{Clock: clk})
			if err != nil {
				return nil
			}
			return s
		})
		if errors.Is(err, conformance.ErrSkipped) {
			continue
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		passed++
	}
	fmt.Println(passed, "checks passed")
}
