package trace

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestFieldsAreTakenFromALine(t *testing.T) {
	for _, c := range []struct {
		name, text string
		fields     []string
		want       string
	}{
		{"combined", `198.51.100.4 - ann [01/Jan/2026:00:00:00 +0000] "POST /a/b?c=d HTTP/1.1" 200 1 "-" "curl/8"` + "\n",
			[]string{"method", "path", "host", "user", "user-agent", "status"}, `["POST" "/a/b" "198.51.100.4" "ann" "curl/8" "200"]`},
		{"absent", `198.51.100.4 - - [01/Jan/2026:00:00:00 +0000] "-" 400 1 "-" "-"` + "\n",
			[]string{"method", "path", "user", "user-agent"}, `["" "" "" ""]`},
		{"jsonl", `{"at_us":1000000,"key":"k","user":{"id":42},"org":"acme:1","ok":true}` + "\n",
			[]string{"method", "user.id", "org", "ok", "none", "org"}, `["" "42" "acme:1" "true" "" "acme:1"]`},
		{"nginx", `{"msec":"1700000000.5","remote_addr":"::1","request_time":"0.1","request_method":"GET","request_uri":"/x?y"}` + "\n",
			[]string{"host", "method", "path", "remote_addr"}, `["::1" "GET" "/x" "::1"]`},
	} {
		t.Run(c.name, func(t *testing.T) { checkFields(t, c.text, "", c.fields, c.want) })
	}
	// A log format may have no path and no method, or a method of its own.
	checkFields(t, "1700000000.5 ::1 x\n", "$msec $remote_addr $http_user_agent", []string{"host", "method", "path", "user-agent"}, `["::1" "" "" "x"]`)
	checkFields(t, "1700000000.5 ::1 PUT /x?y\n", "$msec $remote_addr $request_method $request_uri", []string{"host", "method", "path", "user-agent"}, `["::1" "PUT" "/x" ""]`)
	if _, err := Open(strings.NewReader("{}\n"), &Options{Fields: slices.Repeat([]string{"x"}, 17)}); err == nil {
		t.Error("17 fields are taken")
	}
}

// checkFields fails where a trace has other events than one with some fields.
func checkFields(t *testing.T, text, logFormat string, fields []string, want string) {
	t.Helper()
	events, r := readAll(t, text, &Options{LogFormat: logFormat, Fields: fields})
	if len(events) != 1 {
		_, bad := r.Bad()
		t.Fatalf("%d events, %v", len(events), bad)
	}
	if got := fmt.Sprintf("%q", SplitFields(events[0].Key)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Any field of a format may be the key, also one that an event is made of: the time, how long the request took.
func TestAFieldOfTheEventMayBeTheKey(t *testing.T) {
	for _, c := range []struct{ text, logFormat, key, want string }{
		{`198.51.100.4 - ann [01/Jan/2026:00:00:00 +0000] "POST /a HTTP/1.1" 200 1 "-" "curl/8"`, "", "time", "01/Jan/2026:00:00:00 +0000"},
		{`198.51.100.4 - ann [01/Jan/2026:00:00:00 +0000] "POST /a HTTP/1.1" 200 1 "-" "curl/8"`, "", "host", "198.51.100.4"},
		{`1767225600.000 0.250 192.0.2.1`, `$msec $request_time $remote_addr`, "msec", "1767225600.000"},
		{`1767225600.000 0.250 192.0.2.1`, `$msec $request_time $remote_addr`, "request_time", "0.250"},
		{`{"at_us":1000000,"key":"k","cost":7}`, "", "key", "k"},
	} {
		events, r := readAll(t, c.text+"\n", &Options{LogFormat: c.logFormat, Key: c.key})
		if len(events) != 1 || events[0].Key != c.want {
			_, bad := r.Bad()
			t.Errorf("%s of %s: %v %v, want the key %q", c.key, c.text, events, bad, c.want)
		}
	}
}

// Several columns of a CSV trace may be wanted, twice too, and one that is not there is an error that names it.
func TestFieldsOfCSVAreColumns(t *testing.T) {
	const text = "time,user,tokens\n2026-02-03T10:00:00Z,ada,700\n"
	events, _ := readAll(t, text, &Options{TimeColumn: "time", CostColumn: "tokens", Fields: []string{"method", "path", "host", "user", "tokens", "user", "time"}})
	want := []string{"", "", "", "ada", "700", "ada", "2026-02-03T10:00:00Z"}
	if len(events) != 1 || events[0].Cost != 700 || !slices.Equal(SplitFields(events[0].Key), want) {
		t.Errorf("%+v, want the fields %q", events, want)
	}
	for name, o := range map[string]*Options{
		"key":         {TimeColumn: "time", Fields: []string{"user", "tokens", "user", "org"}},
		"cost column": {TimeColumn: "time", CostColumn: "org", Fields: []string{"user", "tokens"}},
		"time column": {TimeColumn: "org", Fields: []string{"user", "tokens"}},
	} {
		_, err := Open(strings.NewReader(text), o)
		if want := `trace: ` + name + `: the header has no "org": it has "time", "user", "tokens"`; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
