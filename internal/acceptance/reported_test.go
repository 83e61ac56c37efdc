package acceptance_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	redisstore "github.com/weirgo/weir/store/redis"
	"github.com/weirgo/weir/store/script"
)

// Faults of servers and networks that other projects were told of, with the numbers of
// their reports. B118 and the parts of B121 that are not here stand in
// restricted_test.go and failover_test.go.

// admitted is one unit of a limit of five a year, and what it leaves.
func admitted(t *testing.T, what string, s store.Store, left int64) {
	t.Helper()
	ops := []store.Op{op("user", "", longest("gcra", 5), 1)}
	_, committed, err := s.Apply(context.Background(), ops)
	if err != nil || !committed || ops[0].Outcome.Remaining != left {
		t.Errorf("%s: %d left, admitted %v, %v; want %d left", what, ops[0].Outcome.Remaining, committed, err, left)
	}
}

// B118: a call that waits while somebody else's script runs is in doubt, and charged at
// most once; once the server says BUSY, nothing is charged; afterwards all goes on.
func TestScriptOfSomebodyElseEndsAndAllGoesOn(t *testing.T) {
	t.Parallel()
	each(t, allPairs(), &servertest.Config{Args: []string{"--busy-reply-threshold", "3000"}}, func(t *testing.T, e *env) {
		s := e.store(t, nil)
		admitted(t, "before", s, 4)
		var busy sync.WaitGroup
		busy.Go(func() { _, _ = e.server.Try("EVAL", "while true do end", "0") })
		one := []store.Op{op("user", "", longest("gcra", 5), 1)}
		var err error
		least := int64(4)
		servertest.Await(t, "a call that the script holds up", func() bool {
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer cancel()
			var committed bool
			if _, committed, err = s.Apply(ctx, one); committed { // before the script has begun
				least--
			}
			return err != nil && kind(err) != "other" // where a busy machine has not sent it in time
		})
		wantKind(t, "before the threshold", err, "unknown")
		servertest.Await(t, "the server says BUSY", func() bool {
			_, err = s.Peek(context.Background(), one)
			var answer *script.ServerError
			return errors.As(err, &answer) && answer.Code() == "BUSY"
		})
		wantKind(t, "peek, after the threshold", err, "unavailable")
		e.server.Do("SCRIPT", "KILL")
		busy.Wait()
		succeedPeek(t, s, one)
		if left := remaining(t, s, one[0].Slot); left > least || left < max(0, least-1) {
			t.Errorf("%d left after the script, want %d, or one less", left, least)
		}
	})
}

// B120: a server that closes idle connections costs nothing and leaves no doubt, where
// the library looks at a connection before it uses it. valkey-go keeps its connection
// from being idle by a PING a second; what is sent while the server closes it is in doubt.
func TestIdleConnectionsThatTheServerCloses(t *testing.T) {
	t.Parallel()
	each(t, allPairs(), &servertest.Config{Args: []string{"--timeout", "1"}}, func(t *testing.T, e *env) {
		s := e.store(t, nil)
		ops := []store.Op{op("user", "", longest("gcra", 5), 1)}
		doubts := int64(0)
		for range 3 {
			_, _, err := s.Apply(context.Background(), ops)
			if err != nil && (e.library == redisLibrary || kind(err) != "unknown") {
				t.Errorf("after a pause: %v", err)
			}
			if err != nil {
				doubts++
			}
			begin := time.Now()
			servertest.Await(t, "the server has closed all idle connections", func() bool {
				if e.library == valkeyLibrary && time.Since(begin) > 2500*time.Millisecond {
					return true
				}
				list, err := e.server.Try("CLIENT", "LIST")
				return err == nil && strings.Count(list.(string), " fd=") <= 1 // of this question
			})
		}
		succeedPeek(t, s, ops)
		if left := remaining(t, s, ops[0].Slot); left < 2 || left > 2+doubts {
			t.Errorf("%d left, want 2 to %d", left, 2+doubts)
		}
	})
}

// B121: a server that cannot save refuses writes and has changed nothing; it still
// answers looks.
func TestDiskThatIsFullIsUnavailable(t *testing.T) {
	t.Parallel()
	each(t, allPairs(), &servertest.Config{Args: []string{"--save", "3600 1"}}, func(t *testing.T, e *env) {
		s := e.store(t, nil)
		name := func(setting string) string { return e.server.Do("CONFIG", "GET", setting).([]any)[1].(string) }
		file := filepath.Join(name("dir"), name("dbfilename"))
		if err := errors.Join(os.RemoveAll(file), os.MkdirAll(filepath.Join(file, "full"), 0o700)); err != nil { // no file can take its place
			t.Fatal(err)
		}
		saved := func(want string) {
			t.Helper()
			servertest.Await(t, "the last save was "+want, func() bool {
				_, _ = e.server.Try("BGSAVE")
				info := e.server.Do("INFO", "persistence").(string)
				return strings.Contains(info, "rdb_last_bgsave_status:"+want)
			})
		}
		saved("err")
		ops := []store.Op{op("user", "", longest("gcra", 5), 1)}
		_, _, err := s.Apply(context.Background(), ops)
		wantKind(t, "MISCONF", err, "unavailable")
		var answer *script.ServerError
		if !errors.As(err, &answer) || answer.Code() != "MISCONF" {
			t.Errorf("%v", err)
		}
		if left := remaining(t, s, ops[0].Slot); left != 5 {
			t.Errorf("%d left, want 5", left)
		}
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
		saved("ok")
		admitted(t, "there is room again", s, 4)
	})
}

// B122: a proxy or a service without SCRIPT. Scripts are sent whole where they are not known.
func TestServerWithoutScriptLoad(t *testing.T) {
	t.Parallel()
	each(t, allPairs(), &servertest.Config{Args: []string{"--rename-command", "SCRIPT", ""}}, func(t *testing.T, e *env) {
		s := e.store(t, nil)
		if _, err := s.Check(context.Background()); err != nil {
			t.Error(err)
		}
		admitted(t, "scripts are sent whole", s, 4)
		e.server.Restart() // and has lost scripts and data
		ops := []store.Op{op("user", "", longest("gcra", 5), 1)}
		_, _, err := s.Apply(context.Background(), ops)
		want, known := map[string][]int64{"none": {4}, "unknown": {4, 5}, "unavailable": {5}}[kind(err)]
		if !known {
			t.Errorf("after a restart: %v", err)
		}
		succeedPeek(t, s, ops)
		if left := remaining(t, s, ops[0].Slot); !slices.Contains(want, left) {
			t.Errorf("%d left after %v, want one of %d", left, err, want)
		}
		e.server.Do("FLUSHALL")
		admitted(t, "again", s, 4)
	})
}

// B127: a client library that does not look at the deadline of a call that it has sent.
// The limiter ends each call after its own Timeout, 100 ms.
func TestDeadlineThatTheLibraryDoesNotLookAt(t *testing.T) {
	t.Parallel()
	each(t, []pair{{redisLibrary, servertest.Redis}, {redisLibrary, servertest.Valkey}}, nil, func(t *testing.T, e *env) {
		client := redis.NewClient(&redis.Options{Addr: e.server.Addr(), ContextTimeoutEnabled: false, ReadTimeout: patience})
		t.Cleanup(func() { _ = client.Close() })
		s, err := redisstore.New(client, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		l, err := weir.New(s, weir.Limit{Name: "limit", Algorithm: longest("gcra", 5)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		first := []store.Op{op("user", "", longest("gcra", 5), 1)}
		mustApply(t, s, first...)
		e.server.Freeze()
		begin := time.Now()
		for range 2 {
			_, err := l.Allow(context.Background(), "user")
			if got := kind(err); got != "unknown" && got != "unavailable" { // the second may not have been sent
				t.Errorf("a server that stands still: %v", err)
			}
		}
		_, err = l.Peek(context.Background(), "user")
		wantKind(t, "peek", err, "unavailable")
		if took := time.Since(begin); took > patience/2 {
			t.Errorf("three calls took %v: each must end after Options.Timeout", took)
		}
		e.server.Thaw()
		succeedPeek(t, s, first)
		if left := remaining(t, s, first[0].Slot); left < 2 || left > 4 {
			t.Errorf("%d left after one and two in doubt: want 2 to 4", left)
		}
	})
}

// B128: a server that greets with an error and hangs up gives no decision.
func TestServerThatHangsUpAtOnce(t *testing.T) {
	t.Parallel()
	for _, greeting := range []string{
		"-ERR max number of clients reached\r\n",
		"-DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user.\r\n",
	} {
		for _, library := range []string{redisLibrary, valkeyLibrary} {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var greeter sync.WaitGroup
			greeter.Go(func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = c.Write([]byte(greeting))
					_ = c.Close()
				}
			})
			s, closeBoth, err := connect(library, dial{addr: l.Addr().String(), plain: true}, nil)
			if err == nil {
				ops := []store.Op{op("user", "", longest("gcra", 5), 1)}
				for range 2 {
					_, committed, err := s.Apply(context.Background(), ops)
					if got := kind(err); committed || got != "unavailable" && got != "unknown" {
						t.Errorf("%s, %.12s: admitted %v, %v", library, greeting, committed, err)
					}
				}
				_, err = s.Check(context.Background())
				wantKind(t, "check", err, "unavailable")
				closeBoth()
			} else if library != valkeyLibrary { // its NewClient connects
				t.Errorf("%s: %v", library, err)
			}
			_ = l.Close()
			greeter.Wait()
		}
	}
}
