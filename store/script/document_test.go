package script

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/weirgo/weir/internal/document/size"
	"github.com/weirgo/weir/store"
)

// lossy is a server of one document that can lose what it is sent, or its answer.
type lossy struct {
	value    string
	requests int    // of writing
	late     func() // what was lost and arrives before the next request of writing
	lose     func(l *lossy, write func()) error
}

func (l *lossy) Do(_ context.Context, c *Command) (string, error) {
	switch c.Args[0] {
	case "GET":
		return l.value, nil
	case "PUBLISH":
		return "", errors.New("nobody listens")
	}
	if l.late != nil {
		l.late()
		l.late = nil
	}
	revision, _, _ := strings.Cut(l.value, "\n")
	if revision == "" {
		revision = "0"
	}
	if revision != c.Args[4] {
		return "0", nil
	}
	l.requests++
	write := func() { l.value = c.Args[5] }
	if l.lose != nil && l.requests == 1 {
		return "", l.lose(l, write)
	}
	write()
	return "1", nil
}

func TestUpdateFindsOutWhatWasWritten(t *testing.T) {
	lost := errors.New("connection reset")
	for name, c := range map[string]struct {
		lose     func(l *lossy, write func()) error
		value    string
		requests int
		unknown  bool
	}{
		"nothing lost":      {nil, "1\nmine", 1, false},
		"the answer":        {func(_ *lossy, write func()) error { write(); return lost }, "1\nmine", 1, false},
		"the command":       {func(*lossy, func()) error { return lost }, "1\nmine", 2, false},
		"for some time":     {func(l *lossy, write func()) error { l.late = write; return lost }, "1\nmine", 1, false},
		"before another":    {func(l *lossy, write func()) error { l.value = "1\nother"; return lost }, "2\nmine", 2, false},
		"and many others":   {func(l *lossy, write func()) error { l.value = "5\nother"; return lost }, "5\nother", 1, true},
		"certainly nothing": {func(*lossy, func()) error { return store.ErrUnavailable }, "", 1, true},
	} {
		server := &lossy{lose: c.lose}
		d, err := open(t, server, nil).Document("policy")
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Update(context.Background(), func([]byte) ([]byte, error) { return []byte("mine"), nil })
		if (err != nil) != c.unknown || server.value != c.value || server.requests != c.requests {
			t.Errorf("%s: %v, %q after %d writings", name, err, server.value, server.requests)
		}
		if c.unknown && !errors.Is(err, store.ErrOutcomeUnknown) && !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDocumentRefuses(t *testing.T) {
	s := open(t, unused, nil)
	for _, name := range []string{"", "a b", "{a}", "a:b", strings.Repeat("a", 65)} {
		if _, err := s.Document(name); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
	d, err := s.Document("Policy-1_a.b")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if _, err := d.Write(ctx, make([]byte, size.MaxDocument+1), 0); !errors.Is(err, store.ErrInvalid) {
		t.Error(err)
	}
	for _, revision := range []int64{-1, 1 << 53} {
		if _, err := d.Write(ctx, nil, revision); !errors.Is(err, store.ErrInvalid) {
			t.Error(err)
		}
	}
	if err := d.Notify(ctx, func() {}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("a client that cannot subscribe: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Read(ctx); !errors.Is(err, store.ErrClosed) {
		t.Error(err)
	}
	if _, err := d.Write(ctx, nil, 0); !errors.Is(err, store.ErrClosed) {
		t.Error(err)
	}
	if err := d.Notify(ctx, func() {}); err == nil {
		t.Error("a closed store notifies")
	}
}
