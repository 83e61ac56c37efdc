package trace

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

func anyRecord([]byte) bool { return true }

func TestRecordsSurviveTheBuffer(t *testing.T) {
	var text strings.Builder
	var want []string
	for i := range 400 {
		record := fmt.Sprintf("%d,\"%s\r\n\n%s\"", i, strings.Repeat("a", i*7%1000), strings.Repeat("b", i*13%1000))
		want = append(want, record)
		text.WriteString(record + "\r\n")
	}
	want = append(want, `"`+strings.Repeat("z\n", 64<<10)+`"`, "end")
	text.WriteString(want[400] + "\nend")
	l := newLines(strings.NewReader(text.String()), MaxLine)
	for i, record := range want {
		got, long, err := l.record(anyRecord)
		if string(got) != record || long || err != nil {
			t.Fatalf("record %d: %d bytes, %v, %v, want %d bytes", i, len(got), long, err, len(record))
		}
	}
	if _, _, err := l.record(anyRecord); err != io.EOF {
		t.Errorf("behind the last: %v", err)
	}
}

// A quote that is never closed must not take the rest of the file with it, neither as one bad line nor in memory.
func TestCSVQuoteThatIsNotClosedCostsOneLine(t *testing.T) {
	note := strings.Repeat("x", 1000) + "\n"
	rows := strings.Repeat("1,a,1,"+note, 2000) // more than the longest line
	for name, c := range map[string]struct {
		text   string
		events int64
		bad    []int64
	}{
		"to the end":           {"1,\"a,1,\n1,a,1,\n1,a,1,\n", 2, []int64{2}},
		"for too long":         {"1,\"a,1,\n" + rows + "1,\"a\",1,\n", 2001, []int64{2}},
		"to the next quote":    {"1,\"a,1,\n1,a,1,\n1,\"a\",1,\n1,\"b\",1,\n", 3, []int64{2}},
		"in every line":        {strings.Repeat("1,\"a,1,\n", 5), 0, []int64{2, 3, 4, 5, 6}},
		"behind records":       {"1,\"a\nb\",1,\n\n1,\"a,1,\n1,a,1,\n", 2, []int64{5}},
		"and records behind":   {"1,\"a,1,\n1,b,1,\n1,\"x\n\ny\",1,\nx\n", 2, []int64{2, 7}},
		"field longer than it": {"1,\"" + strings.Repeat(note, 2000) + "\",1,\n1,a,1,\n", 1, []int64{2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
	} {
		t.Run(name, func(t *testing.T) {
			events, r := readAll(t, rowsHeader+c.text, &Options{TimeColumn: "time", Key: "key", CostColumn: "cost"})
			if int64(len(events)) != c.events {
				t.Errorf("%d events, want %d", len(events), c.events)
			}
			var numbers []int64
			_, bad := r.Bad()
			for _, b := range bad {
				numbers = append(numbers, b.Number)
			}
			if !slices.Equal(numbers, c.bad) {
				t.Errorf("bad lines %v, want %v", numbers, c.bad)
			}
			if n := r.Counts(); n.Lines != n.Events+n.Bad+n.Skipped+n.Headers {
				t.Errorf("counts do not add up: %+v", n)
			}
		})
	}
}

func TestCSVInputThatFailsInsideARecordIsAnError(t *testing.T) {
	text := rowsHeader + "1,a,1,\n1,\"a\n"
	r, err := Open(&failing{strings.NewReader(text), errBroken}, &Options{TimeColumn: "time"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, errBroken) {
		t.Errorf("Next: %v", err)
	}
}
