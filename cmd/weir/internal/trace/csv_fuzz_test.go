package trace

import (
	"bytes"
	"encoding/csv"
	"io"
	"slices"
	"strings"
	"testing"
)

// FuzzCSVRecords cuts any text into records. No byte is lost or read twice, whatever the quotes; and a text that encoding/csv
// reads without an error gives the same rows.
func FuzzCSVRecords(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.Contains(text, []byte("\r")) || bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
			return // line ends are normalised and a mark dropped, here and there in different places
		}
		rows := &csvRows{}
		whole := func(record []byte) bool {
			_, err := rows.read(record)
			return err == nil
		}
		var records []string
		l := newLines(bytes.NewReader(text), MaxLine)
		for number := int64(1); ; {
			record, long, err := l.record(whole)
			if err == io.EOF {
				break
			}
			if err != nil || long {
				t.Fatalf("%q: long %v, %v", text, long, err)
			}
			if l.number != number {
				t.Fatalf("%q: record %q is in line %d, not %d", text, record, l.number, number)
			}
			number += 1 + int64(bytes.Count(record, []byte("\n")))
			records = append(records, string(record))
		}
		if whole := strings.Join(records, "\n"); whole != string(text) && whole+"\n" != string(text) {
			t.Fatalf("%q\nis cut into %q", text, records)
		}
		reader := csv.NewReader(bytes.NewReader(text))
		reader.FieldsPerRecord = -1
		want, err := reader.ReadAll()
		if err != nil {
			return
		}
		records = slices.DeleteFunc(records, func(r string) bool { return r == "" })
		if len(records) != len(want) {
			t.Fatalf("%q: %d records, want %d", text, len(records), len(want))
		}
		for i, record := range records {
			row, err := rows.read([]byte(record))
			if err != nil || !slices.Equal(row, want[i]) {
				t.Fatalf("%q: row %d is %q, %v, want %q", text, i, row, err, want[i])
			}
		}
	})
}

// FuzzCSVRow gives any time, key and cost, in quotes and, where that is possible, without.
func FuzzCSVRow(f *testing.F) {
	f.Fuzz(func(t *testing.T, at, key, cost string) {
		var quoted bytes.Buffer
		w := csv.NewWriter(&quoted)
		if strings.Contains(at+key+cost, "\r") || w.Write([]string{at, key, cost}) != nil {
			return // encoding/csv reads \r\n in quotes as \n
		}
		w.Flush()
		opts := &Options{TimeColumn: "at", Key: "key", CostColumn: "cost"}
		record := strings.TrimSuffix(quoted.String(), "\n")
		c, err := newParser(&formats[len(formats)-1], opts)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.cutter.(headed).header([]byte("at,key,cost")); err != nil {
			t.Fatal(err)
		}
		var got fields
		reason := c.parse([]byte(record), &got)
		if reason == "" {
			if got.at < 0 || got.at > MaxAt || got.cost < 0 || string(got.key) != key || key == "" {
				t.Fatalf("%q: %d %q %d", record, got.at, got.key, got.cost)
			}
			if r := rational([]byte(at)); r != nil && floorMicros(r).Int64() != got.at {
				t.Fatalf("%q: %d", record, got.at)
			}
		}
		if strings.ContainsAny(at+key+cost, "\",\n") {
			return
		}
		var again fields
		if plain := c.parse([]byte(`"`+at+`","`+key+`",`+cost), &again); plain != reason || again.at != got.at || reason == "" && again.cost != got.cost {
			t.Fatalf("%q: %q and in quotes %q", record, reason, plain)
		}
	})
}
