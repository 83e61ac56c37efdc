package script

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/internal/loglist"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// TestStoreConforms runs the shared suite on both servers, with calls that are
// shared and calls that are not, with a clock of the caller and that of the server,
// and looks at what lies on the server.
func TestStoreConforms(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) { // both with -short, too: a new kind of algorithm is tried so
		t.Parallel()
		w := dialWire(t, server)
		for name, opts := range map[string]Options{"shared": {}, "not shared": {Share: 1}, "clock of the server": {}} {
			if name != "shared" && testing.Short() {
				continue
			}
			t.Run(name, func(t *testing.T) {
				var run atomic.Int64
				cfg := &conformance.Config{Inspect: w.inspect, Corrupt: w.corrupt, OwnClock: name == "clock of the server"}
				conformance.TestStore(t, func(tb testing.TB, clk clock.Clock) store.Store {
					opts := opts
					if opts.Prefix = fmt.Sprintf("%s %d:", name, run.Add(1)); !cfg.OwnClock {
						opts.Clock = clk
					}
					return open(tb, w, &opts)
				}, cfg)
			})
		}
	})
}

// inspect is conformance.Config.Inspect.
func (w *wire) inspect(t conformance.TB, s store.Store, slot store.Slot) (conformance.Stored, bool) {
	t.Helper()
	name := s.(*Store).name(&slot)
	reply, err := w.Do(context.Background(), &Command{Args: []string{"PTTL", name}})
	ms, parseErr := strconv.ParseInt(reply, 10, 64)
	if err != nil || parseErr != nil {
		t.Fatalf("PTTL: %q, %v", reply, err)
	}
	kept := conformance.Stored{Text: stored(w, name, slot.Algorithm.Spec().Kind), TTL: time.Duration(ms) * time.Millisecond}
	if ms == -1 {
		kept.TTL = algorithm.Never
	}
	return kept, ms != -2
}

// corrupt is conformance.Config.Corrupt.
func (w *wire) corrupt(t conformance.TB, s store.Store, slot store.Slot, text string) {
	t.Helper()
	name := s.(*Store).name(&slot)
	args := []string{"SET", name, text}
	if slot.Algorithm.Spec().Kind == algorithm.KindSlidingLog {
		args = append([]string{"RPUSH", name}, loglist.Elements(text)...)
	}
	for _, args := range [][]string{{"DEL", name}, args} {
		if _, err := w.Do(context.Background(), &Command{Args: args}); err != nil {
			t.Fatalf("%s: %v", args[0], err)
		}
	}
}
