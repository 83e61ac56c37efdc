package trace

import (
	"regexp"
	"slices"
	"strings"
)

// customName is the name of the format that Options.LogFormat describes.
const customName = "log-format"

// The fields of a template that make an event, by the names of nginx, of apacheFields and of fromEnvoy. The first that is there counts.
var (
	timeFields = []struct {
		name string
		form timeForm
		took string // which is in seconds, and exact enough to be subtracted
	}{
		{"msec", seconds, "request_time"}, {"sec", seconds, ""}, {"millisec", decimal(3, "milliseconds"), ""}, {"usec", decimal(0, "microseconds"), ""},
		{"timestamp", stampOr(seconds), ""}, {"start_time", stamp, ""}, {"time_iso8601", stamp, ""}, {"time_local", date, ""}, {"time", date, ""},
	}
	hostFields   = []string{"remote_addr", "host", "client_ip", "c_ip", "client"}
	envoyHosts   = []string{"x_forwarded_for", "downstream_remote_address", "downstream_remote_address_without_port"}
	targetFields = []struct {
		name string
		form part
	}{{"request", requestPath}, {"request_uri", cutQuery}, {"uri", cutQuery}, {"cs_uri_stem", cutQuery}}
	methodFields = []string{"request_method", "method", "cs_method"}
	agentFields  = []string{"http_user_agent", "User-Agent", "User-agent", "user_agent", "cs_user_agent"}
)

// apacheFields are the directives of Apache's mod_log_config that have a name here, which is that of nginx or of combined.
var apacheFields = map[string]string{
	"h": "host", "a": "client_ip", "l": "ident", "u": "user", "t": "time", "r": "request", "s": "status", "b": "bytes",
	"B": "bytes_sent", "O": "bytes_out", "I": "bytes_in", "D": "took_us", "T": "took_s", "m": "method", "U": "uri", "q": "query", "H": "protocol",
	"v": "server", "V": "virtual_host", "p": "port", "P": "pid", "k": "keepalive", "X": "connection", "f": "file", "R": "handler", "L": "log_id", "A": "local_ip",
	"{c}a": "peer_ip", "{sec}t": "sec", "{begin:sec}t": "sec", "{msec}t": "millisec", "{begin:msec}t": "millisec", "{usec}t": "usec", "{begin:usec}t": "usec",
	"{%d/%b/%Y:%H:%M:%S %z}t": "time_local", "{%Y-%m-%dT%H:%M:%S%z}t": "time_iso8601",
}

var (
	apacheDirective = regexp.MustCompile(`%[!0-9,]*[<>]?(\{[^}]*\})?(\^[A-Z]{2}|\^[a-z]{2}|[A-Za-z%])`)
	nginxPieces     = regexp.MustCompile(`'\s*'`)
)

// logFormat returns the format of a log_format of nginx ($remote_addr …), a LogFormat of Apache (%h …) or a format string of Envoy
// (%START_TIME% …), as it stands in their configuration.
func logFormat(o *Options) (*format, error) {
	template := strings.NewReplacer(`\"`, `"`, `\t`, "\t").Replace(strings.TrimSuffix(strings.TrimSpace(o.LogFormat), `\n`))
	if strings.HasPrefix(template, "'") {
		template = strings.Trim(nginxPieces.ReplaceAllString(template, ""), "'")
	}
	var err error
	written, isEnvoy := layoutOptions{backslash: true, decoder: unescape}, envoyOperator.MatchString(template)
	switch {
	case isEnvoy:
		written = layoutOptions{decoder: verbatim}
		template, err = fromEnvoy(template)
	case !strings.Contains(template, "$"):
		template, err = fromApache(template)
	}
	if err != nil {
		return nil, err
	}
	l := newLayout(template, written)
	f := &format{name: customName, sorted: true, looks: like("")}
	f.cutter = func(*Options) cutter { return newLayout(template, l.layoutOptions) }
	for i := 1; i < len(l.fields); i++ {
		if l.fields[i].before == "" {
			return nil, optionError("log format", "nothing stands between %s and %s, so that one cannot be told from the other", l.fields[i-1].name, l.fields[i].name)
		}
	}
	for _, t := range timeFields {
		if f.time == "" && l.has(t.name) {
			f.time, f.timeForm = t.name, t.form
			if t.took != "" && l.has(t.took) {
				f.took, f.tookForm = t.took, seconds
			}
		}
	}
	if f.time == "" {
		return nil, optionError("log format", "there is no time: must have one of $msec, $time_iso8601, $time_local, %%t, %%START_TIME%%")
	}
	f.hosts = hostFields
	if isEnvoy {
		f.hosts, f.hostForm = envoyHosts, lastOf
	}
	f.hosts = slices.DeleteFunc(slices.Clone(f.hosts), func(name string) bool { return !l.has(name) })
	for _, t := range targetFields {
		if f.targets == nil && l.has(t.name) {
			f.targets, f.pathForm = []string{t.name}, t.form
		}
	}
	f.method, f.agent = l.first(methodFields), l.first(agentFields)
	if len(f.hosts) == 0 {
		f.key = l.fields[0].name
	}
	if len(f.hosts) == 0 && (o.Key == "" || o.Key == KeyHost || o.Key == KeyHostPath) {
		return nil, optionError("key", "the log format has no $remote_addr, %%h, %%a or %%REQ(X-FORWARDED-FOR)%%: must name a field: %s", strings.Join(l.names(), ", "))
	}
	return f, nil
}

// fromApache writes a LogFormat with the names of fields. A header or a cookie has its own name.
func fromApache(text string) (template string, err error) {
	template = apacheDirective.ReplaceAllStringFunc(text, func(directive string) string {
		parts := apacheDirective.FindStringSubmatch(directive)
		argument, letter := parts[1], parts[2]
		name, known := apacheFields[argument+letter]
		switch {
		case known && letter == "t" && argument == "":
			return "[$" + name + "]"
		case known:
			return "${" + name + "}"
		case letter == "%":
			return "%"
		case letter == "t", argument == "", !fieldName.MatchString(strings.Trim(argument, "{}")):
			if err == nil {
				err = optionError("log format", "%s is not known", directive)
			}
			return ""
		}
		return "$" + argument
	})
	return template, err
}

var fieldName = regexp.MustCompile(`^[A-Za-z0-9_.:-]+$`)

var (
	envoyOperator = regexp.MustCompile(`%([A-Z][A-Z0-9_]+)(?:\(([^)]*)\))?(?::\d+)?%`)
	envoyRequest  = regexp.MustCompile(`%REQ\(:METHOD\)% %REQ\([^)]*:PATH\)(?::\d+)?% %PROTOCOL%`)
)

// envoyFields are the operators of Envoy that have a name here. Any other is called by its own name in lower case.
var envoyFields = map[string]string{
	"REQ(USER-AGENT)": "user_agent", "REQ(X-FORWARDED-FOR)": "x_forwarded_for", "REQ(X-REQUEST-ID)": "request_id",
	"REQ(:AUTHORITY)": "authority", "REQ(:METHOD)": "method", "REQ(:PATH)": "request_uri", "REQ(X-ENVOY-ORIGINAL-PATH?:PATH)": "request_uri",
	"START_TIME": "start_time", "START_TIME(%s)": "sec", "START_TIME(%s.%3f)": "msec", "START_TIME(%s.%6f)": "msec", "START_TIME(%s.%9f)": "msec",
	"START_TIME(%s%3f)": "millisec", "START_TIME(%s%6f)": "usec", "START_TIME(%Y-%m-%dT%H:%M:%S%z)": "time_iso8601",
	"START_TIME(%Y-%m-%dT%H:%M:%S.%3fZ)": "time_iso8601", "START_TIME(%d/%b/%Y:%H:%M:%S %z)": "time_local",
}

// fromEnvoy writes a format string with the names of fields. A header of a request has its own name in lower case, one of a response
// follows "resp.", and what other operators take follows their name and a point.
func fromEnvoy(text string) (template string, err error) {
	text = envoyRequest.ReplaceAllString(text, "$${request}")
	template = envoyOperator.ReplaceAllStringFunc(text, func(operator string) string {
		parts := envoyOperator.FindStringSubmatch(operator)
		name, argument := parts[1], parts[2]
		if argument != "" {
			name += "(" + argument + ")"
		}
		known, is := envoyFields[name]
		switch {
		case is:
			return "${" + known + "}"
		case parts[1] == "START_TIME":
			err = optionError("log format", "%s is not known", operator)
			return ""
		case parts[1] == "REQ":
			return "${" + strings.ToLower(argument) + "}"
		case argument != "":
			return "${" + strings.ToLower(parts[1]+"."+argument) + "}"
		}
		return "${" + strings.ToLower(name) + "}"
	})
	return template, err
}
