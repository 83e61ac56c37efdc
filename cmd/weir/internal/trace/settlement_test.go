package trace

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestSettlementColumnsAreReadFromCSVAndJSON(t *testing.T) {
	columns := Options{SettleColumn: "used", ReserveColumn: "estimate", DurationColumn: "took"}
	csv := columns
	csv.TimeColumn, csv.Key = "t", "k"
	millis := csv
	millis.TimeUnit = "ms"
	nginx := Options{SettleColumn: "usage.total"}
	want := []Event{{At: 1_000_000, Key: "a", Cost: 10, End: 1_250_000, Actual: 7}}
	atEnd := []Event{{At: 1_000_000, Key: "192.0.2.1", Cost: 0, End: 1_250_000, Actual: 7}}
	for name, c := range map[string]struct {
		text string
		o    Options
		want []Event
	}{
		"seconds of csv":      {"t,k,used,estimate,took\n1,a,7,10,0.2500009\n", csv, want},
		"unit of csv":         {"t,k,used,estimate,took\n1000,a,7,10,250.0009\n", millis, want},
		"microseconds":        {`{"at_us":1000000,"key":"a","estimate":10,"used":7,"took":250000,"cost":5}`, columns, want},
		"ends of the format":  {`{"msec":1.250,"request_time":0.250,"remote_addr":"192.0.2.1","usage":{"total":7}}`, nginx, atEnd},
		"cost is not counted": {`{"at_us":1000000,"key":"a","used":7,"cost":5}`, Options{SettleColumn: "used"}, []Event{{At: 1_000_000, Key: "a", End: 1_000_000, Actual: 7}}},
		"cost may be named":   {`{"at_us":1000000,"key":"a","used":7,"cost":5}`, Options{SettleColumn: "used", ReserveColumn: "cost"}, []Event{{At: 1_000_000, Key: "a", Cost: 5, End: 1_000_000, Actual: 7}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := eventsOf(t, c.text, c.o); !slices.Equal(got, c.want) {
				t.Errorf("%+v\nwant %+v", got, c.want)
			}
		})
	}
}

func eventsOf(t *testing.T, text string, o Options) (all []Event) {
	t.Helper()
	r, err := Open(strings.NewReader(text), &o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		e, err := r.Next()
		if err != nil {
			if n, bad := r.Bad(); n > 0 {
				t.Log(bad)
			}
			return all
		}
		all = append(all, e)
	}
}

func TestBadSettlementsAreBadLines(t *testing.T) {
	lines := []struct{ members, reason string }{
		{`"estimate":1,"took":1`, "used is missing"},
		{`"used":1,"took":1`, "estimate is missing"},
		{`"estimate":1,"used":1`, "took is missing"},
		{`"estimate":1,"used":-1,"took":1`, "used is negative"},
		{`"estimate":1.5,"used":1,"took":1`, "estimate is not written as a whole number"},
		{`"estimate":1,"used":1,"took":-1`, "took is negative"},
		{`"estimate":1,"used":1,"took":86400000001`, "took is longer than a day"},
	}
	text := `{"at_us":1,"key":"a","estimate":1,"used":1,"took":1}` + "\n"
	for _, l := range lines {
		text += `{"at_us":1,"key":"a",` + l.members + "}\n"
	}
	text += fmt.Sprintf(`{"at_us":%d,"key":"a","estimate":1,"used":1,"took":1}`, int64(MaxAt))
	r, err := Open(strings.NewReader(text), &Options{SettleColumn: "used", ReserveColumn: "estimate", DurationColumn: "took"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for err == nil {
		_, err = r.Next()
	}
	count, bad := r.Bad()
	if count != int64(len(lines))+1 {
		t.Fatalf("%d bad lines, want %d", count, len(lines)+1)
	}
	for i, l := range lines {
		if bad[i].Reason != l.reason {
			t.Errorf("%s: %q, want %q", l.members, bad[i].Reason, l.reason)
		}
	}
	if got := bad[len(lines)].Reason; got != reasonLate {
		t.Errorf("an end after the last instant: %q, want %q", got, reasonLate)
	}
}

func TestSortKeepsSettlements(t *testing.T) {
	text := "t,used,estimate,took\n"
	var want []Event
	for i := range 1000 {
		text += fmt.Sprintf("%d,%d,%d,%d\n", 999-i, 999-i, 2*(999-i), 999-i)
		want = append(want, Event{At: int64(i) * 1e6, Key: "all", Cost: int64(2 * i), End: int64(2*i) * 1e6, Actual: int64(i)})
	}
	o := Options{TimeColumn: "t", SettleColumn: "used", ReserveColumn: "estimate", DurationColumn: "took", TempDir: t.TempDir()}
	for _, o.RunEvents = range []int{0, 7} {
		if got := eventsOf(t, text, o); !slices.Equal(got, want) {
			t.Errorf("runs of %d: other events than were written", o.RunEvents)
		}
	}
}

func TestWrongSettlementColumnsAreNamed(t *testing.T) {
	csv := Options{TimeColumn: "t", SettleColumn: "used"}
	with := func(o Options, change func(*Options)) Options { change(&o); return o }
	for name, c := range map[string]struct {
		text, want string
		o          Options
	}{
		"settle of csv":   {"t,u\n1,2\n", `trace: settle column: the header has no "used": it has "t", "u"`, csv},
		"reserve of csv":  {"t,used\n1,2\n", `trace: reserve column: the header has no "r": it has "t", "used"`, with(csv, func(o *Options) { o.ReserveColumn = "r" })},
		"duration of csv": {"t,used\n1,2\n", `trace: duration column: the header has no "d": it has "t", "used"`, with(csv, func(o *Options) { o.DurationColumn = "d" })},
		"key of csv":      {"t,used\n1,2\n", `trace: key: the header has no "k": it has "t", "used"`, with(csv, func(o *Options) { o.Key = "k" })},
		"twice":           {"t,used,used\n1,2,3\n", `trace: settle column: the header has "used" twice: it has "t", "used", "used"`, csv},
		"member":          {`{"at_us":1,"key":"a","u":2}`, `trace: settle column: no line has "used": the first has "at_us", "key", "u"`, Options{SettleColumn: "used"}},
		"no columns":      {`h - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 1`, "trace: settle column: clf has no columns to choose: must be left out", Options{SettleColumn: "bytes"}},
		"own times":       {`{"msec":1.250,"request_time":0.250,"remote_addr":"192.0.2.1","n":7}`, "trace: duration column: nginx-json has its own times: must be left out", Options{SettleColumn: "n", DurationColumn: "request_time"}},
		"reserve alone":   {"t,r\n1,2\n", "trace: reserve column: must be left out without a settle column", Options{TimeColumn: "t", ReserveColumn: "r"}},
		"duration alone":  {"t,d\n1,2\n", "trace: duration column: must be left out without a settle column", Options{TimeColumn: "t", DurationColumn: "d"}},
		"cost too":        {"t,used\n1,2\n", "trace: cost column: must be left out with a settle column; a reserve column is the cost at the start", with(csv, func(o *Options) { o.CostColumn = "t" })},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Open(strings.NewReader(c.text), &c.o)
			if err == nil {
				defer r.Close()
				_, err = r.Next()
			}
			if option := (*OptionError)(nil); !errors.As(err, &option) || option.Error() != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}
