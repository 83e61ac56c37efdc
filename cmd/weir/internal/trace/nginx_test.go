package trace

import (
	"strings"
	"testing"
)

const nginxLine = `{"msec":"1646861401.524","request_time":"0.124","remote_addr":"192.0.2.1","request_uri":"/a?q=1","uri":"/b","http_user_agent":"curl/8.5.0"}`

// keyCase is a line, a part of which was replaced by another, and what it gives for a key.
type keyCase struct {
	key          string
	old, new     string
	at           int64 // 0: as the line
	want, reason string
}

// checkKeys runs the cases of a format on a line of it.
func checkKeys(t *testing.T, line string, at int64, format string, cases map[string]keyCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.old != "" && !strings.Contains(line, c.old) {
				t.Fatalf("the line does not hold %q", c.old)
			}
			want := c.at
			if want == 0 {
				want = at
			}
			var f fields
			reason := parserOf(t, format, c.key).parse([]byte(strings.Replace(line, c.old, c.new, 1)), &f)
			if reason != c.reason {
				t.Fatalf("reason %q, want %q", reason, c.reason)
			}
			if reason == "" && (f.at != want || string(f.key) != c.want || f.cost != 1) {
				t.Errorf("%d %q %d, want %d %q 1", f.at, f.key, f.cost, want, c.want)
			}
		})
	}
}

func TestNginxLines(t *testing.T) {
	checkKeys(t, nginxLine, 1_646_861_401_400_000, "nginx-json", map[string]keyCase{
		"host":                   {want: "192.0.2.1"},
		"path":                   {key: KeyPath, want: "/a"},
		"host+path":              {key: KeyHostPath, want: "192.0.2.1 /a"},
		"user agent":             {key: KeyUserAgent, want: "curl/8.5.0"},
		"numbers":                {old: `"1646861401.524","request_time":"0.124"`, new: `1646861401.524,"request_time":0.124`, want: "192.0.2.1"},
		"more digits":            {old: `"0.124"`, new: `0.1240001`, at: 1_646_861_401_399_999, want: "192.0.2.1"},
		"whole seconds":          {old: `"1646861401.524","request_time":"0.124"`, new: `1646861401,"request_time":1`, at: 1_646_861_400_000_000, want: "192.0.2.1"},
		"spaces":                 {old: `{"msec":`, new: " {\t\"msec\" : ", want: "192.0.2.1"},
		"escaped name":           {old: `"msec"`, new: `"\u006dsec"`, want: "192.0.2.1"},
		"others ignored":         {old: `{`, new: `{"time":{"msec":[1,{}]},"x":null,"":"",`, want: "192.0.2.1"},
		"ipv6":                   {old: "192.0.2.1", new: "2001:db8::1", want: "2001:db8::1"},
		"socket":                 {old: "192.0.2.1", new: "unix:", want: "unix:"},
		"uri":                    {key: KeyPath, old: `"request_uri"`, new: `"other"`, want: "/b"},
		"path not folded":        {key: KeyPath, old: "/a?q=1", new: `//a/%61/..\/\"?`, want: `//a/%61/../"`},
		"agent decoded":          {key: KeyUserAgent, old: "curl/8.5.0", new: `\"\u00e4\t`, want: "\"ä\t"},
		"agent -":                {key: KeyUserAgent, old: "curl/8.5.0", new: "-", want: "-"},
		"not json":               {old: `}`, new: ``, reason: reasonNotJSON},
		"not an object":          {old: nginxLine, new: `["msec"]`, reason: reasonNotObject},
		"twice":                  {old: `{`, new: `{"msec":1,`, reason: "msec stands there twice"},
		"no msec":                {old: `"msec"`, new: `"Msec"`, reason: "msec is missing"},
		"no request_time":        {old: `"request_time"`, new: `"time"`, reason: "request_time is missing"},
		"request_time empty":     {old: `"0.124"`, new: `""`, reason: "request_time is not a decimal number of seconds"},
		"request_time -":         {old: `"0.124"`, new: `"-"`, reason: "request_time is not a decimal number of seconds"},
		"request_time negative":  {old: `"0.124"`, new: `-0.124`, reason: "request_time is not a decimal number of seconds"},
		"msec null":              {old: `"1646861401.524"`, new: `null`, reason: "msec is not a decimal number of seconds"},
		"msec exponent":          {old: `"1646861401.524"`, new: `1.6e9`, reason: "msec is not a decimal number of seconds"},
		"msec escaped":           {old: `"1646861401.524"`, new: `"\u0031"`, reason: "msec is not a decimal number of seconds"},
		"msec late":              {old: `1646861401.524`, new: `1646861401524`, reason: reasonLate},
		"start early":            {old: `1646861401.524`, new: `0.1`, reason: reasonEarly},
		"host absent":            {old: `"remote_addr"`, new: `"addr"`, reason: "remote_addr is missing"},
		"host empty":             {old: `192.0.2.1`, new: ``, reason: "remote_addr is empty"},
		"host a number":          {old: `"192.0.2.1"`, new: `1`, reason: "remote_addr is not a string"},
		"host no text":           {old: `192.0.2.1`, new: "\xff", reason: "remote_addr is not valid UTF-8"},
		"host half a pair":       {old: `192.0.2.1`, new: `\ud800`, reason: "remote_addr holds half a surrogate pair"},
		"host with a space":      {key: KeyHostPath, old: `192.0.2.1`, new: "a b", reason: "remote_addr is neither an address nor a name"},
		"host only for its keys": {key: KeyPath, old: `"remote_addr"`, new: `"addr"`, want: "/a"},
		"path absent":            {key: KeyPath, old: `"request_uri":"/a?q=1","uri":"/b",`, new: "", reason: "request_uri is missing"},
		"uri where empty":        {key: KeyPath, old: "/a?q=1", new: "", want: "/b"},
		"path only a query":      {key: KeyHostPath, old: "/a?q=1", new: "?q", reason: reasonPathNone},
		"path a number":          {key: KeyPath, old: `"/a?q=1"`, new: "1", reason: "request_uri is not a string"},
		"agent absent":           {key: KeyUserAgent, old: `"http_user_agent"`, new: `"agent"`, reason: "http_user_agent is missing"},
		"agent empty":            {key: KeyUserAgent, old: "curl/8.5.0", new: "", reason: "http_user_agent is empty"},
	})
}
