package script

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// meanings are the errors of a store of which exactly one is in an error of a call.
var meanings = []error{store.ErrUnavailable, store.ErrOutcomeUnknown, store.ErrCrossNode, store.ErrInvalid, store.ErrContention, store.ErrCorrupt, store.ErrFull, store.ErrClosed}

// wantMeaning checks that err means one thing, and still holds its cause, if any.
func wantMeaning(t *testing.T, what string, err, want, cause error) {
	t.Helper()
	for _, meaning := range meanings {
		if errors.Is(err, meaning) != (meaning == want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	if cause != nil && !errors.Is(err, cause) {
		t.Errorf("%s: %v has lost its cause %v", what, err, cause)
	}
}

// calls are all that a store sends, each with the error that it gives.
func calls(s *Store) map[string]func() error {
	ctx, slot := context.Background(), store.Slot{Key: "secret", Algorithm: windowOf10}
	apply := func(ops ...store.Op) func() error {
		return func() error { _, _, err := s.Apply(ctx, ops); return err }
	}
	peek := func(ops ...store.Op) func() error {
		return func() error { _, err := s.Peek(ctx, ops); return err }
	}
	single, log, mine := oneOp("secret", windowOf10)[0], oneOp("secret", logOf10)[0], oneOp("secret", kindOnly("mine/1"))[0]
	return map[string]func() error{
		"apply single": apply(single), "apply single log": apply(log), "apply list": apply(single, log),
		"peek single": peek(single), "peek single log": peek(log), "peek list": peek(single, log),
		"read of an apply": apply(mine, single), "read of a peek": peek(mine),
		"reset": func() error { return s.Reset(ctx, []store.Slot{slot}) },
	}
}

// TestErrorRepliesHaveTheirMeaning: those before anything was carried out are
// unavailability; what is not known may have come in the middle of a script, unless
// it looks only.
func TestErrorRepliesHaveTheirMeaning(t *testing.T) {
	codes := []string{
		"READONLY", "LOADING", "MASTERDOWN", "OOM", "NOPERM", "NOAUTH", "WRONGPASS", "BUSY", "TRYAGAIN", "CLUSTERDOWN", "MOVED", "ASK", "NOREPLICAS",
		"MISCONF", "NOSCRIPT", "NOPROTO",
	}
	for code := range refusals {
		if !slices.Contains(codes, code) {
			t.Errorf("%s is a refusal, and this test does not know why", code)
		}
	}
	unknown := []string{"ERR", "WRONGTYPE", "EXECABORT", "UNKILLABLE", "NOTBUSY", "INPROG", "readonly", "READONLY:", "Oom", "", "CROSSSLOTS", "user_script:1:"}
	for _, code := range slices.Concat(codes, unknown, []string{"CROSSSLOT"}) {
		theirs := errors.New("theirs")
		reply := &ServerError{Message: strings.TrimSpace(code + " that is what the server says"), Err: theirs}
		if code == "" {
			reply.Message = ""
		}
		s := open(t, answering("", reply), nil)
		for name, call := range calls(s) {
			looks := strings.HasPrefix(name, "peek") || strings.HasPrefix(name, "read")
			want := store.ErrOutcomeUnknown
			switch {
			case code == "CROSSSLOT":
				want = store.ErrCrossNode
			case looks || slices.Contains(codes, code):
				want = store.ErrUnavailable
			}
			err := call()
			wantMeaning(t, code+" to "+name, err, want, theirs)
			var held *ServerError
			if !errors.As(err, &held) || held != reply {
				t.Errorf("%s to %s: %v does not hold the reply", code, name, err)
			}
			verb, _, _ := strings.Cut(name, " ")
			if !strings.HasPrefix(err.Error(), "script: "+verb+": ") || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s to %s: %v", code, name, err)
			}
		}
	}
}

// TestErrorsOfClientsHaveTheirMeaning: a client that knows that nothing was sent says
// so; everything else is unknown to what writes.
func TestErrorsOfClientsHaveTheirMeaning(t *testing.T) {
	down := errors.New("connection refused")
	for name, given := range map[string]struct{ err, cause, write, look error }{
		"not sent":            {errors.Join(store.ErrUnavailable, down), down, store.ErrUnavailable, store.ErrUnavailable},
		"not sent, a reply":   {errors.Join(store.ErrUnavailable, &ServerError{"ERR", down}), down, store.ErrUnavailable, store.ErrUnavailable},
		"lost":                {io.ErrUnexpectedEOF, io.ErrUnexpectedEOF, store.ErrOutcomeUnknown, store.ErrUnavailable},
		"too late":            {context.DeadlineExceeded, context.DeadlineExceeded, store.ErrOutcomeUnknown, store.ErrUnavailable},
		"given up":            {context.Canceled, context.Canceled, store.ErrOutcomeUnknown, store.ErrUnavailable},
		"text of a refusal":   {errors.New("READONLY of no server"), nil, store.ErrOutcomeUnknown, store.ErrUnavailable},
		"a wrapped refusal":   {errors.Join(down, &ServerError{"LOADING data", nil}), down, store.ErrUnavailable, store.ErrUnavailable},
		"a refused slot":      {errors.Join(down, &ServerError{"CROSSSLOT keys", nil}), down, store.ErrCrossNode, store.ErrCrossNode},
		"a reply without one": {&ServerError{"", nil}, nil, store.ErrOutcomeUnknown, store.ErrUnavailable},
	} {
		if given.cause == nil {
			given.cause = given.err
		}
		s := open(t, answering("", given.err), nil)
		for call, f := range calls(s) {
			want := given.write
			if strings.HasPrefix(call, "peek") || strings.HasPrefix(call, "read") {
				want = given.look
			}
			wantMeaning(t, name+" to "+call, f(), want, given.cause)
		}
	}
}

// TestLostSwapIsUnknown: what came before it does not make it certain.
func TestLostSwapIsUnknown(t *testing.T) {
	for code, want := range map[string]error{"ERR": store.ErrOutcomeUnknown, "OOM": store.ErrUnavailable, "READONLY": store.ErrUnavailable} {
		reply := &ServerError{Message: code + " so"}
		s := open(t, clientFunc(func(_ context.Context, c *Command) (string, error) {
			if c.Args[1] == readProgram.sha {
				return "5\n-", nil
			}
			return "", reply
		}), nil)
		_, _, err := s.Apply(context.Background(), oneOp("secret", kindOnly("mine/1")))
		wantMeaning(t, code, err, want, reply)
	}
}

// TestUnknownScriptIsSentOnceMoreInFull (D6): with the same words behind it, and
// nothing is sent a third time.
func TestUnknownScriptIsSentOnceMoreInFull(t *testing.T) {
	for name, want := range map[string]struct{ short, full string }{
		"apply single": {"EVALSHA", "EVAL"}, "apply list": {"EVALSHA", "EVAL"}, "peek single": {"EVALSHA_RO", "EVAL_RO"},
		"peek list": {"EVALSHA_RO", "EVAL_RO"}, "read of an apply": {"EVALSHA_RO", "EVAL_RO"}, "read of a peek": {"EVALSHA_RO", "EVAL_RO"},
	} {
		for _, second := range []error{nil, &ServerError{Message: "NOSCRIPT again"}, io.ErrUnexpectedEOF} {
			var sent [][]string
			s := open(t, clientFunc(func(_ context.Context, c *Command) (string, error) {
				sent = append(sent, slices.Clone(c.Args))
				if c.Key != 3 || c.ReadOnly != strings.HasSuffix(want.short, "_RO") {
					t.Errorf("%s: key at %d, read-only %v", name, c.Key, c.ReadOnly)
				}
				if len(sent) == 1 {
					return "", errors.Join(errors.New("wrapped"), &ServerError{Message: "NOSCRIPT No matching script. Please use EVAL."})
				}
				return "", second
			}), nil)
			if err := calls(s)[name](); err == nil {
				t.Errorf("%s: no error of an empty reply", name)
			}
			if len(sent) != 2 {
				t.Errorf("%s: sent %d times", name, len(sent))
				continue
			}
			if sent[0][0] != want.short || len(sent[0][1]) != 40 || sent[1][0] != want.full || len(sent[1][1]) < 200 || !slices.Equal(sent[0][2:], sent[1][2:]) {
				t.Errorf("%s: sent %.60q, then %.60q", name, sent[0], sent[1])
			}
		}
		for _, first := range []error{io.ErrUnexpectedEOF, &ServerError{Message: "ERR NOSCRIPT"}, &ServerError{Message: "BUSY"}, context.DeadlineExceeded, store.ErrUnavailable} {
			sent := 0
			s := open(t, clientFunc(func(context.Context, *Command) (string, error) { sent++; return "", first }), nil)
			if err := calls(s)[name](); err == nil || sent != 1 {
				t.Errorf("%s after %v: %v, sent %d times", name, first, err, sent)
			}
		}
	}
}

// TestEndedContextSendsNothing: and is told as it is, without a meaning of a store.
func TestEndedContextSendsNothing(t *testing.T) {
	s := open(t, clientFunc(func(context.Context, *Command) (string, error) {
		t.Error("something is sent")
		return "", nil
	}), nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	ops := append(oneOp("k", windowOf10), oneOp("l", kindOnly("mine/1"))...)
	for n := range 2 {
		_, _, err := s.Apply(ctx, ops[n:])
		wantMeaning(t, "apply", err, nil, context.Canceled)
		_, err = s.Peek(ctx, ops[n:])
		wantMeaning(t, "peek", err, nil, context.Canceled)
	}
	wantMeaning(t, "reset", s.Reset(ctx, []store.Slot{ops[0].Slot}), nil, context.Canceled)
	_, err := s.Check(ctx)
	wantMeaning(t, "check", err, nil, context.Canceled)
	// What is invalid comes first.
	_, _, err = s.Apply(ctx, nil)
	if !errors.Is(err, store.ErrInvalid) {
		t.Error(err)
	}
}

// A server that does not know a command repeats the beginning of its arguments: B104.
// The whole of it is in ServerError.Message alone.
func TestErrorsHoldNoKey(t *testing.T) {
	for message, want := range map[string]string{
		"ERR unknown command 'EVALSHA', with args beginning with: '992e' '1' 'w{ann@example.com}Glogin' ": "ERR unknown command 'EVALSHA'",
		"ERR unknown command `EVALSHA` 'w{ann smith}Glogin'":                                              "ERR unknown command `EVALSHA`",
		"ERR unknown command EVALSHA w{ann":                                                               "ERR unknown command EVALSHA",
		"{ann}":                                                                                           "",
		"READONLY You can't write against a read only replica.":                                           "READONLY You can't write against a read only replica.",
		"MOVED 1234 127.0.0.1:6379":                                                                       "MOVED 1234 127.0.0.1:6379",
		"ERR " + strings.Repeat("ä", 200):                                                                 "ERR " + strings.Repeat("ä", 78) + "…",
	} {
		if got := (&ServerError{Message: message}).Error(); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}

func TestServerThatRepeatsArgumentsLeaksNoKey(t *testing.T) {
	const key = "ann@example.com"
	eachServer(t, &servertest.Config{Args: []string{"--rename-command", "EVALSHA", "", "--rename-command", "EVALSHA_RO", ""}}, func(t *testing.T, server *servertest.Server) {
		s := open(t, dialWire(t, server), nil)
		_, _, applied := s.Apply(context.Background(), oneOp(key, algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(1), 1))))
		_, peeked := s.Peek(context.Background(), oneOp(key, algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(1), 1))))
		for _, err := range []error{applied, peeked} {
			var reply *ServerError
			if err == nil || strings.Contains(err.Error(), "ann") || !errors.As(err, &reply) || !strings.Contains(reply.Message, key) {
				t.Errorf("%v", err)
			}
		}
	})
}
