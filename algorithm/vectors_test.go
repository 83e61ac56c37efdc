package algorithm

import (
	"bytes"
	"encoding/json"
	"math/big"
	"os"
	"testing"
	"time"

	"github.com/weirgo/weir/internal/oracle"

	"github.com/weirgo/weir/internal/exact"
)

// vectors are the reference vectors of testdata/vectors.json, computed by an
// independent exact-rational oracle.
type vectors struct {
	Note  string `json:"note"`
	Steps struct {
		Fields []string    `json:"fields"`
		Rows   [][12]int64 `json:"rows"`
	} `json:"gcra_steps"`
	Products struct {
		Fields []string   `json:"fields"`
		Rows   [][5]int64 `json:"rows"`
	} `json:"muldiv"`
	Sequences []struct {
		T          int64   `json:"T"`
		Tau        int64   `json:"tau"`
		Arrivals   []int64 `json:"arrivals"`
		Conforming string  `json:"conforming"`
		FinalTAT   int64   `json:"final_tat"`
	} `json:"gcra_sequences"`
	Windows []struct {
		Window   int64      `json:"window"`
		Limit    int64      `json:"limit"`
		Arrivals [][2]int64 `json:"arrivals"`
		Fixed    string     `json:"fixed"`
		Log      string     `json:"log"`
		Counter  string     `json:"counter"`
	} `json:"window_sequences"`
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var v vectors
	if err := decoder.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// vectorStep is one row of gcra_steps.
type vectorStep struct {
	limit, period, burst, now int64
	whole, part               int64 // the arrival time before, part over limit
	cost                      int64
	allowed                   bool
	nextWhole, nextPart       int64
	remaining, retry          int64
}

func stepOf(r [12]int64) vectorStep {
	return vectorStep{r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7] == 1, r[8], r[9], r[10], r[11]}
}

func (v vectorStep) rate() Rate { return Rate{v.limit, micros(v.period)} }

// state returns an arrival time as a state. All rows are in lowest terms.
func (v vectorStep) state(whole, part int64) State {
	if part == 0 {
		return NewState(whole)
	}
	return NewState(whole, part, v.limit)
}

// check compares a step of a from the row's state with the row. Both forms of a
// step are taken.
func (v vectorStep) check(t *testing.T, row int, a InPlace) {
	t.Helper()
	before := v.state(v.whole, v.part)
	after, o := a.Step(before, Instant(v.now), Request{Cost: v.cost})
	if want := v.state(v.nextWhole, v.nextPart); !after.Equal(want) {
		t.Errorf("row %d, %v: state %v after, want %v", row, a, after, want)
	}
	if o.Allowed != v.allowed || o.Remaining != v.remaining || o.RetryAfter != micros(v.retry) || o.Limit != v.burst {
		t.Errorf("row %d, %v: %+v, want %+v", row, a, o, v)
	}
	p := Outcome{Allowed: true, Limit: -1, Remaining: -1, RetryAfter: -1, ResetAfter: -1, Delay: -1} // of an earlier step
	if a.StepInPlace(&before, Instant(v.now), Request{Cost: v.cost}, &p); p != o || !before.Equal(after) {
		t.Errorf("row %d, %v: in place %+v and %v, else %+v and %v", row, a, p, before, o, after)
	}
}

// A1: single steps of a GCRA from given states. Rows beyond the bounds of a
// Rate check that they are refused, and then the arithmetic alone.
func TestVectorsGCRASteps(t *testing.T) {
	within, beyond, queued, tokens := 0, 0, 0, 0
	for i, r := range readVectors(t).Steps.Rows {
		v := stepOf(r)
		g, err := NewGCRA(v.rate(), v.burst)
		if err != nil {
			beyond++
			v.check(t, i, &GCRA{unbounded(t, KindGCRA, v.rate(), v.burst)})
			v.check(t, i, &LeakyBucket{unbounded(t, KindLeakyBucket, v.rate(), v.burst)})
			continue
		}
		within++
		v.check(t, i, g)
		if err := g.CheckState(v.state(v.whole, v.part)); err != nil {
			t.Errorf("row %d: the state before is refused: %v", i, err)
		}
		l, err := NewLeakyBucket(v.rate(), v.burst)
		if err != nil {
			t.Fatal(err)
		}
		v.check(t, i, l)
		queued++
		v.checkTokens(t, i)
		tokens++
	}
	if within != 1517 || queued != 1517 || tokens != 1517 || beyond != 483 {
		t.Errorf("%d rows within the bounds, %d as a queue, %d as tokens, %d beyond; want 1517, 1517, 1517, 483",
			within, queued, tokens, beyond)
	}
}

// unbounded returns a schedule whose burst may lie beyond the bounds.
func unbounded(t *testing.T, kind string, r Rate, burst int64) schedule {
	t.Helper()
	s, err := newSchedule(kind, "burst", r, 1)
	if err != nil {
		t.Fatal(err)
	}
	s.burst, s.full = burst, s.times(burst)
	return s
}

// checkTokens takes the row's step on a token bucket in the state that stands
// for the same debt (E2: tokens = B − D/T). No row's debt is beyond the burst.
func (v vectorStep) checkTokens(t *testing.T, row int) {
	t.Helper()
	b, err := NewTokenBucket(v.rate(), v.burst)
	if err != nil {
		t.Fatal(err)
	}
	state := State{}
	if v.whole >= v.now {
		debt := big.NewRat(v.part, v.limit)
		debt.Add(debt, new(big.Rat).SetInt64(v.whole-v.now))
		level := debt.Sub(new(big.Rat).SetInt64(v.burst), debt.Mul(debt, big.NewRat(v.limit, v.period)))
		if level.Sign() < 0 {
			t.Fatalf("row %d: tokens below 0", row)
		}
		whole, part := new(big.Int).DivMod(level.Num(), level.Denom(), new(big.Int))
		part.Mul(part, big.NewInt(b.per)).Quo(part, level.Denom())
		state = b.store(v.now, whole.Int64(), part.Int64())
	}
	_, o := b.Step(state, Instant(v.now), Request{Cost: v.cost})
	if o.Allowed != v.allowed || o.Remaining != v.remaining || o.RetryAfter != micros(v.retry) {
		t.Errorf("row %d, %v in %v: %+v, want %+v", row, b, state, o, v)
	}
}

// The package's own oracle against the vectors: two that know nothing of each
// other. It has no bounds, so all rows count.
func TestVectorsGCRAStepsOfTheOracle(t *testing.T) {
	rows := 0
	for i, r := range readVectors(t).Steps.Rows {
		v := stepOf(r)
		o := oracle.New(oracle.GCRA, v.limit, v.period, v.burst)
		at := big.NewRat(v.part, v.limit)
		o.SetArrival(at.Add(at, new(big.Rat).SetInt64(v.whole)))
		got := o.Decide(v.now, v.cost, 0)
		if got.Allowed != v.allowed || got.Remaining != v.remaining || got.RetryAfter != v.retry {
			t.Errorf("row %d: %+v, want %+v", i, got, v)
		}
		rows++
	}
	if rows != 2000 {
		t.Errorf("%d rows, want 2000", rows)
	}
}

// A2.
func TestVectorsProducts(t *testing.T) {
	rows := readVectors(t).Products.Rows
	for i, r := range rows {
		if q, rest := exact.MulDiv(r[0], r[1], r[2]); q != r[3] || rest != r[4] {
			t.Errorf("row %d: %d·%d/%d is %d, %d; want %d, %d", i, r[0], r[1], r[2], q, rest, r[3], r[4])
		}
		if q, rest := exact.MulAddDiv(r[0], r[1], 0, r[2]); q != r[3] || rest != r[4] {
			t.Errorf("row %d: (%d·%d + 0)/%d is %d, %d; want %d, %d", i, r[0], r[1], r[2], q, rest, r[3], r[4])
		}
	}
	if len(rows) != 500 {
		t.Errorf("%d rows, want 500", len(rows))
	}
}

// Cells of T µs and a tolerance of tau, as I.371 has it: conforming where the
// arrival is no earlier than tat − tau. That is a burst of T + tau at 1 unit per
// µs and a cost of T; and, where tau is a multiple of T, a burst of
// tau/T + 1 at one per T.
func TestVectorsGCRASequences(t *testing.T) {
	inMicros, inCells := 0, 0
	for i, v := range readVectors(t).Sequences {
		if len(v.Conforming) != len(v.Arrivals) {
			t.Fatalf("sequence %d: %d arrivals, %d verdicts", i, len(v.Arrivals), len(v.Conforming))
		}
		run := func(g *GCRA, cost int64) {
			s, verdicts := State{}, make([]byte, len(v.Arrivals))
			for k, at := range v.Arrivals {
				var o Outcome
				s, o = g.Step(s, Instant(at), Request{Cost: cost})
				verdicts[k] = verdict(o)
			}
			if string(verdicts) != v.Conforming || s.Word(0) != v.FinalTAT || s.Words() != 1 {
				t.Errorf("sequence %d, %v: %s, arrival time %v; want %s, %d", i, g, verdicts, s, v.Conforming, v.FinalTAT)
			}
		}
		run(Must(NewGCRA(Rate{1, time.Microsecond}, v.T+v.Tau)), v.T)
		inMicros++
		if v.Tau%v.T == 0 {
			run(Must(NewGCRA(Rate{1, micros(v.T)}, v.Tau/v.T+1)), 1)
			inCells++
		}
	}
	if inMicros != 7 || inCells != 3 {
		t.Errorf("%d sequences in µs, %d in cells; want 7, 3", inMicros, inCells)
	}
}

func TestVectorsWindowSequences(t *testing.T) {
	sequences, decisions := 0, 0
	for i, v := range readVectors(t).Windows {
		rate := Rate{v.Limit, micros(v.Window)}
		for _, c := range []struct {
			a    Algorithm
			want string
		}{
			{Must(NewFixedWindow(rate)), v.Fixed},
			{Must(NewSlidingLog(rate)), v.Log},
			{Must(NewSlidingCounter(rate)), v.Counter},
		} {
			s, verdicts := State{}, make([]byte, len(v.Arrivals))
			for k, r := range v.Arrivals {
				var o Outcome
				s, o = c.a.Step(s, Instant(r[0]), Request{Cost: r[1]})
				verdicts[k] = verdict(o)
				decisions++
			}
			if string(verdicts) != c.want {
				t.Errorf("sequence %d, %v:\n%s, want\n%s", i, c.a, verdicts, c.want)
			}
			sequences++
		}
	}
	if sequences != 120 || decisions != 4800 {
		t.Errorf("%d sequences, %d decisions", sequences, decisions)
	}
}

func verdict(o Outcome) byte {
	if o.Allowed {
		return 'o'
	}
	return 'x'
}
