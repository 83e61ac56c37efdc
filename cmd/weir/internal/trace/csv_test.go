package trace

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

const rowsHeader = "time,key,cost,note\n"

// readRow reads one record under rowsHeader.
func readRow(t *testing.T, row, unit string) (events []Event, reason string) {
	t.Helper()
	opts := &Options{TimeColumn: "time", Key: "key", CostColumn: "cost", TimeUnit: unit}
	events, r := readAll(t, rowsHeader+row, opts)
	if _, bad := r.Bad(); len(bad) > 0 {
		reason = bad[0].Reason
	}
	return events, reason
}

func TestCSVRows(t *testing.T) {
	const at = 1_700_158_623_000_000
	for name, c := range map[string]struct {
		row, unit string
		want      Event
	}{
		"seconds":             {"1700158623,a,2,", "", Event{At: at, Key: "a", Cost: 2}},
		"decimal seconds":     {"1700158623.9799609,a,2,", "", Event{At: at + 979_960, Key: "a", Cost: 2}},
		"date":                {"2023-11-16T18:17:03Z,a,2,", "", Event{At: at, Key: "a", Cost: 2}},
		"date without zone":   {"2023-11-16 18:17:03.9799600,a,2,", "", Event{At: at + 979_960, Key: "a", Cost: 2}},
		"date with offset":    {"2023-11-16 19:17:03+01:00,a,2,", "", Event{At: at, Key: "a", Cost: 2}},
		"unit s":              {"1700158623.5,a,2,", "s", Event{At: at + 500_000, Key: "a", Cost: 2}},
		"unit ms":             {"1700158623000.9999,a,2,", "ms", Event{At: at + 999, Key: "a", Cost: 2}},
		"unit us":             {"1700158623000001,a,2,", "us", Event{At: at + 1, Key: "a", Cost: 2}},
		"unit ns":             {"1700158623000001999,a,2,", "ns", Event{At: at + 1, Key: "a", Cost: 2}},
		"cost 0":              {"1,a,0,", "", Event{At: 1e6, Key: "a"}},
		"cost with zeros":     {"1,a,007,", "", Event{At: 1e6, Key: "a", Cost: 7}},
		"largest cost":        {"1,a,9223372036854775807,", "", Event{At: 1e6, Key: "a", Cost: 1<<63 - 1}},
		"key of any bytes":    {"1,\xff\x00 ä,1,", "", Event{At: 1e6, Key: "\xff\x00 ä", Cost: 1}},
		"key is not trimmed":  {"1, a ,1,", "", Event{At: 1e6, Key: " a ", Cost: 1}},
		"quoted":              {`"1","a, ""b""","3","note"`, "", Event{At: 1e6, Key: `a, "b"`, Cost: 3}},
		"quoted over lines":   {"1,\"a\r\nb\n\n\",1,\"\n\"", "", Event{At: 1e6, Key: "a\nb\n\n", Cost: 1}},
		"quoted, long":        {`1,"` + strings.Repeat("k", 10_000) + `",1,`, "", Event{At: 1e6, Key: strings.Repeat("k", 10_000), Cost: 1}},
		"line feed at end":    {"1,a,1,\n", "", Event{At: 1e6, Key: "a", Cost: 1}},
		"crlf at end":         {"1,a,1,x\r\n", "", Event{At: 1e6, Key: "a", Cost: 1}},
		"quotes in the notes": {`1,a,1,"x, ""y"""`, "", Event{At: 1e6, Key: "a", Cost: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			events, reason := readRow(t, c.row, c.unit)
			if !slices.Equal(events, []Event{c.want}) {
				t.Errorf("got %v, %q, want %v", events, reason, c.want)
			}
		})
	}
}

func TestUnusableCSVRows(t *testing.T) {
	for name, c := range map[string]struct{ row, unit, reason string }{
		"a field less":        {"1,a,1", "", reasonRowWidth},
		"a field more":        {"1,a,1,x,", "", reasonRowWidth},
		"quoted, one less":    {`1,"a",1`, "", reasonRowWidth},
		"time empty":          {",a,1,", "", "time is not a decimal number of seconds, and no date such as 2006-01-02T15:04:05.9Z"},
		"time in words":       {"noon,a,1,", "", "time is not a decimal number of seconds, and no date such as 2006-01-02T15:04:05.9Z"},
		"time of a clock":     {"18:17:03,a,1,", "", "time is not a decimal number of seconds, and no date such as 2006-01-02T15:04:05.9Z"},
		"time with a space":   {" 1,a,1,", "", "time is not a decimal number of seconds, and no date such as 2006-01-02T15:04:05.9Z"},
		"time negative":       {"-1,a,1,", "", "time is not a decimal number of seconds, and no date such as 2006-01-02T15:04:05.9Z"},
		"time exponent":       {"1.7e9,a,1,", "", "time is not a decimal number of seconds, and no date such as 2006-01-02T15:04:05.9Z"},
		"time no day":         {"2023-02-29 00:00:00,a,1,", "", reasonStamp},
		"time broken date":    {"2023-02-28 00:00:00 CET,a,1,", "", reasonStamp},
		"time before 1970":    {"1969-12-31 23:59:59.9,a,1,", "", reasonEarly},
		"ms taken for s":      {"1700158623000,a,1,", "", reasonLate},
		"ns taken for ms":     {"1700158623000000000,a,1,", "ms", reasonLate},
		"a date, not ms":      {"2023-11-16 18:17:03,a,1,", "ms", "time is not a decimal number of milliseconds"},
		"a date, not s":       {"2023-11-16T18:17:03Z,a,1,", "s", "time is not a decimal number of seconds"},
		"key empty":           {"1,,1,", "", "key is empty"},
		"key empty in quotes": {`1,"",1,`, "", "key is empty"},
		"cost empty":          {"1,a,,", "", "cost is not a number"},
		"cost in words":       {"1,a,one,", "", "cost is not a number"},
		"cost with a unit":    {"1,a,1k,", "", "cost is not a number"},
		"cost with a plus":    {"1,a,+1,", "", "cost is not a number"},
		"cost with a space":   {"1,a, 1,", "", "cost is not a number"},
		"cost -":              {"1,a,-,", "", "cost is not a number"},
		"cost negative":       {"1,a,-1,", "", "cost is negative"},
		"cost negative half":  {"1,a,-1.5,", "", "cost is not written as a whole number"},
		"cost fraction":       {"1,a,1.5,", "", "cost is not written as a whole number"},
		"cost whole fraction": {"1,a,1.0,", "", "cost is not written as a whole number"},
		"cost exponent":       {"1,a,1e3,", "", "cost is not written as a whole number"},
		"cost too large":      {"1,a,9223372036854775808,", "", "cost is above 9223372036854775807"},
		"quote in a field":    {`1,a"b,1,`, "", reasonRowQuotes},
		"quote not closed":    {`1,"a,1,`, "", reasonRowQuotes},
		"quote behind quotes": {`1,"a"b,1,`, "", reasonRowQuotes},
		"space before quotes": {`1, "a",1,`, "", reasonRowQuotes},
	} {
		t.Run(name, func(t *testing.T) {
			events, reason := readRow(t, c.row, c.unit)
			if len(events) != 0 || reason != c.reason {
				t.Errorf("got %v, %q, want %q", events, reason, c.reason)
			}
		})
	}
}

func TestCSVWithoutKeyAndCostColumns(t *testing.T) {
	events, r := readAll(t, rowsHeader+"2,a,-5,\n1,,,\n", &Options{TimeColumn: "time"})
	if !slices.Equal(events, []Event{{At: 1e6, Key: "all", Cost: 1}, {At: 2e6, Key: "all", Cost: 1}}) || !r.Sorted() {
		t.Errorf("events %v, sorted %v", events, r.Sorted())
	}
	if want := (Counts{Lines: 3, Events: 2, Headers: 1, Keys: 1, OutOfOrder: 1}); r.Counts() != want {
		t.Errorf("counts\n got %+v\nwant %+v", r.Counts(), want)
	}
}

func TestCSVHeaders(t *testing.T) {
	opts := Options{TimeColumn: "time", Key: "key"}
	for name, c := range map[string]struct {
		text, want string
		lines      int64
	}{
		"usual":               {"time,key\n1,a\n", "a", 2},
		"another order":       {"key,x,time\na,,1\n", "a", 2},
		"byte order mark":     {"\xef\xbb\xbftime,key\n1,a\n", "a", 2},
		"mark and quotes":     {"\xef\xbb\xbf\"time\",key\n1,a\n", "a", 2},
		"blank lines first":   {"\n \r\ntime,key\r\n1,a\r\n", "a", 4},
		"names in quotes":     {"\"time\",\"key\"\n1,a\n", "a", 2},
		"no rows":             {"time,key", "", 1},
		"others twice":        {"x,x,time,key\n,,1,a\n", "a", 2},
		"nothing":             {"", "", 0},
		"only blank lines":    {"\n\n", "", 2},
		"a row like a header": {"time,key\ntime,key\n1,a\n", "a", 3},
	} {
		t.Run(name, func(t *testing.T) {
			events, r := readAll(t, c.text, &opts)
			if keysOf(events) != c.want || r.Counts().Lines != c.lines {
				t.Errorf("keys %q of %+v", keysOf(events), r.Counts())
			}
		})
	}
}

func TestCSVColumnsThatDoNotFitTheHeader(t *testing.T) {
	const header = "time,key,key, cost,\"a\nb\"\n1,a,b,1,\n"
	const has = `it has "time", "key", "key", " cost", "a\nb"`
	for name, c := range map[string]struct {
		text string
		opts Options
		want string
	}{
		"no time column":       {header, Options{Format: "csv"}, `time column: must be named: the header has "time", "key"`},
		"only a unit":          {header, Options{TimeUnit: "ms"}, `time column: must be named`},
		"time unknown":         {header, Options{TimeColumn: "Time"}, `time column: the header has no "Time": ` + has},
		"key unknown":          {header, Options{TimeColumn: "time", Key: "user"}, `key: the header has no "user": ` + has},
		"cost unknown":         {header, Options{TimeColumn: "time", CostColumn: "cost"}, `cost column: the header has no "cost": ` + has},
		"key twice":            {header, Options{TimeColumn: "time", Key: "key"}, `key: the header has "key" twice: ` + has},
		"no header":            {"1,a,1\n", Options{TimeColumn: "time"}, `time column: the header has no "time": it has "1", "a", "1"`},
		"many columns":         {strings.Repeat("x,", 2000) + "\n", Options{TimeColumn: "time"}, `"x", … (2001 columns)`},
		"long names":           {strings.Repeat("x", 2000) + ",y\n", Options{TimeColumn: "time"}, `"` + strings.Repeat("x", maxColumnShown) + `…", "y"`},
		"unit unknown":         {header, Options{TimeColumn: "time", TimeUnit: "m"}, `time unit: "m" is not one of s, ms, us, ns`},
		"key of an access log": {header, Options{TimeColumn: "time", Key: KeyHost}, `key: the header has no "host": ` + has},
		"column of jsonl":      {jsonLine, Options{Format: "jsonl", TimeColumn: "at_us"}, `time column: jsonl has no columns`},
		"cost of clf":          {common, Options{Format: "clf", CostColumn: "bytes"}, `cost column: clf has no columns`},
		"unit of alb":          {albLine, Options{Format: "alb", TimeUnit: "s"}, `time unit: alb has no columns`},
	} {
		var option *OptionError
		_, err := Open(strings.NewReader(c.text), &c.opts)
		if !errors.As(err, &option) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		} else if len(err.Error()) > 4000 {
			t.Errorf("%s: the error has %d bytes", name, len(err.Error()))
		}
	}
}

func TestCSVHeaderThatCannotBeReadIsAnError(t *testing.T) {
	for name, text := range map[string]string{
		"quote not closed": "\"time,key\n1,a\n",
		"quote inside":     "time,k\"ey\n1,a\n",
		"too long":         strings.Repeat("x", MaxLine+1) + "\n1,a\n",
	} {
		var option *OptionError
		if _, err := Open(strings.NewReader(text), &Options{TimeColumn: "time"}); err == nil || errors.As(err, &option) ||
			!strings.Contains(err.Error(), "trace: csv: the header cannot be read: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(&failing{strings.NewReader("time"), errBroken}, &Options{TimeColumn: "time"}); !errors.Is(err, errBroken) {
		t.Errorf("broken input: %v", err)
	}
}

// What is split here and what encoding/csv reads must be the same.
func TestCSVWithAndWithoutQuotesIsTheSame(t *testing.T) {
	for _, row := range []string{"1,a,2,x", "1,,2,", "1, a ,2, ", ",,,", "1,a,2", "1,a,2,x,y", "1,ä\xff,2,'"} {
		quoted := `"` + strings.ReplaceAll(row, ",", `","`) + `"`
		plain, reason := readRow(t, row, "")
		got, quotedReason := readRow(t, quoted, "")
		if !slices.Equal(plain, got) || reason != quotedReason {
			t.Errorf("%s: %v, %q, in quotes %v, %q", row, plain, reason, got, quotedReason)
		}
	}
}
