package trace

import (
	"fmt"
	"io"
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
		t.Run(c.name, func(t *testing.T) {
			r, err := Open(strings.NewReader(c.text), &Options{Fields: c.fields})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			event, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%q", SplitFields(event.Key)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if _, err := r.Next(); err != io.EOF {
				t.Error(err)
			}
		})
	}
	if _, err := Open(strings.NewReader("{}\n"), &Options{Fields: slices.Repeat([]string{"x"}, 17)}); err == nil {
		t.Error("17 fields are taken")
	}
}
