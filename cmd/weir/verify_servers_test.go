package main

import (
	"context"
	"io"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weirgo/weir/internal/servertest"
)

// fewChecks are some of every sort, among them those that look past the store.
const fewChecks = "^(timeline/take|take/most-ops|key/any-bytes|key/long|stored|corrupt|context|close|concurrent/takes|linear/several|model)"

// verify runs some checks and returns the report without times.
func verify(url string, args ...string) result {
	got := start(append([]string{"verify", "--store", url}, args...)...)
	got.out = withoutTimes(got.out)
	return got
}

// Both servers pass all checks, on both clocks, and are left as they were.
func TestServersPassVerification(t *testing.T) {
	leftToTheFullRun(t)
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		s.Do("SET", "mine", "1")
		url := string(s.Kind()) + "://" + s.Addr()
		args := []string{"--quick"}
		if testing.Short() {
			args = append(args, "--run", fewChecks)
		}
		for _, more := range [][]string{nil, {"--server-clock", "--share", "1"}} {
			got := verify(url, append(args, more...)...)
			if got.status != exitOK || got.err != "" || !strings.Contains(got.out, " 0 failed, ") || strings.Contains(got.out, "warning") || strings.Contains(got.out, "Config") {
				t.Errorf("status %d, %s%s", got.status, got.out, got.err)
			}
			if passes := strings.Count(got.out, "passed "); passes < 14 {
				t.Errorf("only %d checks have passed:\n%s", passes, got.out)
			}
			wantKeys(t, s, "mine")
		}
	})
}

func TestVerifyReachesServersInEveryWay(t *testing.T) {
	leftToTheFullRun(t)
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, url := range urls(s) {
			got := verify(url+map[bool]string{true: "?db=3", false: "/3"}[strings.Contains(url, "unix")], "--run", "^(stored/is|corrupt/is|take/one)", "--checks", "1")
			if got.status != exitOK || strings.Count(got.out, "passed ") != 3 {
				t.Errorf("%s: status %d, %s%s", url, got.status, got.out, got.err)
			}
			if info := s.Do("INFO", "keyspace").(string); strings.Contains(info, "db") {
				t.Errorf("%s: keys are left: %s", url, info)
			}
		}
	})
}

// verifier is the user that the reference names. He sees neither INFO nor life times.
var verifier = &servertest.Config{Users: []string{
	"default off",
	"ann on >s3cret ~mine:* +evalsha +evalsha_ro +eval +eval_ro +time +get +set +del +llen +lrange +lindex +lset +rpush +ltrim +pexpire",
	"bob on >s3cret ~mine:* +@all -set",
}}

func TestVerifyNeedsFewPermissionsAndKeepsToThePrefix(t *testing.T) {
	leftToTheFullRun(t)
	servertest.Each(t, verifier, func(t *testing.T, s *servertest.Server) {
		s.Do("SET", "mine:", "1")
		for _, url := range urls(s) {
			with := func(user string) string { return strings.Replace(url, "://", "://"+user+"@", 1) }
			got := verify(with("ann:s3cret"), "--prefix", "mine:", "--checks", "1", "--run", fewChecks)
			if got.status != exitOK || got.err != "" || !strings.Contains(got.out, "\nwarning   life times are not looked at: NOPERM") ||
				!regexp.MustCompile(`\nstored/for-a-while .* skipped +-  needs life times, which the user may not see \(PTTL\)\n`).MatchString(got.out) ||
				!strings.Contains(got.out, "\nwarning   version and eviction policy are not known: NOPERM") || !strings.HasPrefix(got.out, "store     "+url+"\n") {
				t.Errorf("%s: status %d, %s%s", url, got.status, got.out, got.err)
			}
			for user, want := range map[string]string{
				"bob:s3cret":  "the server refuses SET: ",
				"ann:s3cret2": "WRONGPASS",
			} {
				got := verify(with(user), "--prefix", "mine:")
				status := exitNo
				if want == "WRONGPASS" {
					status = exitFailed
				}
				if got.status != status || got.out != "" || !strings.HasPrefix(got.err, "weir: "+url+": ") || !strings.Contains(got.err, want) || strings.Contains(got.err, "s3cret") {
					t.Errorf("%s as %s: status %d, %s%s", url, user, got.status, got.out, got.err)
				}
			}
			if got := verify(with("ann:s3cret")); got.status != exitNo ||
				!regexp.MustCompile(`NOPERM .*: the user may not use keys that begin with "weir-verify:[0-9a-f]{16}:": --prefix must be one that its permissions name\n$`).MatchString(got.err) {
				t.Errorf("%s without the prefix: status %d, %s", url, got.status, got.err)
			}
			wantKeys(t, s, "mine:")
		}
	})
}

func TestVerifySaysWhyAServerIsUseless(t *testing.T) {
	if got := verify("redis://127.0.0.1:1"); got.status != exitFailed || got.out != "" || !regexp.MustCompile(`^weir: redis://127.0.0.1:1: .*connection refused\n$`).MatchString(got.err) {
		t.Errorf("nothing there: %+v", got)
	}
	full := &servertest.Config{Args: []string{"--maxmemory", "1", "--maxmemory-policy", "noeviction"}}
	servertest.Each(t, full, func(t *testing.T, s *servertest.Server) {
		for _, url := range urls(s)[:2] {
			if got := verify(url); got.status != exitFailed || got.out != "" || !strings.Contains(got.err, "OOM command not allowed") || strings.Count(got.err, "\n") != 1 {
				t.Errorf("full: %+v", got)
			}
			wantKeys(t, s)
		}
	})
}

func TestVerifyWarnsOfEviction(t *testing.T) {
	evicting := &servertest.Config{Args: []string{"--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"}}
	servertest.Each(t, evicting, func(t *testing.T, s *servertest.Server) {
		got := verify("redis://"+s.Addr(), "--run", "^take/one-instant$")
		if got.status != exitOK || !strings.Contains(got.out, "\nwarning   maxmemory-policy allkeys-lru can drop the keys of limits") {
			t.Errorf("%+v", got)
		}
	})
}

// A server that forgets is found out.
func TestVerifyFindsAServerThatForgets(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, url := range urls(s)[:2] {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				for ctx.Err() == nil {
					if _, err := s.Try("FLUSHALL"); err != nil {
						t.Error(err)
						return
					}
				}
			}()
			got := verify(url, "--run", "^(look/changes-nothing|capability/one-op)$")
			cancel()
			<-done
			for _, want := range []string{"\nlook/changes-nothing  M6        failed       TIME\n", "\nlook/changes-nothing (M6)\n  rule:      ", "  got:       ", "  transcript, by the clock from ", "\n0 passed, 1 failed, 1 skipped, in "} {
				if !strings.Contains(got.out, want) {
					t.Errorf("%s: it does not say %q:\n%s", url, want, got.out)
				}
			}
			if got.status != exitNo || got.err != "weir: "+url+": 1 of 2 checks failed\n" {
				t.Errorf("%s: status %d, %s", url, got.status, got.err)
			}
			wantKeys(t, s)
		}
	})
}

// eachRow calls then when the first row of the table is written.
type eachRow struct {
	strings.Builder
	row  string
	then func()
}

func (e *eachRow) Write(p []byte) (int, error) {
	if then := e.then; then != nil && strings.HasPrefix(string(p), e.row) {
		e.then = nil
		then()
	}
	return e.Builder.Write(p)
}

// A server that goes away in the middle ends it, with what is known until then.
func TestVerifyEndsWithTheServer(t *testing.T) {
	leftToTheFullRun(t)
	for name, end := range map[string]func(s *servertest.Server, wire *servertest.Proxy){
		"gone":       func(s *servertest.Server, _ *servertest.Proxy) { s.Kill() },
		"cut off":    func(_ *servertest.Server, wire *servertest.Proxy) { wire.Refuse(true); wire.Cut() },
		"no replies": func(_ *servertest.Server, wire *servertest.Proxy) { wire.DropReplies(true) },
	} {
		t.Run(name, func(t *testing.T) {
			servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
				for _, scheme := range []string{"redis", "valkey"} {
					s.Start()
					wire := servertest.NewProxy(t, s.Addr())
					url := scheme + "://" + wire.Addr()
					out := &eachRow{row: "take/order-does-not-matter ", then: func() { end(s, wire) }}
					var errs strings.Builder
					status := run(t.Context(), []string{"verify", "--store", url, "--run", "^take/"}, strings.NewReader(""), out, &errs)
					text := withoutTimes(out.String())
					if status != exitFailed || !strings.Contains(text, "\n5 passed, 1 failed, 0 skipped, 1 not run, in TIME\n") ||
						!strings.Contains(text, "\ntake/same-slot-twice (X5)\n  rule: ") || strings.Count(text, "  not run         -\n") != 1 {
						t.Errorf("%s: status %d, %s", scheme, status, text)
					}
					want := `^weir: URL: 1 of 7 checks failed, 1 not run: .+\n` +
						`weir: URL: keys that begin with "weir-verify:RANDOM:" may be left there until they expire: clean-up: .+\n$`
					if got := withoutTimes(strings.ReplaceAll(errs.String(), url, "URL")); !regexp.MustCompile(want).MatchString(got) {
						t.Errorf("%s: %s", scheme, got)
					}
				}
			})
		})
	}
}

// A connection that breaks fails a check at most, and leaves nothing.
func TestVerifyConnectsAnew(t *testing.T) {
	leftToTheFullRun(t)
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, scheme := range []string{"redis", "valkey"} {
			wire := servertest.NewProxy(t, s.Addr())
			out := &eachRow{row: "take/order-does-not-matter ", then: wire.Cut}
			var errs strings.Builder
			run(t.Context(), []string{"verify", "--store", scheme + "://" + wire.Addr(), "--run", "^take/"}, strings.NewReader(""), out, &errs)
			if text := out.String(); strings.Count(text, " passed ") < 6 || strings.Contains(text, "not run") {
				t.Errorf("%s: %s%s", scheme, text, errs.String())
			}
			wantKeys(t, s)
		}
	})
}

// An interrupt in the middle of a check leaves nothing, wherever it comes.
func TestInterruptedVerificationLeavesNothing(t *testing.T) {
	leftToTheRaceRun(t)
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		s.Do("SET", "mine", "1")
		for _, url := range urls(s) {
			for _, check := range []string{"^model/", "^linear/", "^key/among-many$"} {
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan struct{})
				var errs strings.Builder
				status := -1
				go func() {
					defer close(ended)
					status = run(ctx, []string{"verify", "--store", url, "--run", check, "--checks", "1000000"}, strings.NewReader(""), io.Discard, &errs)
				}()
				busy := false
				for deadline := time.Now().Add(30 * time.Second); !busy && time.Now().Before(deadline); {
					n, err := s.Try("DBSIZE")
					busy = err == nil && n.(int64) > 1
				}
				cancel()
				<-ended
				if !busy || status != exitInterrupted || errs.String() != "weir: interrupted\n" {
					t.Errorf("%s %s: seen at work %v, status %d, %s", url, check, busy, status, errs.String())
				}
				wantKeys(t, s, "mine")
			}
		}
	})
}

func TestVerifierThatIsEndedCleansUp(t *testing.T) {
	leftToTheFullRun(t)
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		url := string(s.Kind()) + "://" + s.Addr()
		for name, c := range map[string]struct {
			end  func(p *os.Process, out io.Closer) error
			want string
		}{
			"SIGINT":  {func(p *os.Process, _ io.Closer) error { return p.Signal(os.Interrupt) }, "weir: interrupted\n"},
			"SIGTERM": {func(p *os.Process, _ io.Closer) error { return p.Signal(syscall.SIGTERM) }, "weir: interrupted\n"},
			"SIGPIPE": {func(_ *os.Process, out io.Closer) error { return out.Close() }, "weir: report: write /dev/stdout: broken pipe\n"},
		} {
			cmd := command(t, "verify", "--store", url, "--run", "^take/", "--checks", "1000")
			cmd.Dir = t.TempDir()
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			var errs strings.Builder
			cmd.Stderr = &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err = io.ReadFull(out, make([]byte, 200)); err == nil { // the table has begun
				err = c.end(cmd.Process, out)
			}
			if err != nil {
				t.Error(err)
			}
			_, _ = io.Copy(io.Discard, out)
			_ = cmd.Wait() // its error is the status
			if status := cmd.ProcessState.ExitCode(); errs.String() != c.want || (status == exitInterrupted) != (name != "SIGPIPE") || status == exitOK {
				t.Errorf("%s: status %d, %s", name, status, errs.String())
			}
			if files, err := os.ReadDir(cmd.Dir); err != nil || len(files) > 0 {
				t.Errorf("%s: files are left: %v (%v)", name, files, err)
			}
			wantKeys(t, s)
		}
	})
}

// documented is the report in the reference, which is what comes but for times and
// what else differs from run to run.
var documented = regexp.MustCompile("(?s)```sh\nweir verify --store (\\S+) (.*?)\n```\n\n<!-- report: written by the tests -->\n```text\n(.*?)```\n<!-- report: end -->")

func TestDocumentedReportIsTrue(t *testing.T) {
	const page = "../../docs/reference/verify.md"
	s := servertest.Start(t, servertest.Redis, nil)
	text := read(t, page)
	found := documented.FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("%s has no report", page)
	}
	url := "redis://" + s.Addr()
	args := strings.Fields(strings.ReplaceAll(found[2], "'", ""))
	got := start(append([]string{"verify", "--store", url}, args...)...)
	if got.status != exitOK || got.err != "" {
		t.Fatalf("status %d, %s", got.status, got.err)
	}
	shown := strings.Replace(got.out, url, found[1], 1)
	if *update && withoutTimes(shown) != withoutTimes(found[3]) {
		write(t, page, strings.Replace(text, "```text\n"+found[3]+"```", "```text\n"+shown+"```", 1))
	} else if want := withoutTimes(found[3]); withoutTimes(shown) != want {
		t.Errorf("%s: %s\nIf that is right: go test ./cmd/weir -update", page, difference(withoutTimes(shown), want))
	}
}
