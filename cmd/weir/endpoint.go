package main

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

const memoryURL = "memory://"

// storeForms are the store URLs that there are.
const storeForms = memoryURL + ", redis://[[USER]:PASSWORD@]HOST[:PORT][/DB], rediss://… with TLS, unix://[[USER]:PASSWORD@]/PATH[?db=DB], " +
	"or the same with Valkey's own client: valkey://…, valkeys://…, valkey-unix://…"

// schemes are what the URL of a server begins with.
var schemes = map[string]struct{ valkey, unix, tls bool }{
	"redis":       {},
	"rediss":      {tls: true},
	"unix":        {unix: true},
	"valkey":      {valkey: true},
	"valkeys":     {valkey: true, tls: true},
	"valkey-unix": {valkey: true, unix: true},
}

const defaultPort = "6379"

// endpoint is where a store URL leads.
type endpoint struct {
	shown  string // the URL without user and password
	server bool   // and not memory: then the rest is set

	valkey         bool   // whether the client library is that of Valkey
	network        string // tcp or unix
	address        string
	tlsName        string // the name in the server's certificate; "" without TLS
	user, password string
	db             int
}

// flag is what a command line needs to come here again: "" for memory.
func (e *endpoint) flag() string {
	if !e.server {
		return ""
	}
	return " --store " + shellWord(e.shown)
}

// parseStoreURL reads a store URL: exactly one of storeForms. Its error names
// the URL, but nothing of it that could be a password.
func parseStoreURL(text string) (*endpoint, error) {
	e, wrong := readStoreURL(text)
	if wrong != "" {
		return nil, usageError{fmt.Errorf("--store: %q %s", guarded(text), wrong)}
	}
	return e, nil
}

func readStoreURL(text string) (e *endpoint, wrong string) {
	if text == memoryURL {
		return &endpoint{shown: memoryURL}, ""
	}
	name, _, is := strings.Cut(text, "://")
	if strings.HasSuffix(name, "-sentinel") || strings.HasSuffix(name, "-cluster") {
		return nil, "is not supported yet, neither Sentinel nor Cluster: must be " + storeForms
	}
	scheme, known := schemes[name]
	if !is || !known {
		return nil, "is not a store: must be " + storeForms
	}
	u, err := url.Parse(text) // whose error holds the password
	if err != nil || strings.Contains(text, "#") {
		return nil, "cannot be read; what is special in a URL is written %XX in a password: must be " + storeForms
	}
	e = &endpoint{server: true, valkey: scheme.valkey, user: u.User.Username()}
	e.password, _ = u.User.Password()
	if u.User != nil && e.password == "" {
		return nil, "has no password: must be USER:PASSWORD@, :PASSWORD@ or nothing before the host"
	}
	if scheme.unix {
		wrong = e.readUnix(u)
	} else {
		wrong = e.readTCP(u)
	}
	if scheme.tls {
		e.tlsName = u.Hostname()
	}
	u.User = nil
	e.shown = u.String()
	return e, wrong
}

// readTCP reads HOST[:PORT][/DB].
func (e *endpoint) readTCP(u *url.URL) (wrong string) {
	host, port := u.Hostname(), u.Port()
	if host == "" {
		return "has no host: must be HOST[:PORT]"
	}
	if port == "" {
		port = defaultPort
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "has no such port: must be 1 to 65535"
	}
	if u.RawQuery != "" || u.ForceQuery {
		return "has a query: must be without; the database is /DB"
	}
	e.network, e.address = "tcp", net.JoinHostPort(host, port)
	return e.readDB(strings.TrimPrefix(u.Path, "/"))
}

// readUnix reads /PATH[?db=DB].
func (e *endpoint) readUnix(u *url.URL) (wrong string) {
	if u.Host != "" || len(u.Path) < 2 {
		return "has no absolute path: must be " + u.Scheme + ":///PATH"
	}
	e.network, e.address = "unix", u.Path
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || u.ForceQuery || len(query) > 1 || len(query) == 1 && len(query["db"]) != 1 {
		return "has another query than a database: must be ?db=DB or nothing"
	}
	return e.readDB(query.Get("db"))
}

func (e *endpoint) readDB(text string) (wrong string) {
	if text == "" {
		return ""
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return "has no such database: must be a whole number from 0 to 2147483647"
	}
	e.db = int(n)
	return ""
}

// guarded returns a URL that was refused as an error may show it. A password is
// not always where it belongs: what might be one is left out.
func guarded(text string) string {
	name, rest, is := strings.Cut(text, "://")
	u, err := url.Parse(text)
	switch at := strings.Count(text, "@"); {
	case !is && at > 0, strings.Contains(name, "@"):
		return "…"
	case !is:
		return text
	case err != nil, at > 1, at == 1 && u.User == nil:
		return name + "://…"
	case at == 1:
		_, rest, _ = strings.Cut(rest, "@")
		rest = "…@" + rest
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i+1] + "…"
	}
	return name + "://" + rest
}
