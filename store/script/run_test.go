package script

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/store"
)

// scripted is a client that answers in turn, and notes what it is sent.
type scripted struct {
	answers []error // nil is the reply "done"
	sent    [][]string
}

func (s *scripted) Do(_ context.Context, c *Command) (string, error) {
	s.sent = append(s.sent, slices.Clone(c.Args))
	err := s.answers[0]
	s.answers = s.answers[1:]
	return "done", err
}

type standing struct{}

func (standing) Now() time.Time { return time.UnixMicro(1_790_000_000_123_457) }

func TestRunSendsAProgramForOneKey(t *testing.T) {
	p := NewProgram("return 'done'")
	slot := store.SlotID{Key: "user:42", Limit: "api", Kind: "inflight/1"}
	for _, c := range []struct {
		opts     *Options
		readOnly bool
		words    string // behind the script
		run      string
		load     string
	}{
		{nil, false, "1 w{user:42}:inflight/1:api  0 a b", "EVALSHA", "EVAL"},
		{&Options{Clock: standing{}, Prefix: "x:"}, true, "1 x:{user:42}:inflight/1:api 1790000000123457 3600000 a b", "EVALSHA_RO", "EVAL_RO"},
	} {
		client := &scripted{answers: []error{&ServerError{Message: "NOSCRIPT no"}, nil}}
		s := open(t, client, c.opts)
		reply, err := s.Run(context.Background(), p, "test", c.readOnly, slot, "a", "b")
		if err != nil || reply != "done" || len(client.sent) != 2 {
			t.Fatalf("%q, %v, %q", reply, err, client.sent)
		}
		first, second := client.sent[0], client.sent[1]
		if first[0] != c.run || first[1] != p.sha || second[0] != c.load || second[1] != "return 'done'" {
			t.Errorf("%q, %q", first, second)
		}
		if words := strings.Join(first[2:], " "); words != c.words || strings.Join(second[2:], " ") != c.words {
			t.Errorf("%q, want %q", words, c.words)
		}
	}
}

func TestRunExplainsErrors(t *testing.T) {
	p := NewProgram("return 1")
	slot := store.SlotID{Key: "secret", Limit: "api", Kind: "inflight/1"}
	for _, c := range []struct {
		err      error
		readOnly bool
		want     error
	}{
		{errors.New("connection reset"), false, store.ErrOutcomeUnknown},
		{errors.New("connection reset"), true, store.ErrUnavailable},
		{&ServerError{Message: "READONLY secret"}, false, store.ErrUnavailable},
		{&ServerError{Message: "ERR raised by " + p.sha}, false, store.ErrUnavailable},
		{&ServerError{Message: "ERR something"}, false, store.ErrOutcomeUnknown},
	} {
		s := open(t, &scripted{answers: []error{c.err}}, nil)
		_, err := s.Run(context.Background(), p, "test", c.readOnly, slot)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), "script: test: ") {
			t.Errorf("%v is %v", c.err, err)
		}
		if e := s.Stats().Errors; e.OutcomeUnknown+e.Unavailable != 1 {
			t.Errorf("%v counts as %+v", c.err, e)
		}
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	s := open(t, &scripted{}, nil)
	if _, err := s.Run(ended, p, "test", false, slot); err != context.Canceled {
		t.Error(err)
	}
	_ = s.Close()
	if _, err := s.Run(context.Background(), p, "test", false, slot); !errors.Is(err, store.ErrClosed) {
		t.Error(err)
	}
}
