package clienttest

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	"github.com/weirgo/weir/store/script"
)

// Words makes a command whose only key, if it has one, is its second word.
func Words(args ...string) *script.Command {
	c := &script.Command{Args: args}
	if len(args) > 1 {
		c.Key = 1
	}
	return c
}

// Eval makes a script a command; all of the rest are keys.
func Eval(lua string, keys ...string) *script.Command {
	c := &script.Command{Args: append([]string{"EVAL", lua, strconv.Itoa(len(keys))}, keys...)}
	if len(keys) > 0 {
		c.Key = 3
	}
	return c
}

// Decision makes a command like that of a decision, whose script the server knows.
func Decision(s *servertest.Server) *script.Command {
	sha, _ := s.Do("SCRIPT", "LOAD", "return '1700000000000000 1700000000000000'").(string)
	args := []string{"EVALSHA", sha, "1", "w{user:1}G", "", "0", "1", "0", "100", "60000000", "20", "0"}
	return &script.Command{Args: args, Key: 3}
}

// Do is that of c, which must succeed.
func Do(tb testing.TB, c script.Client, cmd *script.Command) string {
	tb.Helper()
	reply, err := c.Do(context.Background(), cmd)
	if err != nil {
		tb.Fatalf("%s: %v", cmd.Args[0], err)
	}
	return reply
}

// Class says which of the three kinds of error of a script.Client err is.
func Class(err error) string {
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

// WantClass checks the kind of an error.
func WantClass(tb testing.TB, err error, want string) {
	tb.Helper()
	if got := Class(err); got != want {
		tb.Errorf("%s: %v; want %s", got, err, want)
	}
}

// follow makes one server a replica of another.
func follow(s, primary *servertest.Server) {
	host, port, _ := strings.Cut(primary.Addr(), ":")
	s.Do("REPLICAOF", host, port)
}
