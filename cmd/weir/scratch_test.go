package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/weirgo/weir/internal/servertest"
)

// Whatever ends a replay of many keys, they are gone after it.
func TestServerIsLeftClean(t *testing.T) {
	leftToTheFullRun(t)
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, url := range urls(s) {
			for name, c := range map[string]struct {
				trace  string
				then   func(cancel func()) error // at the first output
				status int
				err    string
			}{
				"end":           {manyKeys(700), func(func()) error { return nil }, exitOK, ""},
				"bad lines":     {manyKeys(690) + "{}\nno line\n" + manyKeys(10), func(func()) error { return nil }, exitOK, ""},
				"interrupt":     {manyKeys(700), func(cancel func()) error { cancel(); return nil }, exitInterrupted, "weir: interrupted\n"},
				"broken output": {manyKeys(700), func(func()) error { return syscall.EPIPE }, exitFailed, "weir: --decisions: broken pipe\n"},
			} {
				ctx, cancel := context.WithCancel(t.Context())
				out := &hook{then: func() error {
					if n, err := s.Try("DBSIZE"); err != nil || n.(int64) < 100 {
						t.Errorf("%s on %s: %v keys (%v) in the middle of the replay", name, url, n, err)
					}
					if left, is := s.Do("PTTL", s.Do("RANDOMKEY").(string)).(int64); !is || left < 3_000_000 {
						t.Errorf("%s on %s: a key lives for another %v ms", name, url, left)
					}
					return c.then(cancel)
				}}
				var errs strings.Builder
				status := run(ctx, []string{"replay", "--limit", "gcra:1/1h", "--store", url, "--decisions", "-", "-"}, strings.NewReader(c.trace), out, &errs)
				if status != c.status || status != exitOK && errs.String() != c.err {
					t.Errorf("%s on %s: status %d, %s", name, url, status, errs.String())
				}
				wantKeys(t, s)
				cancel()
			}
		}
	})
}

func TestServerIsLeftCleanAfterAComparison(t *testing.T) {
	leftToTheFullRun(t)
	args := []string{"compare", "-"}
	for n := range maxLimits { // which do not divide the slots that are removed at a time
		args = append(args, "--limit", fmt.Sprintf("gcra:%d/1h", n+1))
	}
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, url := range urls(s)[:2] {
			got := startWith(manyKeys(300), append(args, "--store", url)...)
			if got.status != exitOK || got.err != "" {
				t.Errorf("%s: status %d, %s", url, got.status, got.err)
			}
			wantKeys(t, s)
		}
	})
}

func TestInterruptBeforeTheStartLeavesNothing(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, url := range urls(s) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			var errs strings.Builder
			status := run(ctx, []string{"replay", "--limit", "gcra:1/1h", "--store", url, "--format", "jsonl", "-"}, strings.NewReader(oneEvent), io.Discard, &errs)
			if status != exitInterrupted || errs.String() != "weir: interrupted\n" {
				t.Errorf("%s: status %d, %s", url, status, errs.String())
			}
			wantKeys(t, s)
		}
	})
}

// A signal to the process, and an output whose reader goes away.
func TestProcessThatIsEndedCleansUp(t *testing.T) {
	leftToTheFullRun(t)
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	write(t, file, manyKeys(300_000)) // far more than are decided before the end
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, url := range urls(s)[:2] {
			for name, c := range map[string]struct {
				end  func(*exec.Cmd, io.Closer) error
				want string
			}{
				"SIGINT":  {func(cmd *exec.Cmd, _ io.Closer) error { return cmd.Process.Signal(os.Interrupt) }, "130 weir: interrupted\n"},
				"SIGTERM": {func(cmd *exec.Cmd, _ io.Closer) error { return cmd.Process.Signal(syscall.SIGTERM) }, "130 weir: interrupted\n"},
				"SIGPIPE": {func(_ *exec.Cmd, out io.Closer) error { return out.Close() }, "3 weir: --decisions: write /dev/stdout: broken pipe\n"},
			} {
				cmd := command(t, "replay", "--limit", "gcra:1/1h", "--store", url, "--decisions", "-", file)
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				var errs strings.Builder
				cmd.Stderr = &errs
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				_, err = io.ReadFull(out, make([]byte, 1000)) // it is in the middle of it
				if err == nil {
					err = c.end(cmd, out)
				}
				if err != nil {
					t.Error(err)
				}
				_, _ = io.Copy(io.Discard, out)
				_ = cmd.Wait() // its error is the status
				if got := strconv.Itoa(cmd.ProcessState.ExitCode()) + " " + errs.String(); got != c.want {
					t.Errorf("%s on %s: %s", name, url, got)
				}
				wantKeys(t, s)
			}
		}
	})
}

// What may be left is said, with the prefix by which it can be found.
func TestFailedCleanUpIsSaid(t *testing.T) {
	leftToTheFullRun(t)
	const unknown, interrupted = "weir: URL: .*: store: outcome unknown: .*\n", "weir: interrupted\n"
	for name, c := range map[string]struct {
		end           func(s *servertest.Server, wire *servertest.Proxy, cancel func())
		first, reason string
	}{
		"gone": {func(s *servertest.Server, _ *servertest.Proxy, _ func()) { s.Kill() },
			"(" + unknown + "|weir: URL: .*: store: unavailable: .*\n)", ".*: reset: .*"},
		"gone and interrupted": {func(s *servertest.Server, _ *servertest.Proxy, cancel func()) { s.Kill(); cancel() },
			interrupted, ".*: reset: .*"},
		"no replies": {func(_ *servertest.Server, wire *servertest.Proxy, _ func()) { wire.DropReplies(true) },
			unknown, ".*: reset: .*"},
	} {
		t.Run(name, func(t *testing.T) {
			servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
				for _, scheme := range []string{"redis", "valkey"} {
					s.Start()
					wire := servertest.NewProxy(t, s.Addr())
					url := scheme + "://" + wire.Addr()
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					out := &hook{then: func() error { c.end(s, wire, cancel); return nil }}
					var errs strings.Builder
					args := []string{"replay", "--limit", "gcra:1/1h", "--store", url, "--decisions", "-", "-"}
					status := run(ctx, args, strings.NewReader(manyKeys(700)), out, &errs)
					got := strings.ReplaceAll(errs.String(), url, "URL")
					want := `^` + c.first + `weir: URL: keys that begin with "weir-replay:[0-9a-f]{16}:" may be left there until they expire: clean-up: ` + c.reason + `\n$`
					if status != exitFailed || !regexp.MustCompile(want).MatchString(got) {
						t.Errorf("%s: status %d, %s\nwant %s", scheme, status, got, want)
					}
				}
			})
		})
	}
}

// A connection that breaks takes one decision with it, and the replay, but not
// the clean-up.
func TestCleanUpConnectsAnew(t *testing.T) {
	leftToTheRaceRun(t)
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, scheme := range []string{"redis", "valkey"} {
			wire := servertest.NewProxy(t, s.Addr())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := &hook{then: func() error { wire.Cut(); cancel(); return nil }}
			var errs strings.Builder
			args := []string{"replay", "--limit", "gcra:1/1h", "--store", scheme + "://" + wire.Addr(), "--decisions", "-", "-"}
			if status := run(ctx, args, strings.NewReader(manyKeys(700)), out, &errs); status != exitInterrupted || errs.String() != "weir: interrupted\n" {
				t.Errorf("%s: status %d, %s", scheme, status, errs.String())
			}
			wantKeys(t, s)
		}
	})
}

func TestPrefixIsUsedAsGivenAndForeignKeysStay(t *testing.T) {
	leftToTheFullRun(t)
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, url := range urls(s) {
			for _, foreign := range []string{"mine", "my:é *", "my:é *{user:1}", "my:é *{other}:gcra/1:"} {
				s.Do("SET", foreign, "1")
			}
			out := &hook{then: func() error {
				if n := len(s.Do("KEYS", "my:é *{user:*}G0").([]any)); n < 100 {
					t.Errorf("%s: %d keys begin with the prefix, such as %q", url, n, s.Do("RANDOMKEY"))
				}
				return nil
			}}
			var errs strings.Builder
			args := []string{"replay", "--limit", "gcra:1/1h", "--store", url, "--prefix", "my:é *", "--decisions", "-", "-"}
			if status := run(t.Context(), args, strings.NewReader(manyKeys(700)), out, &errs); status != exitOK {
				t.Errorf("%s: status %d, %s", url, status, errs.String())
			}
			wantKeys(t, s, "mine", "my:é *", "my:é *{user:1}", "my:é *{other}:gcra/1:")
		}
	})
}

// A second replay under the prefix of one that runs would go on from its states,
// and remove them.
func TestPrefixInUseIsRefused(t *testing.T) {
	leftToTheFullRun(t)
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, url := range urls(s)[:2] {
			args := []string{"--limit", "sliding-counter:3/1h", "--limit", "gcra:1/1h", "--store", url, "--prefix", "my:", "-"}
			replay := append([]string{"replay", "--decisions", "-"}, args[2:]...)
			out := &hook{then: func() error {
				got := startWith(manyKeys(1), replay...)
				if want := `weir: --prefix: "my:" is in use on ` + url + ": there is a state that this replay did not write\n"; got != (result{exitFailed, "", want}) {
					t.Errorf("%s: %+v", url, got)
				}
				return nil
			}}
			var errs strings.Builder
			if status := run(t.Context(), replay, strings.NewReader(manyKeys(700)), out, &errs); status != exitOK {
				t.Errorf("%s: status %d, %s", url, status, errs.String())
			}
			wantKeys(t, s)
			if got := startWith(manyKeys(700), append([]string{"compare"}, args...)...); got.status != exitOK {
				t.Errorf("%s: compare: status %d, %s", url, got.status, got.err)
			}
			wantKeys(t, s)
		}
	})
}
