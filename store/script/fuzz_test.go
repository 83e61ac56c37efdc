package script

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// fuzzed are ops for which any bytes may be the reply.
var fuzzed = [][]store.Op{
	oneOp("k", windowOf10),
	oneOp("k", logOf10),
	oneOp("k", algorithm.Must(algorithm.NewGCRA(algorithm.PerSecond(7), 10))),
	slices.Concat(oneOp("k", windowOf10), oneOp("l", logOf10)),
	slices.Concat(
		oneOp("a", algorithm.Must(algorithm.NewTokenBucket(algorithm.PerSecond(7), 10))),
		oneOp("b", algorithm.Must(algorithm.NewSlidingCounter(algorithm.PerSecond(7)))),
		oneOp("c", algorithm.Must(algorithm.NewLeakyBucket(algorithm.PerSecond(7), 10))),
	),
	oneOp("k", kindOnly("mine/1")),
	slices.Concat(oneOp("k", kindOnly("mine/1")), oneOp("l", windowOf10), oneOp("m", logOf10)),
}

// FuzzReply: whatever a server answers, a call ends with an error or with a decision
// that follows from the instant and the states in the reply, and says what its
// verdict says. It never panics.
func FuzzReply(f *testing.F) {
	for n := range fuzzed {
		for _, reply := range []string{
			"+5 ", "-5 0 10", "+5 3 4", "-5 10 4 3 2", "+1790000000:123456 1790000000123456 1 7", "5;+0 1,3 4", "5:6;-5 0,0 7 1,5", "5;!2", "!", "?",
			"5\n-", "5\n=3:0 1", "5\n-\n=3:0 1\n=9:+1 3:2 40", "5\n!", "1", "0", "",
		} {
			f.Add(byte(n), true, reply)
			f.Add(byte(n), false, reply)
		}
	}
	f.Fuzz(func(t *testing.T, n byte, take bool, reply string) {
		ops := fuzzed[int(n)%len(fuzzed)]
		var reader string // what the read script answered, if there was one
		s := open(t, clientFunc(func(_ context.Context, c *Command) (string, error) {
			switch c.Args[1] {
			case readProgram.sha:
				reader = reply
			case swapProgram.sha:
				return "1", nil
			}
			return reply, nil
		}), nil)
		at, told, err := ask(t, s, take, ops)
		if err != nil {
			return
		}
		if at < 0 || at > algorithm.MaxInstant {
			t.Fatalf("%q: at %d", reply, at)
		}
		if reader == "" {
			checkDecision(t, reply, at, told)
		}
	})
}

// checkDecision looks that a decision is what the reply says.
func checkDecision(t *testing.T, reply string, at algorithm.Instant, told []store.Op) {
	var verdict byte
	var states []string
	if len(told) == 1 {
		instant, state, _ := strings.Cut(reply[1:], " ")
		verdict, states = reply[0], []string{state}
		reply = instant
	} else {
		instant, group, _ := strings.Cut(reply, ";")
		verdict, states = group[0], strings.Split(group[1:], ",")
		reply = instant
	}
	if seconds, micros, both := strings.Cut(reply, ":"); both {
		reply = strings.TrimLeft(seconds+strings.Repeat("0", 6-len(micros))+micros, "0")
	}
	if reply != at.String() && at != 0 {
		t.Fatalf("at %d, the reply says %s", at, reply)
	}
	before, after := make([]algorithm.State, len(told)), make([]algorithm.State, len(told))
	for i, text := range states {
		if told[i].Algorithm.Spec().Kind == algorithm.KindSlidingLog {
			if text != "" {
				return // a summary, which has no text form
			}
			continue
		}
		var err error
		if before[i], err = algorithm.ParseState(text); err != nil || checkState(told[i].Algorithm, before[i]) != nil {
			t.Fatalf("a decision on %q", text)
		}
	}
	want := slices.Clone(told)
	committed := store.Decide(at, want, before, after)
	if committed != (verdict == '+') || verdict != '+' && verdict != '-' {
		t.Fatalf("committed %v, the reply says %c", committed, verdict)
	}
	for i := range want {
		if diff := cmp.Diff(want[i].Outcome, told[i].Outcome); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}
