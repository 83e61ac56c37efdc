package main

import (
	"crypto/tls"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirgo/weir/internal/oracle"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/internal/storeurl"
)

func TestServerThatIsNotThereFailsTheReplay(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	dir := t.TempDir()
	for _, c := range []struct{ url, shown, reason string }{
		{"redis://:s3cret@" + addr, "redis://" + addr, "connection refused"},
		{"rediss://:s3cret@" + addr, "rediss://" + addr, "connection refused"},
		{"valkey://:s3cret@" + addr, "valkey://" + addr, "connection refused"},
		{"valkeys://:s3cret@" + addr, "valkeys://" + addr, "connection refused"},
		{"unix://:s3cret@" + dir + "/none", "unix://" + dir + "/none", "no such file"},
		{"valkey-unix://:s3cret@" + dir + "/none", "valkey-unix://" + dir + "/none", "no such file"},
	} {
		output := filepath.Join(dir, "decisions")
		got := startWith(oneEvent, "replay", "--limit", "gcra:1/1s", "--store", c.url, "--decisions", output, "-")
		if got.status != exitFailed || got.out != "" || !strings.HasPrefix(got.err, "weir: "+c.shown+": ") ||
			!strings.Contains(got.err, c.reason) || strings.Count(got.err, "\n") != 1 || strings.Contains(got.err, "s3cret") {
			t.Errorf("%s: status %d, %s%s", c.url, got.status, got.out, got.err)
		}
		if exists(output) {
			t.Fatal("an output was created")
		}
	}
}

// It accepts a connection and says nothing: that takes seconds to tell.
func TestServerThatDoesNotAnswerFailsTheReplay(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a time-out of seconds: skipped by -short")
	}
	for _, scheme := range []string{"redis", "rediss", "valkey", "valkeys"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			url := scheme + "://" + listener.Addr().String()
			got := startWith(oneEvent, "replay", "--limit", "gcra:1/1s", "--store", url, "-")
			if got.status != exitFailed || got.out != "" || !strings.HasPrefix(got.err, "weir: "+url+": ") || !strings.Contains(got.err, "timeout") && !strings.Contains(got.err, "deadline") {
				t.Errorf("status %d, %s%s", got.status, got.out, got.err)
			}
		})
	}
}

// restricted has a user ann with the permissions that the reference names, and
// no other.
var restricted = &servertest.Config{Users: []string{
	"default off",
	"ann on >s3cret ~weir-replay:* +evalsha +eval +evalsha_ro +eval_ro +get +set +del +pexpire +@list",
}}

func TestReplayNeedsFewPermissions(t *testing.T) {
	leftToTheRaceRun(t)
	servertest.Each(t, restricted, func(t *testing.T, s *servertest.Server) {
		for _, url := range urls(s) {
			for _, kind := range oracle.Kinds() {
				limit := limits{kind: kind, limit: 2, period: 1_000_000, capacity: 2}.spec()
				args := []string{"--limit", limit, "--decisions", "-"}
				want := replayed(t, twoKeys, args...)
				if got := replayed(t, twoKeys, append(args, "--store", strings.Replace(url, "://", "://ann:s3cret@", 1))...); got != want {
					t.Errorf("%s: %s", url, difference(got, want))
				}
			}
		}
		wantKeys(t, s)
	})
}

func TestPasswordIsUsedAndNotShown(t *testing.T) {
	servertest.Each(t, restricted, func(t *testing.T, s *servertest.Server) {
		for _, url := range urls(s) {
			with := strings.Replace(url, "://", "://ann:s3cret@", 1)
			summary := filepath.Join(t.TempDir(), "report")
			got := startWith(twoKeys, "replay", "--limit", "gcra:1/1s", "--store", with, "--json", summary, "-")
			if want := strings.ReplaceAll(twoKeysReport, storeurl.Memory, url); got != (result{exitOK, want, ""}) {
				t.Errorf("%s: status %d, %s%s", url, got.status, got.err, difference(got.out, want))
			}
			if text := read(t, summary); !strings.Contains(text, `"store": "`+url+`"`) || strings.Contains(text, "s3cret") {
				t.Errorf("%s: the report is %s", url, text)
			}
			wantKeys(t, s)
			for _, login := range []string{"ann:s3cret2@", "bob:s3cret@", ":s3cret@", ""} {
				got := startWith(oneEvent, "replay", "--limit", "gcra:1/1s", "--store", strings.Replace(url, "://", "://"+login, 1), "-")
				if got.status != exitFailed || got.out != "" || !strings.HasPrefix(got.err, "weir: "+url+": ") ||
					!strings.Contains(got.err, "WRONGPASS") && !strings.Contains(got.err, "NOAUTH") || strings.Contains(got.err, "s3cret") {
					t.Errorf("%s as %s: status %d, %s%s", url, login, got.status, got.out, got.err)
				}
			}
		}
	})
}

func TestDatabaseOfTheURLIsUsed(t *testing.T) {
	leftToTheFullRun(t)
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for i, url := range urls(s) {
			db := []string{"/3", "/3", "?db=3", "?db=3"}[i]
			out := &hook{then: func() error {
				if info := s.Do("INFO", "keyspace").(string); !strings.Contains(info, "db3:") || strings.Contains(info, "db0:") {
					t.Errorf("%s: %s", url, info)
				}
				return nil
			}}
			var errs strings.Builder
			args := []string{"replay", "--limit", "gcra:1/1h", "--store", url + db, "--decisions", "-", "-"}
			if status := run(t.Context(), args, strings.NewReader(manyKeys(1000)), out, &errs); status != exitOK || !strings.Contains(errs.String(), "on "+url+db+"\n") {
				t.Errorf("%s: status %d, %s", url, status, errs.String())
			}
			if info := s.Do("INFO", "keyspace").(string); strings.Contains(info, "db") {
				t.Errorf("%s: keys are left: %s", url, info)
			}
			got := startWith(oneEvent, "replay", "--limit", "gcra:1/1h", "--store", url+strings.Replace(db, "3", "99", 1), "-")
			if got.status != exitFailed || !strings.Contains(got.err, "DB index is out of range") {
				t.Errorf("%s: status %d, %s", url, got.status, got.err)
			}
		}
	})
}

// The system decides what is trusted; here a file does, which only a new process
// reads.
func TestTLSIsSpokenWithWhomTheSystemTrusts(t *testing.T) {
	servertest.Each(t, &servertest.Config{TLS: true}, func(t *testing.T, s *servertest.Server) {
		conn, err := tls.Dial("tcp", s.Addr(), s.TLSConfig())
		if err != nil {
			t.Fatal(err)
		}
		certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: conn.ConnectionState().PeerCertificates[0].Raw})
		conn.Close()
		trusted := filepath.Join(t.TempDir(), "cert.pem")
		write(t, trusted, string(certificate))
		for _, scheme := range []string{"rediss", "valkeys"} {
			url := scheme + "://" + s.Addr()
			for file, want := range map[string]result{
				trusted:    {exitOK, twoKeysDecided, strings.Replace(twoKeysReport, storeurl.Memory, url, 1)},
				os.DevNull: {exitFailed, "", "weir: " + url + ": tls: failed to verify certificate: x509: certificate signed by unknown authority\n"},
			} {
				cmd := command(t, "replay", "--limit", "gcra:1/1s", "--store", url, "--decisions", "-", "-")
				cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+file, "SSL_CERT_DIR="+t.TempDir())
				cmd.Stdin = strings.NewReader(twoKeys)
				var out, errs strings.Builder
				cmd.Stdout, cmd.Stderr = &out, &errs
				_ = cmd.Run() // its error is the status
				if got := (result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}); got != want {
					t.Errorf("%s with %s: %+v", url, file, got)
				}
			}
		}
		wantKeys(t, s)
	})
}
