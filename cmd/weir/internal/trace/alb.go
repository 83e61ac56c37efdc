package trace

import "bytes"

// albLog reads the access log of an AWS Application Load Balancer. Its fields are separated by one space, and those that may hold
// spaces are quoted:
//
//	type time elb client:port target:port 3 times, 2 status codes, 2 sizes "request" "user agent" cipher protocol group
//	"trace id" "domain" "certificate" priority request_creation_time "actions" …
//
// request_creation_time is when the request was received; time, when the answer was sent, is not used. Any fields may
// follow, since AWS adds some from time to time. An entry without request_creation_time, as they were before 2018, is refused.
//
// The host is the address of the client without its port; an IPv6 address stands in brackets or, as a rule, does not. The path is
// that of the URL in the request, behind its scheme and host. What would disturb the line is written as \xHH.
type albLog struct {
	key     Key
	text    []byte // scratch for a key that does not stand in the line as it is
	client  []byte
	request []byte
	device  []byte // the user agent
}

// The places of the fields that are used, counted from 0.
const (
	albClient  = 3
	albRequest = 12
	albAgent   = 13
	albCreated = 21
)

const (
	reasonField   = "there are too few fields, or one is neither a word nor a closed quote"
	reasonCreated = "request_creation_time is not a date, or not in its place"
	reasonPort    = "the client is not address:port"
)

func (a *albLog) parse(line []byte, f *fields) (reason string) {
	first := max(0, bytes.IndexByte(line, ' '))
	rest := line[first:]
	var field []byte
	for i := 1; i <= albCreated; i++ {
		var ok bool
		if field, rest, ok = cutField(rest); !ok {
			return reasonField
		}
		switch i {
		case albClient:
			a.client = field
		case albRequest:
			a.request = field
		case albAgent:
			a.device = field
		}
	}
	created, reason := parseStamp(field)
	if reason == reasonStampForm {
		return reasonCreated
	}
	if reason != "" {
		return reason
	}
	if !areFields(rest) {
		return reasonExtra
	}
	f.cost = 1
	if f.at, reason = created.at(); reason != "" {
		return reason
	}
	if a.client, reason = cutPort(a.client); reason != "" {
		return reason
	}
	f.key, reason = keyOf(a.key, a, &a.text)
	return reason
}

func (a *albLog) host() ([]byte, string) { return a.client, "" }

func (a *albLog) path() ([]byte, string) {
	request, ok := unescape(a.request)
	if !ok {
		return nil, reasonRequest
	}
	path, reason := requestPath(request)
	if reason != "" {
		return nil, reason
	}
	if _, behind, isURL := bytes.Cut(path, []byte("://")); isURL {
		slash := bytes.IndexByte(behind, '/')
		if slash < 0 {
			return nil, reasonPathNone
		}
		path = behind[slash:]
	}
	return path, ""
}

func (a *albLog) agent() ([]byte, string) {
	agent, ok := unescape(a.device)
	switch {
	case !ok:
		return nil, reasonAgent
	case len(agent) == 0:
		return nil, reasonNoAgent
	}
	return agent, ""
}

// cutField cuts a space and what follows it, a closed quote or a word without quotes, off the front of b.
func cutField(b []byte) (field, rest []byte, ok bool) {
	if field, rest, ok = cutQuoted(b); ok {
		return field, rest, len(rest) == 0 || rest[0] == ' '
	}
	field, rest = cutWord(b)
	return field, rest, len(field) > 0 && bytes.IndexByte(field, '"') < 0
}

// cutPort returns the address of address:port, out of its brackets.
func cutPort(client []byte) (address []byte, reason string) {
	colon := bytes.LastIndexByte(client, ':')
	if colon <= 0 || !areDigits(client[colon+1:]) {
		return nil, reasonPort
	}
	address = client[:colon]
	if address[0] == '[' {
		if address = address[1:]; len(address) < 2 || address[len(address)-1] != ']' {
			return nil, reasonPort
		}
		address = address[:len(address)-1]
	}
	return address, ""
}

// looksALB reports whether a line begins with one of the types of ALB.
func looksALB(line []byte) bool {
	first, rest, _ := bytes.Cut(line, []byte(" "))
	switch string(first) {
	case "http", "https", "h2", "grpcs", "ws", "wss":
		return looksStamp(rest)
	}
	return false
}
