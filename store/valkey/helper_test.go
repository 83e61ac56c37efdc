package valkeystore

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir/internal/clienttest"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store/script"
	"go.uber.org/goleak"
)

// TestMain fails if a goroutine is left when all tests have closed what they opened.
func TestMain(m *testing.M) {
	// A cluster client asks for the slots a second later, and closes connections that it
	// does without after five, also when it is closed by then.
	const valkeyGo = "github.com/valkey-io/valkey-go."
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(valkeyGo+"(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction(valkeyGo+"(*clusterClient)._refresh.func2"))
}

// modes are the ways in which valkey-go uses its connections.
var modes = map[string]valkey.ClientOption{
	"default":         {},
	"one connection":  {PipelineMultiplex: -1},
	"many":            {PipelineMultiplex: 3},
	"always pipeline": {AlwaysPipelining: true},
	"never pipeline":  {DisableAutoPipelining: true},
	"RESP2":           {AlwaysRESP2: true},
}

// dedicating is the default with connections of its own, as a store has that shares its calls.
const dedicating = "dedicated connections"

// few are those that differ most, for what takes long.
var few = map[string]valkey.ClientOption{
	"default":         modes["default"],
	"always pipeline": modes["always pipeline"],
	"never pipeline":  modes["never pipeline"],
}

// library is valkey-go, for what all libraries must do.
var library = &clienttest.Library{
	Open:         openAt,
	Modes:        []string{"default", "one connection", "many", "always pipeline", "never pipeline", "RESP2", dedicating},
	Few:          []string{"default", "always pipeline", "never pipeline", dedicating},
	ClusterModes: []string{"default", "always pipeline", "never pipeline"},
	Refusal: func(err error) bool {
		var theirs *valkey.ValkeyError
		return errors.As(err, &theirs)
	},
	Direct:      true,
	Allocations: 3,
}

func TestClient(t *testing.T) { clienttest.Run(t, library) }

func TestDecisionsOfALoneCallerAllocateLittle(t *testing.T) { clienttest.RunAllocations(t, library) }

// openAt is clienttest.Library.Open.
func openAt(tb testing.TB, at clienttest.At) *clienttest.Opened {
	opts := modes[at.Mode]
	opts.Username, opts.Password = at.User, at.Password
	opts.ConnWriteTimeout = at.Answer
	opts.Dialer.KeepAlive = at.Answer / 3 // the pause before a PING
	opts.Dialer.Timeout = time.Second     // for a greeting that is not answered
	addr := at.Addr
	switch {
	case at.Socket != "":
		addr = at.Socket
		opts.DialCtxFn = func(ctx context.Context, path string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return d.DialContext(ctx, "unix", path)
		}
	case at.Cluster != nil:
		addr = at.Cluster[0] // the others are found
	}
	raw, c := open(tb, addr, opts)
	if at.Mode == dedicating {
		c.dedicated.use(raw)
	}
	return &clienttest.Opened{
		Client: c,
		New:    func(opts *script.Options) (*script.Store, error) { return New(raw, opts) },
		Warm: func(tb testing.TB, _ int) { // it has what it uses
			if c.dedicated.client != nil {
				awaitDedicated(tb, c)
			}
		},
		Repeated: func(key string) error {
			return raw.Do(context.Background(), raw.B().Arbitrary("INCR").Args(key).ReadOnly()).Error()
		},
	}
}

// open returns a client of valkey-go that is closed with the test, and ours on it.
func open(tb testing.TB, addr string, opts valkey.ClientOption) (valkey.Client, *client) {
	tb.Helper()
	opts.InitAddress = []string{addr}
	opts.DisableCache = true
	raw, err := valkey.NewClient(opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(raw.Close)
	return raw, newClient(raw)
}

// awaitDedicated makes calls until there is a connection that is free.
func awaitDedicated(tb testing.TB, c *client) {
	tb.Helper()
	servertest.Await(tb, "a connection is made", func() bool {
		clienttest.Do(tb, c, clienttest.Eval("return 1", "warm")) // what any user of the tests may do
		return c.HonorsDeadline()
	})
}
