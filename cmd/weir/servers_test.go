package main

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirgo/weir/internal/oracle"
	"github.com/weirgo/weir/internal/race"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/internal/storeurl"
	"pgregory.net/rapid"
)

// leftToTheFullRun skips whole runs against real servers where the time is short.
func leftToTheFullRun(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: whole runs against real servers")
	}
}

// leftToTheRaceRun skips what takes seconds in the check before a commit, which is short and
// without the race detector: the full run and the short one with the detector have it.
func leftToTheRaceRun(t *testing.T) {
	t.Helper()
	if testing.Short() && !race.Enabled {
		t.Skip("-short without -race: takes seconds")
	}
}

// asCommand makes the test binary behave as the command: what is about signals
// and the environment needs a process of its own.
const asCommand = "WEIR_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		_ = flag.CommandLine.Parse(nil) // what go test does; the arguments are the command's
		main()
	}
	os.Exit(m.Run())
}

// command returns a process of the command, which is not yet started.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	return cmd
}

// urls are the ways to a server: both client libraries, over TCP and over its
// socket.
func urls(s *servertest.Server) []string {
	return []string{"redis://" + s.Addr(), "valkey://" + s.Addr(), "unix://" + s.Socket(), "valkey-unix://" + s.Socket()}
}

// wantKeys wants that a server holds these keys and no other.
func wantKeys(t failer, s *servertest.Server, keys ...string) {
	t.Helper()
	if n := s.Do("DBSIZE"); n != int64(len(keys)) {
		t.Fatalf("there are %v keys: %q", n, s.Do("KEYS", "*"))
	}
	for _, key := range keys {
		if s.Do("EXISTS", key) != int64(1) {
			t.Fatalf("%q is gone", key)
		}
	}
}

// manyKeys is a trace of some events, each of another key.
func manyKeys(events int) string {
	var trace strings.Builder
	for n := range events {
		fmt.Fprintf(&trace, `{"at_us":%d,"key":"user:%d"}`+"\n", 1_764_277_200_000_000+int64(n), n)
	}
	return trace.String()
}

// hook is an output that calls then when it is first written to.
type hook struct {
	bytes.Buffer
	then func() error
}

func (h *hook) Write(p []byte) (int, error) {
	if then := h.then; then != nil {
		h.then = nil
		if err := then(); err != nil {
			return 0, err
		}
	}
	return h.Buffer.Write(p)
}

// The decision lines of any trace under any limit are those of the oracle, on every
// server as in memory: see TestReplayEqualsTheOracle.
func TestServersDecideAsMemoryDoes(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, kind := range oracle.Kinds() {
			t.Run(string(kind), func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "trace.jsonl")
				rapid.Check(t, func(t *rapid.T) {
					w := drawWorld(t, kind)
					for range rapid.SampledFrom([]int{1, 10, 30}).Draw(t, "events") {
						w.move(drawMove(t))
					}
					w.store = rapid.SampledFrom(urls(s)).Draw(t, "store")
					w.check(t, file, rapid.Bool().Draw(t, "sorted"))
					wantKeys(t, s)
				})
			})
		}
	})
}

// The same of longer traces, under limits that do not divide.
func TestServersDecideAsMemoryDoesForLong(t *testing.T) {
	leftToTheFullRun(t)
	const hour = 3_600_000_000
	odd := []limits{ // 7/3s with burst 5, 1000003/720h, …
		{limit: 7, period: 3_000_000, capacity: 5},
		{limit: 1_000_003, period: 720 * hour, capacity: 1_000_003},
		{limit: 3, period: 1, capacity: 11},
		{limit: 2, period: 7, capacity: 1},
		{limit: 90, period: 1000, capacity: 97},
	}
	events := 300
	if testing.Short() {
		events = 60
	}
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, kind := range oracle.Kinds() {
			for seed, l := range odd {
				l.kind = kind
				if kind.Windowed() {
					l.capacity = l.limit
				}
				t.Run(fmt.Sprintf("%s/%d", kind, seed), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(seed), 2026))
					w := newWorld(l, keys, 1_764_277_200_000_000)
					for range events {
						w.move(move{key: rng.IntN(len(keys)), when: rng.IntN(moments), what: rng.IntN(costs), bits: rng.Uint64()})
					}
					for _, w.store = range append(urls(s), storeurl.Memory) {
						w.check(t, filepath.Join(t.TempDir(), "trace.jsonl"), false)
						wantKeys(t, s)
					}
				})
			}
		}
	})
}

// Keys that JSON cannot hold come from access logs.
func TestServersKeepHostileKeysApart(t *testing.T) {
	leftToTheRaceRun(t)
	var agents []string
	for c := range 256 {
		agents = append(agents, string([]byte{byte(c)}))
	}
	agents = append(agents, hostileKeys...)
	agents = append(agents, "{a}", "{a}b", "{}a", "a{", "%7B", "{", "%", ":", "a:b", strings.Repeat("x", 200), strings.Repeat("x", 201), strings.Repeat("{x}", 100))
	log := hostileLog(append(agents, agents...)...)
	args := []string{"--key", "user-agent", "--limit", "sliding-log:2/1h", "--decisions", "-"}
	want := replayed(t, log, args...)
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, url := range urls(s) {
			if got := replayed(t, log, append(args, "--store", url)...); got != want {
				t.Errorf("%s: %s", url, difference(got, want))
			}
			wantKeys(t, s)
		}
	})
}

func TestServersCompareAsMemoryDoes(t *testing.T) {
	leftToTheFullRun(t)
	args := []string{"compare", "--json", "-", sample}
	for _, limit := range []string{"gcra:10/1m,burst=20", "gcra:5/1m", "sliding-log:10/1m"} { // two of one kind
		args = append(args, "--limit", limit)
	}
	want := start(args...).out
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, url := range urls(s)[:2] {
			got := start(append(args, "--store", url)...)
			if got.status != exitOK || strings.Replace(got.out, url, storeurl.Memory, 1) != want {
				t.Errorf("%s: status %d, %s%s", url, got.status, got.err, difference(got.out, want))
			}
			wantKeys(t, s)
		}
	})
}
