package trace

import "testing"

const caddyLine = `{"level":"info","ts":1646861401.5241024,"msg":"handled request","request":{"remote_ip":"198.51.100.1","client_ip":"192.0.2.1","method":"GET","uri":"/a?q=1","headers":{"User-Agent":["curl/7.82.0"],"Accept":["*/*"]}},"duration":0.0009297,"size":10900,"status":200}`

func TestCaddyLines(t *testing.T) {
	checkKeys(t, caddyLine, 1_646_861_401_523_172, "caddy", map[string]keyCase{
		"host":                   {want: "192.0.2.1"},
		"path":                   {key: KeyPath, want: "/a"},
		"host+path":              {key: KeyHostPath, want: "192.0.2.1 /a"},
		"user agent":             {key: KeyUserAgent, want: "curl/7.82.0"},
		"whole seconds":          {old: "1646861401.5241024", new: "1646861401", at: 1_646_861_400_999_070, want: "192.0.2.1"},
		"strings":                {old: `1646861401.5241024`, new: `"1646861401.5241024"`, want: "192.0.2.1"},
		"date":                   {old: `1646861401.5241024`, new: `"2022-03-09T21:30:01.5241024Z"`, want: "192.0.2.1"},
		"date of zap":            {old: `1646861401.5241024`, new: `"2022-03-09T22:30:01.524+0100"`, at: 1_646_861_401_523_070, want: "192.0.2.1"},
		"remote_ip where absent": {old: `"client_ip"`, new: `"other"`, want: "198.51.100.1"},
		"remote_ip where empty":  {old: `192.0.2.1`, new: ``, want: "198.51.100.1"},
		"first agent":            {key: KeyUserAgent, old: `["curl/7.82.0"]`, new: `[ "\"a\"" , "b"]`, want: `"a"`},
		"others ignored":         {old: `{`, new: `{"remote_ip":1,"uri":[{"ts":1}],`, want: "192.0.2.1"},
		"nested ignored":         {old: `"Accept"`, new: `"duration":[9],"client_ip"`, want: "192.0.2.1"},
		"not json":               {old: `}`, new: ``, reason: reasonNotJSON},
		"of Caddy itself":        {old: caddyLine, new: `{"level":"info","ts":1646861399.9,"msg":"admin endpoint started"}`, reason: "duration is missing"},
		"request no object":      {old: `"request":`, new: `"request":1,"x":`, reason: "request.client_ip is missing"},
		"request twice":          {old: `"request":`, new: `"request":{},"request":`, reason: "request stands there twice"},
		"client_ip twice":        {old: `"remote_ip"`, new: `"client_ip"`, reason: "client_ip stands there twice"},
		"client_ip null":         {old: `"192.0.2.1"`, new: `null`, want: "198.51.100.1"},
		"no address":             {old: `"remote_ip":"198.51.100.1","client_ip":"192.0.2.1",`, new: ``, reason: "request.client_ip is missing"},
		"ts absent":              {old: `"ts"`, new: `"time"`, reason: "ts is missing"},
		"ts exponent":            {old: `1646861401.5241024`, new: `1.6468614015241024e9`, reason: "ts is not a decimal number of seconds"},
		"ts in words":            {old: `1646861401.5241024`, new: `"yesterday"`, reason: "ts is not a decimal number of seconds"},
		"ts no day":              {old: `1646861401.5241024`, new: `"2022-02-29T21:30:01Z"`, reason: reasonStamp},
		"ts in ms":               {old: `1646861401.5241024`, new: `1646861401524.1024`, reason: reasonLate},
		"duration absent":        {old: `"duration"`, new: `"took"`, reason: "duration is missing"},
		"duration of Go":         {old: `0.0009297`, new: `"929.7µs"`, reason: "duration is not a decimal number of seconds"},
		"duration too long":      {old: `0.0009297`, new: `1646861401.5241025`, reason: "duration is longer than a day: it must be in seconds"},
		"path empty":             {key: KeyPath, old: `/a?q=1`, new: ``, reason: "request.uri is empty"},
		"path absent":            {key: KeyPath, old: `"uri"`, new: `"url"`, reason: "request.uri is missing"},
		"no headers":             {key: KeyUserAgent, old: `"headers"`, new: `"header"`, reason: "request.headers.User-Agent is missing"},
		"headers no object":      {key: KeyUserAgent, old: `"headers":`, new: `"headers":[],"x":`, reason: "request.headers.User-Agent is missing"},
		"no agent":               {key: KeyUserAgent, old: `"User-Agent"`, new: `"user-agent"`, reason: "request.headers.User-Agent is missing"},
		"agents empty":           {key: KeyUserAgent, old: `["curl/7.82.0"]`, new: `[ ]`, reason: "request.headers.User-Agent is empty"},
		"agent empty":            {key: KeyUserAgent, old: `curl/7.82.0`, new: ``, reason: "request.headers.User-Agent is empty"},
		"agent no array":         {key: KeyUserAgent, old: `["curl/7.82.0"]`, new: `"curl"`, want: "curl"},
		"agent a number":         {key: KeyUserAgent, old: `["curl/7.82.0"]`, new: `[1]`, reason: "request.headers.User-Agent is not a string"},
	})
}
