package valkeystore

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	"github.com/weirgo/weir/store/script"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

// words makes a command whose only key, if it has one, is its second word.
func words(args ...string) *script.Command {
	c := &script.Command{Args: args}
	if len(args) > 1 {
		c.Key = 1
	}
	return c
}

// eval makes a script a command; all of the rest are keys.
func eval(lua string, keys ...string) *script.Command {
	c := &script.Command{Args: append([]string{"EVAL", lua, strconv.Itoa(len(keys))}, keys...)}
	if len(keys) > 0 {
		c.Key = 3
	}
	return c
}

// do is Do that must succeed.
func do(tb testing.TB, c *client, cmd *script.Command) string {
	tb.Helper()
	reply, err := c.Do(context.Background(), cmd)
	if err != nil {
		tb.Fatalf("%s: %v", cmd.Args[0], err)
	}
	return reply
}

// class says which of the three kinds of error of a script.Client err is.
func class(err error) string {
	var answer *script.ServerError
	switch {
	case err == nil:
		return "none"
	case errors.As(err, &answer) && errors.Is(err, store.ErrUnavailable):
		return "two at once"
	case errors.As(err, &answer):
		return "reply " + answer.Code()
	case errors.Is(err, store.ErrUnavailable):
		return "not sent"
	}
	return "unknown"
}

// wantClass checks the kind of an error.
func wantClass(tb testing.TB, err error, want string) {
	tb.Helper()
	if got := class(err); got != want {
		tb.Errorf("%s: %v; want %s", got, err, want)
	}
}

// follow makes one server a replica of another.
func follow(s, primary *servertest.Server) {
	host, port, _ := strings.Cut(primary.Addr(), ":")
	s.Do("REPLICAOF", host, port)
}

// await asks again until the answer is yes.
func await(tb testing.TB, what string, yes func() bool) {
	tb.Helper()
	deadline := time.Now().Add(20 * time.Second)
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for !yes() {
		if time.Now().After(deadline) {
			tb.Fatalf("not within 20 s: %s", what)
		}
		<-again.C
	}
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

// few are those that differ most, for what takes long.
var few = map[string]valkey.ClientOption{
	"default":         modes["default"],
	"always pipeline": modes["always pipeline"],
	"never pipeline":  modes["never pipeline"],
}
