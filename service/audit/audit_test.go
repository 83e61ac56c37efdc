package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, folder string, now *clock.Mock) *Log {
	t.Helper()
	l, err := Open(folder, &Options{Clock: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func at(when time.Time) *clock.Mock {
	m := clock.NewMock()
	m.Set(when)
	return m
}

func write(t *testing.T, l *Log, e Entry) Entry {
	t.Helper()
	e, err := l.Write(e)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func read(t *testing.T, l *Log, q Query) Page {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 1000
	}
	page, err := l.Read(q)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// TestALineHasEveryField: pinned, since other programs read these files.
func TestALineHasEveryField(t *testing.T) {
	folder := t.TempDir()
	l := open(t, folder, at(noon))
	write(t, l, Entry{
		Actor: "ops", Role: "write", Tenant: "acme", Remote: "192.0.2.1:4711", Action: "rule.put", Target: "rule:login",
		Before: json.RawMessage(`{"limit":"gcra:1/1s"}`), After: json.RawMessage(`{"limit":"gcra:2/1s"}`), PolicyVersion: "abc", RequestID: "r1", Result: Done,
	})
	write(t, l, Entry{Action: "login", Result: Refused})
	got, err := os.ReadFile(filepath.Join(folder, "audit-2026-11-29.jsonl"))
	want := `{"time":"2026-11-29T12:00:00Z","seq":1,"actor":"ops","role":"write","tenant":"acme","remote":"192.0.2.1:4711","action":"rule.put","target":"rule:login","before":{"limit":"gcra:1/1s"},"after":{"limit":"gcra:2/1s"},"policy_version":"abc","request_id":"r1","result":"done"}
{"time":"2026-11-29T12:00:00Z","seq":2,"actor":"","role":"","tenant":"","remote":"","action":"login","target":"","policy_version":"","request_id":"","result":"refused"}
`
	if err != nil || string(got) != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
}

// TestTheSequenceGoesOn: over a restart, over days, and with a clock that goes back.
func TestTheSequenceGoesOn(t *testing.T) {
	folder, now := t.TempDir(), at(noon)
	for i, when := range []time.Time{noon, noon.AddDate(0, 0, 1), noon.AddDate(0, 0, -3), noon.AddDate(0, 0, 2)} {
		now.Set(when)
		l := open(t, folder, now)
		for j := range 2 {
			if e := write(t, l, Entry{}); e.Seq != int64(2*i+j+1) {
				t.Errorf("line %d has seq %d", 2*i+j+1, e.Seq)
			}
		}
		l.Close()
	}
	l := open(t, folder, now)
	if n := len(read(t, l, Query{}).Entries); n != 8 {
		t.Errorf("%d entries, want 8", n)
	}
}

// TestAClockThatGoesBackStaysInTheFile: the order of the files is that of the sequence.
func TestAClockThatGoesBackStaysInTheFile(t *testing.T) {
	folder, now := t.TempDir(), at(noon)
	l := open(t, folder, now)
	now.Set(noon.AddDate(0, 0, -1))
	write(t, l, Entry{})
	if _, err := os.Stat(filepath.Join(folder, "audit-2026-11-28.jsonl")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a file of the day before was made")
	}
}

// TestFilesAreKeptFor90Days: and other files are left alone.
func TestFilesAreKeptFor90Days(t *testing.T) {
	folder, now := t.TempDir(), at(noon)
	if err := os.WriteFile(filepath.Join(folder, "notes-2020-01-01.jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := open(t, folder, now)
	for d := range 100 {
		now.Set(noon.AddDate(0, 0, d))
		write(t, l, Entry{})
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil || len(files) != 92 { // 90, today, and the notes
		t.Errorf("%d files, %v", len(files), err)
	}
	entries := read(t, l, Query{}).Entries
	if len(entries) != 91 || entries[0].Seq != 10 {
		t.Errorf("%d entries from %d on", len(entries), entries[0].Seq)
	}
}

// TestAFileThatCannotBeWrittenRefusesTheChange: and it is tried anew with the next one,
// without a gap in the sequence.
func TestAFileThatCannotBeWrittenRefusesTheChange(t *testing.T) {
	folder, now := t.TempDir(), at(noon)
	l := open(t, folder, now)
	write(t, l, Entry{})
	l.file.Close() // what is written now fails
	if _, err := l.Begin(Entry{Action: "x"}); err == nil {
		t.Fatal("a change begins without a line")
	}
	change, err := l.Begin(Entry{Action: "y"})
	if err != nil {
		t.Fatal(err)
	}
	now.Set(noon.AddDate(0, 0, 1)) // the file of the next day cannot be opened
	if err := os.Mkdir(filepath.Join(folder, "audit-2026-11-30.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Begin(Entry{}); err == nil {
		t.Error("a change begins where the file is a folder")
	}
	if err := change.End(nil, nil, "", nil); err == nil {
		t.Error("the end of a change is written where the file is a folder")
	}
	if err := os.Remove(filepath.Join(folder, "audit-2026-11-30.jsonl")); err != nil {
		t.Fatal(err)
	}
	if err := change.End(nil, json.RawMessage(`1`), "v", nil); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range read(t, l, Query{}).Entries {
		got = append(got, fmt.Sprint(e.Seq, e.Action, e.Result))
	}
	if want := "[1 2ybegun 3ydone]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// TestAChangeHasTwoLines: what fails has neither before nor after.
func TestAChangeHasTwoLines(t *testing.T) {
	l := open(t, t.TempDir(), at(noon))
	for _, failed := range []error{nil, errors.New("in between")} {
		c, err := l.Begin(Entry{Action: "rule.put", RequestID: "r", PolicyVersion: "1", After: json.RawMessage(`0`)})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.End(json.RawMessage(`1`), json.RawMessage(`2`), "2", failed); err != nil {
			t.Fatal(err)
		}
	}
	var got string
	for _, e := range read(t, l, Query{}).Entries {
		got += fmt.Sprintf("%s %s %s→%s v%s;", e.RequestID, e.Result, e.Before, e.After, e.PolicyVersion)
	}
	if want := "r begun → v1;r done 1→2 v2;r begun → v1;r failed: in between → v2;"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestALineThatWasCutShortIsPassedOver: a crash leaves one, and the next line is whole.
func TestALineThatWasCutShortIsPassedOver(t *testing.T) {
	folder, now := t.TempDir(), at(noon)
	l := open(t, folder, now)
	write(t, l, Entry{Action: "a"})
	l.Close()
	name := filepath.Join(folder, "audit-2026-11-29.jsonl")
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"time":"2026-11-29T12:00:00Z","seq":2,"act`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	l = open(t, folder, now)
	if e := write(t, l, Entry{Action: "b"}); e.Seq != 2 {
		t.Errorf("seq %d", e.Seq)
	}
	if page := read(t, l, Query{}); len(page.Entries) != 2 || page.Entries[1].Action != "b" {
		t.Errorf("%+v", page)
	}
}

// TestReadGoesOnByCursor: with filters, over days, and never with another tenant's.
func TestReadGoesOnByCursor(t *testing.T) {
	now := at(noon)
	l := open(t, t.TempDir(), now)
	for i := range 60 {
		now.Set(noon.Add(time.Duration(i) * time.Hour))
		write(t, l, Entry{Tenant: []string{"a", "b"}[i%2], Target: fmt.Sprint("user:", i%3)})
	}
	for _, q := range []Query{
		{Tenant: "a"}, {Tenant: "b"}, {Tenant: "c"}, {Tenant: "a", Target: "user:1"}, {Tenant: "a", Since: noon.Add(25 * time.Hour)},
		{Tenant: "b", Target: "user:2", Since: noon.Add(50 * time.Hour)},
	} {
		all := read(t, l, q)
		want := 0
		for i := range 60 {
			when := noon.Add(time.Duration(i) * time.Hour)
			if q.Tenant == []string{"a", "b"}[i%2] && (q.Target == "" || q.Target == fmt.Sprint("user:", i%3)) && !when.Before(q.Since) {
				want++
			}
		}
		if len(all.Entries) != want || all.Next != 0 {
			t.Errorf("%+v: %d entries and next %d, want %d", q, len(all.Entries), all.Next, want)
		}
		var pages []Entry
		for q.Limit = 7; ; {
			page := read(t, l, q)
			if pages = append(pages, page.Entries...); page.Next == 0 {
				break
			}
			q.After = page.Next
		}
		if a, b := fmt.Sprint(all.Entries), fmt.Sprint(pages); a != b {
			t.Errorf("%+v: pages have\n%s\nwant\n%s", q, b, a)
		}
	}
}

// TestUsersAreHashed: under a key that stays, and apart for each tenant.
func TestUsersAreHashed(t *testing.T) {
	folder := t.TempDir()
	l := open(t, folder, at(noon))
	one := l.UserTarget("a", "alice")
	if strings.Contains(one, "alice") || len(one) != len("user:")+32 {
		t.Error(one)
	}
	for _, other := range []string{l.UserTarget("b", "alice"), l.UserTarget("a", "bob"), l.UserTarget("a:5", "alice"), open(t, t.TempDir(), at(noon)).UserTarget("a", "alice")} {
		if other == one {
			t.Errorf("%s is the hash of two users", one)
		}
	}
	again := func() string {
		t.Helper()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = open(t, folder, at(noon))
		return l.UserTarget("a", "alice")
	}
	if again := again(); again != one {
		t.Errorf("after a restart the hash is %s, before %s", again, one)
	}
	// What a crash has left of a key is none.
	if err := os.Rename(filepath.Join(folder, keyFile), filepath.Join(folder, keyFile+".new")); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(folder, keyFile+".new"), 7); err != nil {
		t.Fatal(err)
	}
	made := again()
	if again := again(); made == one || again != made {
		t.Errorf("a new key hashes to %s and %s, the old one to %s", made, again, one)
	}
	shared := &Options{HashKey: []byte("0123456789abcdef"), Clock: at(noon)}
	x, _ := Open(t.TempDir(), shared)
	y, _ := Open(t.TempDir(), shared)
	if x.UserTarget("a", "u") != y.UserTarget("a", "u") {
		t.Error("logs with one key have different hashes")
	}
	x.Close()
	y.Close()
}

// TestWritersShareTheLog: no line is lost, mixed or doubled.
func TestWritersShareTheLog(t *testing.T) {
	l := open(t, t.TempDir(), at(noon))
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			for j := range 10 {
				if _, err := l.Write(Entry{RequestID: fmt.Sprint(i, "/", j)}); err != nil {
					t.Error(err)
				}
				if _, err := l.Read(Query{Limit: 5}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	seen := map[string]bool{}
	for i, e := range read(t, l, Query{}).Entries {
		if seen[e.RequestID] = true; e.Seq != int64(i+1) {
			t.Errorf("line %d has seq %d", i+1, e.Seq)
		}
	}
	if len(seen) != 80 {
		t.Errorf("%d lines, want 80", len(seen))
	}
}

func TestWrongOptionsAndEntriesAreRefused(t *testing.T) {
	if _, err := Open(t.TempDir(), &Options{Keep: -1}); err == nil {
		t.Error("Keep -1 is accepted")
	}
	if _, err := Open(t.TempDir(), &Options{HashKey: []byte("short")}); err == nil {
		t.Error("a short key is accepted")
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, keyFile), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(folder, nil); err == nil {
		t.Error("a key file without a key is accepted")
	}
	if _, err := Open(filepath.Join(folder, keyFile), nil); err == nil {
		t.Error("a folder that is a file is accepted")
	}
	l := open(t, t.TempDir(), at(noon))
	if _, err := l.Write(Entry{Target: strings.Repeat("x", maxLine)}); err == nil {
		t.Error("a line above the bound is accepted")
	}
	l.Close()
	if _, err := l.Write(Entry{}); err == nil {
		t.Error("a closed log is written")
	}
}

// TestLastAreTheNewestOfATenant: over the days, and never those of another tenant.
func TestLastAreTheNewestOfATenant(t *testing.T) {
	now := at(noon)
	l := open(t, t.TempDir(), now)
	for i := range 30 {
		if i%10 == 0 {
			now.Add(24 * time.Hour)
		}
		write(t, l, Entry{Tenant: []string{"a", "b"}[i%2], Action: fmt.Sprint(i)})
	}
	for n, want := range map[int]string{1: "28", 3: "28 26 24", 7: "28 26 24 22 20 18 16", 100: "28 26 24 22 20 18 16 14 12 10 8 6 4 2 0"} {
		entries, err := l.Last("a", n)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Action)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("the last %d: %v, want %s", n, got, want)
		}
	}
	if entries, err := l.Last("c", 10); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}
