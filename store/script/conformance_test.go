package script

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// TestStoreConforms runs the shared suite on both servers, with calls that are
// shared and calls that are not.
func TestStoreConforms(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w := dialWire(t, server)
		for _, share := range []int{0, 1} {
			t.Run(fmt.Sprintf("share %d", share), func(t *testing.T) {
				var run atomic.Int64
				conformance.TestStore(t, func(tb testing.TB, clk clock.Clock) store.Store {
					s, err := New(w, &Options{Clock: clk, Share: share, Prefix: fmt.Sprintf("%d.%d:", share, run.Add(1))})
					if err != nil {
						tb.Fatal(err)
					}
					return s
				}, nil)
			})
		}
	})
}
