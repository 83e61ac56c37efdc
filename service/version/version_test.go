package version

import (
	"net/http"
	"reflect"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"
)

var since = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// TestADeprecationIsWrittenAsTheStandardsSay: pinned, for HTTP and gRPC.
func TestADeprecationIsWrittenAsTheStandardsSay(t *testing.T) {
	d := Deprecation{Since: since, Sunset: since.AddDate(0, 6, 0), Successor: "/api/v2/check"}
	h := http.Header{"Link": {"<x>"}}
	d.Header(h)
	want := http.Header{
		"Deprecation": {"@1795953600"}, "Sunset": {"Sat, 29 May 2027 12:00:00 GMT"},
		"Link": {"<x>", `</api/v2/check>; rel="successor-version"`},
	}
	if !reflect.DeepEqual(h, want) {
		t.Errorf("\n got %v\nwant %v", h, want)
	}
	if got := d.Metadata(); !reflect.DeepEqual(got, metadata.MD{
		"deprecation": {"@1795953600"}, "sunset": {"Sat, 29 May 2027 12:00:00 GMT"}, "link": {`</api/v2/check>; rel="successor-version"`},
	}) {
		t.Errorf("%v", got)
	}
}

func TestADeprecationGivesSixMonths(t *testing.T) {
	for name, c := range map[string]struct {
		d  Deprecation
		ok bool
	}{
		"six months":   {Deprecation{since, since.AddDate(0, 6, 0), "/v2"}, true},
		"a day less":   {Deprecation{since, since.AddDate(0, 6, -1), "/v2"}, false},
		"no sunset":    {Deprecation{since, time.Time{}, "/v2"}, false},
		"no since":     {Deprecation{time.Time{}, since, "/v2"}, false},
		"no successor": {Deprecation{since, since.AddDate(1, 0, 0), ""}, false},
		"no address":   {Deprecation{since, since.AddDate(1, 0, 0), "a>b"}, false},
	} {
		if err := c.d.Check(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
