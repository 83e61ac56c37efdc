package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store/script"
)

func TestRepliesBecomeText(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		for _, protocol := range []int{2, 3} {
			_, c := open(t, &redis.Options{Addr: s.Addr(), Protocol: protocol})
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
				"long string":     {eval("return string.rep('x', 100000)"), strings.Repeat("x", 100000)},
			} {
				if got := do(t, c, test.cmd); got != test.want {
					t.Errorf("protocol %d, %s: %.50q, want %.50q", protocol, name, got, test.want)
				}
			}
			if info := do(t, c, words("INFO", "server")); !strings.HasPrefix(info, "# Server") {
				t.Errorf("protocol %d, INFO begins with %.20q", protocol, info)
			}
			for name, cmd := range map[string]*script.Command{
				"array":       eval("return {1, 2, 3}"),
				"empty array": eval("return {}"),
			} {
				reply, err := c.Do(context.Background(), cmd)
				wantClass(t, err, "unknown")
				if reply != "" {
					t.Errorf("%s: %q", name, reply)
				}
				// The rest of it is not taken for the next reply.
				if got := do(t, c, words("GET", "k")); got != "v v" {
					t.Errorf("after an %s: %q", name, got)
				}
			}
		}
	})
}

func TestErrorRepliesKeepTheirCode(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		_, c := open(t, &redis.Options{Addr: s.Addr()})
		do(t, c, words("SET", "k", "v"))
		for code, cmd := range map[string]*script.Command{
			"WRONGTYPE": words("LPUSH", "k", "v"),
			"NOSCRIPT":  {Args: []string{"EVALSHA", strings.Repeat("0", 40), "1", "k"}, Key: 3},
			"ERR":       words("NOSUCHCOMMAND"),
			"EXECABORT": eval("return redis.error_reply('EXECABORT of a script')"),
			"MINE":      eval("return redis.error_reply('MINE own')"),
		} {
			_, err := c.Do(context.Background(), cmd)
			wantClass(t, err, "reply "+code)
			var theirs redis.Error
			if !errors.As(err, &theirs) {
				t.Errorf("%s: the error of go-redis is lost: %v", code, err)
			}
		}
	})
}

// Many callers with many outcomes share the memory of their commands.
func TestRepliesReachTheirCallers(t *testing.T) {
	t.Parallel()
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		p := servertest.NewProxy(t, s.Addr())
		raw, c := open(t, &redis.Options{Addr: p.Addr(), ContextTimeoutEnabled: true, PoolSize: 8, PoolTimeout: 20 * time.Millisecond})
		raw.AddHook(reader{})
		var callers sync.WaitGroup
		for n := range 16 {
			callers.Go(func() {
				random := rand.New(rand.NewPCG(1, uint64(n)))
				for i := range 200 {
					want := fmt.Sprintf("%d/%d", n, i)
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					switch random.IntN(50) {
					case 0:
						cancel()
					case 1:
						ctx, cancel = context.WithTimeout(ctx, time.Duration(random.IntN(300))*time.Microsecond)
					case 2:
						p.Cut()
					}
					reply, err := c.Do(ctx, &script.Command{Args: []string{"EVAL", "return ARGV[1]", "1", "k", want}, Key: 3})
					if cancel(); err == nil && reply != want {
						t.Errorf("%q for %q", reply, want)
					}
				}
			})
		}
		callers.Wait()
	})
}

// reader is a hook that looks at everything while a command is on its way.
type reader struct{}

func (reader) DialHook(next redis.DialHook) redis.DialHook { return next }

func (reader) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		_ = fmt.Sprint(cmd.Name(), cmd.FullName(), cmd.String(), cmd.Args(), cmd.Err())
		return err
	}
}

func (reader) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestUnixSocket(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, s *servertest.Server) {
		_, c := open(t, &redis.Options{Network: "unix", Addr: s.Socket()})
		if reply := do(t, c, words("PING")); reply != "PONG" {
			t.Errorf("PING: %q", reply)
		}
	})
}
