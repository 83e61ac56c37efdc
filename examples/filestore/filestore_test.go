//go:build unix

package filestore

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/store"
)

func open(tb testing.TB, path string, clk store.Clock) *Store {
	tb.Helper()
	s, err := Open(path, clk)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// This is what the test of a store takes.
func TestStore(t *testing.T) {
	conformance.TestStore(t, func(tb testing.TB, clk clock.Clock) store.Store { return open(tb, tb.TempDir(), clk) }, nil)
}

// pair is two processes on one directory, who take turns.
type pair struct {
	*Store
	other *Store
	turn  chan *Store // of one element, the next
}

func (p *pair) next() *Store {
	s := <-p.turn
	if s == p.Store {
		p.turn <- p.other
	} else {
		p.turn <- p.Store
	}
	return s
}

func (p *pair) Apply(ctx context.Context, ops []store.Op) (algorithm.Instant, bool, error) {
	return p.next().Apply(ctx, ops)
}

func (p *pair) Peek(ctx context.Context, ops []store.Op) (algorithm.Instant, error) {
	return p.next().Peek(ctx, ops)
}

func (p *pair) Reset(ctx context.Context, slots []store.Slot) error {
	return p.next().Reset(ctx, slots)
}

func (p *pair) Close() error {
	_ = p.other.Close()
	return p.Store.Close()
}

// With hooks the suite also looks at what is in the files, damages it, and has it
// written anew. Here two processes share the directory.
func TestStoreThatIsShared(t *testing.T) {
	files := func(s store.Store) *directory { return s.(*pair).dir }
	cfg := &conformance.Config{
		Inspect: func(tb conformance.TB, s store.Store, slot store.Slot) (conformance.Stored, bool) {
			d := files(s)
			if err := d.lock(); err != nil {
				tb.Fatal(err)
			}
			defer d.unlock()
			r, found := d.states[placeOf(&slot)]
			now, err := algorithm.InstantOf(s.(*pair).clock.Now())
			if err != nil {
				tb.Fatal(err)
			}
			return conformance.Stored{Text: r.text, TTL: time.Duration(r.until-now) * time.Microsecond}, found
		},
		Corrupt: func(tb conformance.TB, s store.Store, slot store.Slot, text string) {
			d := files(s)
			if err := d.lock(); err != nil {
				tb.Fatal(err)
			}
			defer d.unlock()
			if err := d.append([]record{{placeOf(&slot), text, algorithm.MaxInstant}}, 0); err != nil {
				tb.Fatal(err)
			}
		},
		Sweep: func(tb conformance.TB, s store.Store) {
			d := files(s)
			if err := d.lock(); err != nil {
				tb.Fatal(err)
			}
			defer d.unlock()
			if _, err := s.(*pair).now(); err != nil {
				tb.Fatal(err)
			}
			if err := d.compact(s.(*pair).latest); err != nil {
				tb.Fatal(err)
			}
		},
	}
	conformance.TestStore(t, func(tb testing.TB, clk clock.Clock) store.Store {
		path := tb.TempDir()
		p := &pair{open(tb, path, clk), open(tb, path, clk), make(chan *Store, 1)}
		p.turn <- p.Store
		return p
	}, cfg)
}

var perHour = algorithm.Must(algorithm.NewFixedWindow(algorithm.PerHour(10)))

func take(tb testing.TB, s *Store, n int64) (left int64) {
	tb.Helper()
	ops := []store.Op{
		{Slot: store.Slot{Key: "a", Algorithm: perHour}, Request: algorithm.Request{Cost: n}},
		{Slot: store.Slot{Key: "b", Algorithm: perHour}, Request: algorithm.Request{Cost: n}},
	}
	if _, committed, err := s.Apply(context.Background(), ops); err != nil || !committed {
		tb.Fatalf("committed %t, error %v", committed, err)
	}
	if ops[0].Outcome != ops[1].Outcome {
		tb.Fatalf("half a step: %+v and %+v", ops[0].Outcome, ops[1].Outcome)
	}
	return ops[0].Outcome.Remaining
}

func TestStepThatWasCutOffIsNotThere(t *testing.T) {
	clk := clock.NewMock()
	path := t.TempDir()
	s := open(t, path, clk)
	take(t, s, 1)
	steps := filepath.Join(path, "steps")
	whole, err := os.Stat(steps)
	if err != nil {
		t.Fatal(err)
	}
	take(t, s, 1)
	text, err := os.ReadFile(steps)
	if err != nil {
		t.Fatal(err)
	}
	for end := whole.Size(); end < int64(len(text)); end += 7 {
		other := t.TempDir()
		if err := os.WriteFile(filepath.Join(other, "steps"), text[:end], 0o600); err != nil {
			t.Fatal(err)
		}
		if left := take(t, open(t, other, clk), 1); left != 8 {
			t.Errorf("cut off after %d bytes of %d: %d left after a second unit", end, len(text), left)
		}
		if left := take(t, open(t, other, clk), 1); left != 7 {
			t.Errorf("cut off after %d bytes of %d: %d left after a third unit", end, len(text), left)
		}
	}
}

func TestFilesStaySmall(t *testing.T) {
	if testing.Short() {
		t.Skip("writes some MB")
	}
	clk := clock.NewMock()
	path := t.TempDir()
	s, other := open(t, path, clk), open(t, path, clk)
	million := algorithm.Must(algorithm.NewFixedWindow(algorithm.PerHour(1_000_000)))
	op := []store.Op{{Slot: store.Slot{Key: "a", Algorithm: million}, Request: algorithm.Request{Cost: 1}}}
	const steps = 40_000
	for i := range steps {
		by := s
		if i%2 == 1 {
			by = other
		}
		if _, _, err := by.Apply(context.Background(), op); err != nil {
			t.Fatal(err)
		}
	}
	if got := op[0].Outcome.Remaining; got != 1_000_000-steps {
		t.Errorf("%d left", got)
	}
	if info, err := os.Stat(filepath.Join(path, "steps")); err != nil || info.Size() > worthwhile {
		t.Errorf("%d bytes, error %v", info.Size(), err)
	}
}
