package valkeystore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store/script"
)

func TestRepliesBecomeText(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for mode, opts := range modes {
			_, c := open(t, s.Addr(), opts)
			s.Do("SET", "k", "v v")
			for name, test := range map[string]struct {
				cmd  *script.Command
				want string
			}{
				"status":          {words("SET", "other", "v"), "OK"},
				"string":          {words("GET", "k"), "v v"},
				"empty string":    {words("GETRANGE", "k", "9", "9"), ""},
				"nil":             {words("GET", "none"), ""},
				"nil of a script": {eval("return nil"), ""},
				"number":          {words("STRLEN", "k"), "3"},
				"negative number": {eval("return -9007199254740991"), "-9007199254740991"},
				"binary":          {eval(`return "\0\r\n\255"`), "\x00\r\n\xff"},
				"like verbatim":   {eval(`return "txt:text"`), "txt:text"},
				"long string":     {eval("return string.rep('x', 100000)"), strings.Repeat("x", 100000)},
			} {
				if got := do(t, c, test.cmd); got != test.want {
					t.Errorf("%s, %s: %.50q, want %.50q", mode, name, got, test.want)
				}
			}
			if info := do(t, c, &script.Command{Args: []string{"INFO", "server"}}); !strings.HasPrefix(info, "# Server") {
				t.Errorf("%s, INFO begins with %.20q", mode, info)
			}
			for name, cmd := range map[string]*script.Command{
				"array":       eval("return {1, 2, 3}"),
				"empty array": eval("return {}"),
				"map":         {Args: []string{"CONFIG", "GET", "maxmemory"}},
			} {
				reply, err := c.Do(context.Background(), cmd)
				wantClass(t, err, "unknown")
				if reply != "" {
					t.Errorf("%s, %s: %q", mode, name, reply)
				}
				if got := do(t, c, words("GET", "k")); got != "v v" {
					t.Errorf("%s, after an %s: %q", mode, name, got)
				}
			}
		}
	})
}

func TestErrorRepliesKeepTheirCode(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		_, c := open(t, s.Addr(), valkey.ClientOption{})
		do(t, c, words("SET", "k", "v"))
		for code, cmd := range map[string]*script.Command{
			"WRONGTYPE": words("LPUSH", "k", "v"),
			"NOSCRIPT":  {Args: []string{"EVALSHA", strings.Repeat("0", 40), "1", "k"}, Key: 3},
			"ERR":       words("NOSUCHCOMMAND"), // valkey-go cuts that off
			"EXECABORT": eval("return redis.error_reply('EXECABORT of a script')"),
			"MINE":      eval("return redis.error_reply('MINE own')"),
		} {
			_, err := c.Do(context.Background(), cmd)
			wantClass(t, err, "reply "+code)
			var theirs *valkey.ValkeyError
			if !errors.As(err, &theirs) {
				t.Errorf("%s: the error of valkey-go is lost: %v", code, err)
			}
		}
	})
}

// Many callers with many outcomes share connections and the memory of a call.
func TestRepliesReachTheirCallers(t *testing.T) {
	t.Parallel()
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for mode, opts := range few {
			p := servertest.NewProxy(t, s.Addr())
			_, c := open(t, p.Addr(), opts)
			var callers sync.WaitGroup
			for n := range 16 {
				callers.Go(func() {
					random := rand.New(rand.NewPCG(1, uint64(n)))
					for i := range 100 {
						want := fmt.Sprintf("%d/%d", n, i)
						ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
						switch random.IntN(50) {
						case 0:
							cancel()
						case 1:
							ctx, cancel = context.WithTimeout(ctx, time.Duration(random.IntN(300))*time.Microsecond)
						case 2:
							p.Cut()
						case 3:
							ctx = context.Background()
						}
						reply, err := c.Do(ctx, &script.Command{Args: []string{"EVAL", "return ARGV[1]", "1", "k", want}, Key: 3})
						if cancel(); err == nil && reply != want {
							t.Errorf("%s: %q for %q", mode, reply, want)
						}
					}
				})
			}
			callers.Wait()
		}
	})
}

func TestUnixSocket(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		dialer := func(ctx context.Context, path string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return d.DialContext(ctx, "unix", path)
		}
		_, c := open(t, s.Socket(), valkey.ClientOption{DialCtxFn: dialer})
		if reply := do(t, c, words("PING")); reply != "PONG" {
			t.Errorf("PING: %q", reply)
		}
	})
}

func TestClusterClients(t *testing.T) {
	t.Parallel() // it waits for the cluster
	servertest.Each(t, &servertest.Config{Args: []string{"--cluster-enabled", "yes"}}, func(t *testing.T, s *servertest.Server) {
		s.Do("CONFIG", "SET", "cluster-require-full-coverage", "no")
		s.Do("CLUSTER", "ADDSLOTSRANGE", "0", "5060", "5062", "16383")
		await(t, "the cluster serves its slots", func() bool {
			info, _ := s.Do("CLUSTER", "INFO").(string)
			return strings.Contains(info, "cluster_state:ok")
		})
		raw, c := open(t, s.Addr(), valkey.ClientOption{})
		if !c.cluster {
			t.Fatalf("the client is %s", raw.Mode())
		}
		for _, test := range []struct {
			cmd  *script.Command
			want string
		}{
			{words("SET", "{t}1", "v"), "OK"},
			{words("SET", "{t}2", "v"), "OK"},
			{words("GET", "{t}1"), "v"},
			{&script.Command{Args: []string{"EVAL_RO", "return redis.call('GET', KEYS[2])", "2", "{t}1", "{t}2", "x"}, Key: 3}, "v"},
			{eval("return #KEYS", "{t}1", "{t}2"), "2"},
			{eval("return 'no keys'"), "no keys"},
			{words("DEL", "{t}1", "{t}2", "{t}3"), "2"},
			{&script.Command{Args: []string{"ECHO", "text"}}, "text"},
		} {
			if got := do(t, c, test.cmd); got != test.want {
				t.Errorf("%s: %q, want %q", test.cmd.Args, got, test.want)
			}
			if test.cmd.Key > 0 {
				got, want := c.build(test.cmd), raw.B().Get().Key(test.cmd.Args[test.cmd.Key]).Build()
				if got.Slot() != want.Slot() {
					t.Errorf("%s: slot %d, want %d", test.cmd.Args, got.Slot(), want.Slot())
				}
			}
		}
		_, err := c.Do(context.Background(), eval("return 1", "a", "b"))
		wantClass(t, err, "reply CROSSSLOT")
		_, err = c.Do(context.Background(), words("GET", "bar")) // in slot 5061
		wantClass(t, err, "not sent")
		if !errors.Is(err, valkey.ErrNoSlot) {
			t.Errorf("a slot that nobody serves: %v", err)
		}
	})
}
