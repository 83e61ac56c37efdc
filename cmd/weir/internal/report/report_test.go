package report

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden")

func wantGolden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nIf that is right: go test ./cmd/weir/internal/report -update", name, got)
	}
}

// full is a report in which every field has a value of its own.
func full() *Replay {
	c := NewCollector("gcra:100/1m,burst=20")
	const noon = 1_764_244_800_000_000
	for i := range int64(1500) {
		c.Add(int(i%14), fmt.Sprintf("user:%d", i%14), noon+i*7_000_000, i%5, i%14 < 3 || i%3 > 0)
	}
	for range 36 {
		c.Add(14, "evil\x1b[2J", noon, 1_000_000, false)
	}
	return c.Replay(Source{
		Trace: "odd\nname.log", Format: "combined", Key: "user-agent", Store: "memory://",
		Lines: 1552, Empty: 4, OutOfOrder: 3, Sorted: true,
		Bad: 12, BadLines: []BadLine{{"", 7, "the reason", `what the "line" said <&>`}, {"", 1009, "another", "\u202etxt"}},
	})
}

func TestTextOfAFullReport(t *testing.T) {
	var b strings.Builder
	if err := full().Document("").WriteText(&b); err != nil {
		t.Fatal(err)
	}
	wantGolden(t, "text.golden", b.String())
}

func TestJSONOfAFullReport(t *testing.T) {
	var b strings.Builder
	if err := WriteJSON(&b, full()); err != nil {
		t.Fatal(err)
	}
	wantGolden(t, "json.golden", b.String())
	if !json.Valid([]byte(b.String())) {
		t.Error("not JSON")
	}
}

func TestReportOfNothingHasNoNulls(t *testing.T) {
	r := NewCollector("gcra:1/1s").Replay(Source{BadLines: []BadLine{}})
	var b, text strings.Builder
	if err := WriteJSON(&b, r); err != nil || strings.Contains(b.String(), "null") {
		t.Errorf("%v\n%s", err, b.String())
	}
	if err := r.Document("").WriteText(&text); err != nil || strings.Contains(text.String(), "timeline") || strings.Contains(text.String(), "span") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

func TestCountsAddUp(t *testing.T) {
	r := full()
	if r.Events != 1536 || r.Admitted+r.Denied != r.Events || r.Keys != 15 || r.KeysHit != 12 {
		t.Errorf("%d events, %d admitted, %d denied, %d keys, %d hit", r.Events, r.Admitted, r.Denied, r.Keys, r.KeysHit)
	}
	var offered, admitted int64
	for _, b := range r.Timeline {
		offered += b.Offered
		admitted += b.Admitted
	}
	if offered != r.Events || admitted != r.Admitted {
		t.Errorf("the timeline has %d offered and %d admitted of %d and %d", offered, admitted, r.Events, r.Admitted)
	}
}

func TestFirstAndLastAreOfTheTimesAndNotOfTheOrder(t *testing.T) {
	c := NewCollector("gcra:1/1s")
	for _, at := range []int64{50, 20, 90, 0, 40} {
		c.Add(0, "k", at, 1, true)
	}
	if r := c.Replay(Source{}); r.FirstMicros != 0 || r.LastMicros != 90 {
		t.Errorf("from %d to %d", r.FirstMicros, r.LastMicros)
	}
}

// The most denied come first, of equals the one that asked more often, then by
// name, whatever the order in which they came.
func TestMostDeniedAreInOrder(t *testing.T) {
	counts := []KeyCount{
		{"c", 9, 3}, {"b", 5, 3}, {"a", 5, 3}, {"z", 100, 0}, {"y", 4, 4},
		{"k1", 1, 1}, {"k2", 1, 1}, {"k3", 1, 1}, {"k4", 1, 1}, {"k5", 1, 1}, {"k6", 1, 1}, {"k7", 1, 1},
	}
	c := NewCollector("gcra:1/1s")
	for number, k := range counts {
		for i := range k.Offered {
			c.Add(number, k.Key, 0, 1, i >= k.Denied)
		}
	}
	r := c.Replay(Source{})
	var got []string
	for _, k := range r.MostDenied {
		got = append(got, k.Key)
	}
	if want := "y c a b k1 k2 k3 k4 k5 k6"; strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, " "), want)
	}
	if r.Keys != 12 || r.KeysHit != 11 {
		t.Errorf("%d keys, %d hit", r.Keys, r.KeysHit)
	}
}

// The numbers of a sorted trace come in any order, and a number may wait for its
// first event.
func TestKeysMayComeInAnyOrderOfNumber(t *testing.T) {
	c := NewCollector("gcra:1/1s")
	c.Add(5, "late", 0, 1, false)
	c.Add(0, "early", 0, 1, true)
	if r := c.Replay(Source{}); r.Keys != 2 || r.KeysHit != 1 || r.MostDenied[0] != (KeyCount{"late", 1, 1}) {
		t.Errorf("%+v", r)
	}
}

func TestUnitsStopAtTheLargestNumber(t *testing.T) {
	c := NewCollector("gcra:1/1s")
	for range 3 {
		c.Add(0, "k", 0, math.MaxInt64-1, false)
	}
	c.Add(0, "k", 0, 7, true)
	if r := c.Replay(Source{}); r.UnitsOffered != math.MaxInt64 || r.UnitsAdmitted != 7 {
		t.Errorf("%d offered, %d admitted", r.UnitsOffered, r.UnitsAdmitted)
	}
}

func TestReportCanBeTakenBetweenEvents(t *testing.T) {
	c := NewCollector("gcra:1/1s")
	c.Add(0, "k", 0, 1, true)
	before := c.Replay(Source{})
	c.Add(0, "k", 5, 1, false)
	if before.Events != 1 || before.Timeline[0].Offered != 1 {
		t.Errorf("an earlier report has changed: %+v", before)
	}
	if after := c.Replay(Source{}); after.Events != 2 || after.Denied != 1 {
		t.Errorf("%+v", after)
	}
}

// limited is a writer that fails behind so many bytes.
type limited struct{ left int }

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		n := l.left
		l.left = 0
		return n, os.ErrClosed
	}
	l.left -= len(p)
	return len(p), nil
}

func TestNoFailureToWriteIsLost(t *testing.T) {
	r := full()
	var text, object strings.Builder
	if err := r.Document("").WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(&object, r); err != nil {
		t.Fatal(err)
	}
	for n := range text.Len() {
		if r.Document("").WriteText(&limited{n}) == nil {
			t.Fatalf("the text was cut at %d of %d bytes without an error", n, text.Len())
		}
	}
	if err := r.Document("").WriteText(&limited{text.Len()}); err != nil {
		t.Error(err)
	}
	for _, n := range []int{0, 1, object.Len() - 1} {
		if WriteJSON(&limited{n}, r) == nil {
			t.Errorf("the JSON was cut at %d bytes without an error", n)
		}
	}
}
