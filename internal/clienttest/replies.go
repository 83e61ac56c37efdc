package clienttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store/script"
)

func repliesBecomeText(t *testing.T, lib *Library) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, mode := range lib.Modes {
			c := lib.Open(t, At{Addr: s.Addr(), Mode: mode}).Client
			s.Do("SET", "k", "v v")
			for name, test := range map[string]struct {
				cmd  *script.Command
				want string
			}{
				"status":          {Words("SET", "other", "v"), "OK"},
				"string":          {Words("GET", "k"), "v v"},
				"empty string":    {Words("GETRANGE", "k", "9", "9"), ""},
				"nil":             {Words("GET", "none"), ""},
				"nil of a script": {Eval("return nil"), ""},
				"number":          {Words("STRLEN", "k"), "3"},
				"negative number": {Eval("return -9007199254740991"), "-9007199254740991"},
				"binary":          {Eval(`return "\0\r\n\255"`), "\x00\r\n\xff"},
				"like verbatim":   {Eval(`return "txt:text"`), "txt:text"},
				"long string":     {Eval("return string.rep('x', 100000)"), strings.Repeat("x", 100000)},
			} {
				if got := Do(t, c, test.cmd); got != test.want {
					t.Errorf("%s, %s: %.50q, want %.50q", mode, name, got, test.want)
				}
			}
			if info := Do(t, c, &script.Command{Args: []string{"INFO", "server"}}); !strings.HasPrefix(info, "# Server") {
				t.Errorf("%s, INFO begins with %.20q", mode, info)
			}
			for name, cmd := range map[string]*script.Command{
				"array":       Eval("return {1, 2, 3}"),
				"empty array": Eval("return {}"),
				"map":         {Args: []string{"CONFIG", "GET", "maxmemory"}},
			} {
				reply, err := c.Do(context.Background(), cmd)
				WantClass(t, err, "unknown")
				if reply != "" {
					t.Errorf("%s, %s: %q", mode, name, reply)
				}
				// The rest of it is not taken for the next reply.
				if got := Do(t, c, Words("GET", "k")); got != "v v" {
					t.Errorf("%s, after an %s: %q", mode, name, got)
				}
			}
		}
	})
}

func errorRepliesKeepTheirCode(t *testing.T, lib *Library) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, mode := range lib.Modes {
			c := lib.Open(t, At{Addr: s.Addr(), Mode: mode}).Client
			Do(t, c, Words("SET", "k", "v"))
			for code, cmd := range map[string]*script.Command{
				"WRONGTYPE": Words("LPUSH", "k", "v"),
				"NOSCRIPT":  {Args: []string{"EVALSHA", strings.Repeat("0", 40), "1", "k"}, Key: 3},
				"ERR":       Words("NOSUCHCOMMAND"),
				"EXECABORT": Eval("return redis.error_reply('EXECABORT of a script')"),
				"MINE":      Eval("return redis.error_reply('MINE own')"),
			} {
				_, err := c.Do(context.Background(), cmd)
				WantClass(t, err, "reply "+code)
				if !lib.Refusal(err) {
					t.Errorf("%s, %s: the error of the library is lost: %v", mode, code, err)
				}
			}
		}
	})
}

// Many callers with many outcomes share connections and the memory of a call.
func repliesReachTheirCallers(t *testing.T, lib *Library) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, mode := range lib.Few {
			p := servertest.NewProxy(t, s.Addr())
			c := lib.Open(t, At{Addr: p.Addr(), Mode: mode}).Client
			var callers sync.WaitGroup
			var answers atomic.Int64
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
						} else if err == nil {
							answers.Add(1)
						}
					}
				})
			}
			callers.Wait()
			if n := answers.Load(); n < 16*100/4 {
				t.Errorf("%s: %d answers: this test shows nothing", mode, n)
			}
			// A connection that was cut last may fail one more.
			servertest.Await(t, "an answer in the end", func() bool {
				reply, err := c.Do(context.Background(), Words("ECHO", "still there"))
				return err == nil && reply == "still there"
			})
		}
	})
}

func unixSocket(t *testing.T, lib *Library) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		c := lib.Open(t, At{Socket: s.Socket(), Mode: lib.Modes[0]}).Client
		if reply := Do(t, c, Words("PING")); reply != "PONG" {
			t.Errorf("PING: %q", reply)
		}
	})
}
