package trace

import (
	"bytes"
	"regexp"
	"strings"
)

// format is one way to write a trace. A field is named as the cutter of the format names it.
type format struct {
	name   string
	sorted bool // by time unless told otherwise
	cutter func(o *Options) cutter
	looks  *regexp.Regexp // of a line that was meant for this format, also where it cannot be used; nil: never detected

	time     string // the field of the time
	timeForm timeForm
	took     string // the field of how long the request took, which is subtracted from the time; "" for none
	tookForm timeForm

	only      string // a field that says which lines are requests, where it is there
	isRequest func(text []byte) bool

	// The fields of an access log. Where one of several is wanted, the first that is not empty counts.
	hosts    []string
	hostForm part
	targets  []string
	pathForm part
	method   string // "": of the request line, where there is one
	agent    string

	key  string // what the key is by default; "" is the host, and one key for all in CSV
	cost string // the field of the cost; "" is 1
}

// cutter cuts lines into fields. It is given all lines that are not blank, in order.
type cutter interface {
	// want says which fields are wanted, before the first line. A name that no line has is an error, where that is known.
	want(names []string) error
	// cut puts the wanted fields of a line into values, as they are written and in the order of want; one that is absent stays
	// nil. They may share memory with the line. It returns why the line cannot be used, or isHeader where it is no request.
	cut(line []byte, values [][]byte) (reason string)
	// text decodes a value, or returns what is wrong with it.
	text(value []byte) (text []byte, fault string)
}

// headed is a cutter of a format whose first line that is not blank is a header. It is given that line before all others, and
// returns an error where the trace cannot be read with it.
type headed interface {
	header(line []byte) error
}

// isHeader is what a cutter returns for a line of the format that is no request.
const isHeader = "it is no request"

const (
	auto    = "auto"
	csvName = "csv"
)

// The templates of formats that are lines of text.
const (
	clfTemplate      = `$host $ident $user [$time] "$request" $status $bytes`
	combinedTemplate = clfTemplate + ` "$referer" "$user_agent"`
	albTemplate      = `$type $time $elb $client $target $request_processing_time $target_processing_time $response_processing_time ` +
		`$elb_status_code $target_status_code $received_bytes $sent_bytes "$request" "$user_agent" $ssl_cipher $ssl_protocol ` +
		`$target_group_arn "$trace_id" "$domain_name" "$chosen_cert_arn" $matched_rule_priority $request_creation_time`
	envoyTemplate = `[$start_time] "$request" $response_code $response_flags $bytes_received $bytes_sent $duration ` +
		`$upstream_service_time "$x_forwarded_for" "$user_agent" "$request_id" "$authority" "$upstream_host"`
	istioTemplate = `[$start_time] "$request" $response_code $response_flags $response_code_details $connection_termination_details ` +
		`"$upstream_transport_failure_reason" $bytes_received $bytes_sent $duration $upstream_service_time "$x_forwarded_for" "$user_agent" ` +
		`"$request_id" "$authority" "$upstream_host" $upstream_cluster $upstream_local_address $downstream_local_address ` +
		`$downstream_remote_address $requested_server_name $route_name`
	elbTemplate = `$timestamp $elb $client $backend $request_processing_time $backend_processing_time $response_processing_time ` +
		`$elb_status_code $backend_status_code $received_bytes $sent_bytes "$request" "$user_agent" $ssl_cipher $ssl_protocol`
	haproxyTemplate = `$client [$accept_date] $frontend $backend $timers $status_code $bytes_read $request_cookie $response_cookie ` +
		`$termination_state $connections $queues $captures"$request"`
)

// realTimeFields are the fields of a real-time log of CloudFront that has all of them, in their order.
var realTimeFields = strings.Fields(`timestamp c-ip s-ip time-to-first-byte sc-status sc-bytes cs-method cs-protocol cs-host cs-uri-stem cs-bytes
	x-edge-location x-edge-request-id x-host-header time-taken cs-protocol-version c-ip-version cs-user-agent cs-referer cs-cookie cs-uri-query
	x-edge-response-result-type x-forwarded-for ssl-protocol ssl-cipher x-edge-result-type fle-encrypted-fields fle-status sc-content-type
	sc-content-len sc-range-start sc-range-end c-port x-edge-detailed-result-type c-country cs-accept-encoding cs-accept
	cache-behavior-path-pattern cs-headers cs-header-names cs-headers-count primary-distribution-id primary-distribution-dns-name origin-fbl
	origin-lbl asn`)

// text returns the cutter of a template.
func text(template string, o layoutOptions) func(*Options) cutter {
	return func(*Options) cutter { return newLayout(template, o) }
}

// table returns the cutter of columns.
func table(separator string, decode decoder, fixed []string) func(*Options) cutter {
	return func(*Options) cutter { return &columns{separator: separator, decoder: decode, fixed: fixed} }
}

func jsonObject(*Options) cutter { return &object{} }

var seconds = decimal(6, "seconds")

// formats is the table of all formats. Where one is a special case of another it stands before it: see detect.
//
// CSV is never detected: its header tells neither which column is the time nor what unit that has, and a guess that is
// wrong would give a report that looks right.
var formats = []format{
	{
		// One JSON object a line, {"at_us":1700000000000000,"key":"user:1","cost":1}. The numbers are written in digits: a fraction or an
		// exponent shows that a number went through a float, which may have rounded it.
		name: "jsonl", cutter: jsonObject, looks: like(`^\s*\{`),
		time: "at_us", timeForm: wholeMicros, key: "key", cost: "cost",
	},
	{
		// The Combined Log Format of Apache and nginx. More fields may follow, since servers are often told to add some.
		name: "combined", sorted: true, looks: like(` \[.*\] "`),
		cutter: text(combinedTemplate, layoutOptions{backslash: true, more: true, decoder: unescape}),
		time:   "time", timeForm: date,
		hosts: []string{"host"}, targets: []string{"request"}, pathForm: requestPath, agent: "user_agent",
	},
	{
		// The Common Log Format. A combined line is a good line of it too; one that was cut off inside quotes is neither.
		name: "clf", sorted: true, looks: like(` \[.*\] "`),
		cutter: text(clfTemplate, layoutOptions{backslash: true, more: true, decoder: unescape}),
		time:   "time", timeForm: date,
		hosts: []string{"host"}, targets: []string{"request"}, pathForm: requestPath,
	},
	{
		// A log_format of nginx that is a JSON object made with escape=json, whose members are named like the variables that they hold.
		// $request_uri is what the client asked for; $uri is decoded and rewritten by nginx.
		name: "nginx-json", sorted: true, cutter: jsonObject, looks: like(`^\s*\{.*"msec"`),
		time: "msec", timeForm: quotedOr(seconds), took: "request_time", tookForm: quotedOr(seconds),
		hosts: []string{"remote_addr"}, targets: []string{"request_uri", "uri"}, pathForm: cutQuery, method: "request_method", agent: "http_user_agent",
	},
	{
		// The JSON access log of Caddy 2. Its ts is when the request ended, in seconds or as a date, and duration is in seconds: so
		// duration_format must be the default, and another gives durations that are too long to be true.
		name: "caddy", sorted: true, cutter: jsonObject, looks: like(`^\s*\{.*"request" *: *\{`),
		only: "logger", isRequest: isCaddyAccess,
		time: "ts", timeForm: quotedOr(stampOr(seconds)), took: "duration", tookForm: quotedOr(seconds),
		hosts: []string{"request.client_ip", "request.remote_ip", "request.remote_addr"}, targets: []string{"request.uri"}, pathForm: cutQuery,
		method: "request.method", agent: "request.headers.User-Agent",
	},
	{
		// The access log of an AWS Application Load Balancer. request_creation_time is when the request was received; time, when the
		// answer was sent, is not used. An entry without it, as they were before 2018, is refused. AWS adds fields from time to time.
		name: "alb", sorted: true, looks: like(`^(?:https?|h2|grpcs|wss?) \d{4}-\d\d-\d\d`),
		cutter: text(albTemplate, layoutOptions{backslash: true, loose: true, more: true, decoder: unescape}),
		time:   "request_creation_time", timeForm: stamp,
		hosts: []string{"client"}, hostForm: cutPort, targets: []string{"request"}, pathForm: urlPath, agent: "user_agent",
	},
	{
		// The standard log of AWS CloudFront. date and time are when the answer was finished, in UTC and in whole seconds. time-taken is
		// not subtracted, since most of it would be lost in the seconds. What the client had encoded was encoded once more, and so
		// stays encoded: %2520 is %20.
		name: "cloudfront", sorted: true, looks: like(`^#Fields:.*x-edge-location|^#Version:`), cutter: table("\t", percentDecode, nil),
		time: "date time", timeForm: stamp,
		hosts: []string{"c-ip"}, targets: []string{"cs-uri-stem"}, method: "cs-method", agent: "cs(User-Agent)",
	},
	{
		// The default format of Envoy. It escapes nothing, so that a quote inside a field makes a bad line: which fields it would shift
		// is up to the client. The host is the last address of x-forwarded-for: the one from which this Envoy, or the proxy
		// before it where Envoy does not append one, has received the request. A client can make up those before it.
		name: "envoy", sorted: true, looks: like(`^\[\d{4}-\d\d-\d\dT`), cutter: text(envoyTemplate, layoutOptions{decoder: verbatim}),
		time: "start_time", timeForm: stamp,
		hosts: []string{"x_forwarded_for"}, hostForm: lastOf, targets: []string{"request"}, pathForm: requestPath, agent: "user_agent",
	},
	{
		// The JSON access log of Envoy as Istio has it. A connection that is no HTTP has no method, and is no request. Where there was no
		// x-forwarded-for, the host is the address that connected.
		name: "istio-json", sorted: true, cutter: jsonObject, looks: like(`^\s*\{.*"downstream_remote_address"`),
		only: "method", isRequest: func(method []byte) bool { return len(method) > 0 && string(method) != "-" },
		time: "start_time", timeForm: quotedOr(stamp),
		hosts: []string{"x_forwarded_for", "downstream_remote_address"}, hostForm: lastOf, targets: []string{"path"}, pathForm: cutQuery, method: "method", agent: "user_agent",
	},
	{
		// The text access log of Envoy as Istio has it.
		name: "istio", sorted: true, looks: like(`^\[\d{4}-\d\d-\d\dT`), cutter: text(istioTemplate, layoutOptions{decoder: verbatim}),
		time: "start_time", timeForm: stamp,
		hosts: []string{"x_forwarded_for", "downstream_remote_address"}, hostForm: lastOf, targets: []string{"request"}, pathForm: requestPath,
		agent: "user_agent",
	},
	{
		// The access log of an AWS Classic Load Balancer. The time is when the request was received.
		name: "elb", sorted: true, looks: like(`^\d{4}-\d\d-\d\dT\S+Z .*://`),
		cutter: text(elbTemplate, layoutOptions{backslash: true, decoder: unescape}),
		time:   "timestamp", timeForm: stamp,
		hosts: []string{"client"}, hostForm: cutPort, targets: []string{"request"}, pathForm: urlPath, agent: "user_agent",
	},
	{
		// The real-time log of AWS CloudFront with all of its fields. timestamp is when the answer was finished.
		name: "cloudfront-realtime", sorted: true, looks: like(`^(?:[^\t]*\t){40}`), cutter: table("\t", percentDecode, realTimeFields),
		time: "timestamp", timeForm: seconds, took: "time-taken", tookForm: seconds,
		hosts: []string{"c-ip"}, targets: []string{"cs-uri-stem"}, method: "cs-method", agent: "cs-user-agent",
	},
	{
		// The W3C Extended Log Format of IIS, with its #Fields line. date and time are when the request was done, in UTC and in whole
		// seconds. IIS writes + for a space in a user agent, and nothing else is encoded.
		name: "w3c", sorted: true, looks: like(`^#Fields:|^#Software:`), cutter: table(" ", verbatim, nil),
		time: "date time", timeForm: stamp,
		hosts: []string{"c-ip"}, targets: []string{"cs-uri-stem"}, method: "cs-method", agent: "cs(User-Agent)",
	},
	{
		// The HTTP log of HAProxy (option httplog), mostly in syslog. The time is when the request was accepted, in the zone of the
		// server, which no line tells: it is taken for UTC.
		name: "haproxy", sorted: true, looks: like(` \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d\.\d{3}\] `),
		cutter: text(haproxyTemplate, layoutOptions{more: true, decoder: hashDecode}),
		time:   "accept_date", timeForm: localDate,
		hosts: []string{"client"}, hostForm: cutPort, targets: []string{"request"}, pathForm: requestPath,
	},
	{
		// The JSON access log of Traefik. In the Common Log Format its log is a combined one.
		name: "traefik", sorted: true, cutter: jsonObject, looks: like(`^\s*\{.*"(?:StartUTC|ClientHost)"`),
		time: "StartUTC", timeForm: quotedOr(stamp),
		hosts: []string{"ClientHost"}, targets: []string{"RequestPath"}, pathForm: cutQuery, method: "RequestMethod", agent: "request_User-Agent",
	},
	{
		name: csvName, sorted: true, cutter: newCSV,
	},
}

func newCSV(o *Options) cutter {
	rows := &csvRows{decoder: verbatim, options: []string{"time column"}, values: []byte{}}
	if o.CostColumn != "" {
		rows.options = append(rows.options, "cost column")
	}
	for _, s := range o.settlement() {
		rows.options = append(rows.options, s.option)
	}
	return rows
}

func like(pattern string) *regexp.Regexp { return regexp.MustCompile(pattern) }

// isCaddyAccess reports whether a logger of Caddy is one of its access logs. What its proxy and its errors say of a request has the
// same members.
func isCaddyAccess(logger []byte) bool {
	return string(logger) == "http.log.access" || bytes.HasPrefix(logger, []byte("http.log.access."))
}

// timeUnits are the units that Options.TimeUnit knows, and how times of them are read.
var timeUnits = map[string]timeForm{
	"": stampOr(decimal(6, "seconds, and no date such as 2006-01-02T15:04:05.9Z")), "s": seconds,
	"ms": decimal(3, "milliseconds"), "us": decimal(0, "microseconds"), "ns": decimal(-3, "nanoseconds"),
}

// Formats returns the names that Options.Format knows, in the order in which help should show them.
func Formats() []string {
	names := []string{auto}
	for i := range formats {
		names = append(names, formats[i].name)
	}
	return names
}
