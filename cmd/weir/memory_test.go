package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/cmd/weir/internal/report"
	"github.com/weirgo/weir/cmd/weir/internal/trace"
	"github.com/weirgo/weir/internal/race"
	"github.com/weirgo/weir/store"
)

// Many times the events of the same keys leave no more behind. The heap is
// measured while decisions are written: then everything is held that a replay
// holds.
func TestMemoryDoesNotGrowWithTheEvents(t *testing.T) {
	leftToTheRaceRun(t)
	few, many := 20_000, 400_000
	if race.Enabled {
		many = 100_000
	}
	const slack = 1 << 20 // bytes; a record of 40 bytes for each event would be 3.2 or 15 MB
	for _, spec := range []string{"gcra:100/1m", "sliding-log:50/1m"} {
		t.Run("jsonl/"+spec, func(t *testing.T) {
			live := func(events int) int64 {
				out := &gauge{}
				args := []string{"replay", "--limit", spec, "--format", "jsonl", "--decisions", "-", "-"}
				if status := run(context.Background(), args, &generator{line: jsonEvent, left: events}, out, io.Discard); status != exitOK {
					t.Fatalf("status %d", status)
				}
				return out.most
			}
			wantNoGrowth(t, live(few), live(many), slack)
		})
	}
	t.Run("combined/spilled", func(t *testing.T) {
		live := func(events int) int64 { return spilledReplay(t, events) }
		wantNoGrowth(t, live(few), live(many), slack)
	})
}

func wantNoGrowth(t *testing.T, few, many, slack int64) {
	t.Helper()
	t.Logf("live heap: %d KiB, and %d KiB with many events", few>>10, many>>10)
	if few == 0 || many > few+slack {
		t.Errorf("the live heap grows from %d to %d bytes", few, many)
	}
}

// spilledReplay replays a log with a sort that holds 16,384 events, which no flag
// can ask for: the default would hold all of these.
func spilledReplay(t *testing.T, events int) int64 {
	clock := &traceClock{}
	states, err := (&endpoint{}).openReplay(t.Context(), clock, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer states.Close()
	limit := store.Slot{Algorithm: algorithm.Must(algorithm.NewGCRA(algorithm.Rate{Units: 100, Per: time.Minute}, 20)), Limit: "limit"}
	deciders, err := newDeciders(states, []store.Slot{limit})
	if err != nil {
		t.Fatal(err)
	}
	reader, err := trace.Open(&generator{line: logEvent, left: events}, &trace.Options{Format: "combined", RunEvents: 1 << 14, TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	out := &gauge{}
	decisions, err := create("-", &streams{out: out})
	if err != nil {
		t.Fatal(err)
	}
	if err := deciders.decide(context.Background(), io.Discard, &input{reader: reader, files: &inputs{stop: func() {}}}, clock, decisions); err != nil {
		t.Fatal(err)
	}
	if err := decisions.Close(); err != nil {
		t.Fatal(err)
	}
	if r := deciders.collected.Replay(report.Source{}); r.Events != int64(events) || r.Keys != 100 {
		t.Fatalf("%d events of %d keys", r.Events, r.Keys)
	}
	return out.most
}

// generator is a trace that is made as it is read.
type generator struct {
	line    func(buf *bytes.Buffer, n int)
	left    int
	n       int
	pending bytes.Buffer
}

func (g *generator) Read(p []byte) (int, error) {
	for g.pending.Len() < len(p) && g.left > 0 {
		g.line(&g.pending, g.n)
		g.n++
		g.left--
	}
	return g.pending.Read(p)
}

func jsonEvent(buf *bytes.Buffer, n int) {
	fmt.Fprintf(buf, `{"at_us":%d,"key":"user:%d"}`+"\n", 1_764_277_200_000_000+n*1000, n%100)
}

// logEvent is a line a second, every tenth of them a minute late.
func logEvent(buf *bytes.Buffer, n int) {
	at := time.Unix(1_764_277_200+int64(n), 0).UTC()
	if n%10 == 0 {
		at = at.Add(-time.Minute)
	}
	fmt.Fprintf(buf, "192.0.2.%d - - [%s] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"\n", n%100, at.Format("02/Jan/2006:15:04:05 -0700"))
}

// gauge measures the live heap now and then while it is written to.
type gauge struct {
	writes int
	before int64 // what other tests have left
	most   int64
}

func (g *gauge) Write(p []byte) (int, error) {
	if g.writes++; g.writes%20 == 5 {
		g.most = max(g.most, liveHeap()-g.before)
	}
	return len(p), nil
}

func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A key that stands in a long line does not keep that line.
func TestMemoryOfAKeyIsItsOwn(t *testing.T) {
	const keys, length = 1000, 20_000
	filler := strings.Repeat("x", length)
	input := &generator{left: keys, line: func(buf *bytes.Buffer, n int) {
		fmt.Fprintf(buf, `{"at_us":1,"key":"user:%d","filler":"%s"}`+"\n", n, filler)
	}}
	out := &gauge{writes: 3, before: liveHeap()} // two writes to come
	if status := run(context.Background(), []string{"replay", "--limit", "gcra:1/1h", "--decisions", "-", "-"}, input, out, io.Discard); status != exitOK {
		t.Fatalf("status %d", status)
	}
	if out.most == 0 || out.most > keys*length/2 {
		t.Errorf("%d bytes are held for %d keys", out.most, keys)
	}
}
