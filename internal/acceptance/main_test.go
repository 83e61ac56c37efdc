package acceptance_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir/store"
	"go.uber.org/goleak"
)

// TestMain fails if a goroutine is left when all tests have closed what they opened.
func TestMain(m *testing.M) {
	redis.SetLogger(silence{}) // it tells of each connection that a test cuts
	if task := os.Getenv(callerEnv); task != "" {
		os.Exit(callerMain(task))
	}
	// A cluster client of valkey-go asks for the slots a second later, and closes connections
	// that it does without after five, also when it is closed by then.
	const valkeyGo = "github.com/valkey-io/valkey-go."
	// A pool of go-redis asks each second whether a server that refused it is back, and a
	// cluster client pauses between two questions for the slots, also when it is closed by then.
	const goRedis = "github.com/redis/go-redis/v9"
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(valkeyGo+"(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction(valkeyGo+"(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction(goRedis+"/internal/pool.(*ConnPool).tryDial"), goleak.IgnoreAnyFunction(goRedis+".(*clusterStateHolder).LazyReload.func1"))
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// patience bounds every wait: long, because the machine may be busy, and reached
// only where something is wrong.
const patience = 30 * time.Second

// patient returns a context for calls that are to succeed.
func patient(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	tb.Cleanup(cancel)
	return ctx
}

// rounds is how often a test repeats: once, and more often where -rapid.checks asks
// for thousands. So `make long` repeats what happens by chance.
func rounds() int {
	checks, _ := flag.Lookup("rapid.checks").Value.(flag.Getter).Get().(int)
	return max(1, checks/1000)
}

// kind names the errors of this project that err is.
func kind(err error) string {
	if err == nil {
		return "none"
	}
	var names []string
	for _, one := range []struct {
		name   string
		target error
	}{
		{"invalid", store.ErrInvalid}, {"unavailable", store.ErrUnavailable}, {"unknown", store.ErrOutcomeUnknown},
		{"contention", store.ErrContention}, {"cross-slot", store.ErrCrossNode}, {"duplicate", store.ErrDuplicateSlot},
		{"corrupt", store.ErrCorrupt}, {"full", store.ErrFull}, {"closed", store.ErrClosed},
	} {
		if errors.Is(err, one.target) {
			names = append(names, one.name)
		}
	}
	if names == nil {
		return "other"
	}
	return strings.Join(names, " and ")
}

// wantKind checks the kind of an error.
func wantKind(tb testing.TB, what string, err error, want string) {
	tb.Helper()
	if got := kind(err); got != want {
		tb.Errorf("%s: %s: %v; want %s", what, got, err, want)
	}
}
