// Package storeurl reads the URL of a store and connects with the servers that it
// names: one server, a primary that Sentinels watch, or a cluster, through go-redis or
// valkey-go.
package storeurl

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Memory is the URL of a store in memory, which has no servers.
const Memory = "memory://"

// Forms are the store URLs that there are, for messages.
const Forms = Memory + ", redis://[[USER]:PASSWORD@]HOST[:PORT][/DB], rediss://… with TLS, unix://[[USER]:PASSWORD@]/PATH[?db=DB], " +
	"redis-sentinel://[[USER]:PASSWORD@]HOST[:PORT],…/PRIMARY[/DB], redis-cluster://[[USER]:PASSWORD@]HOST[:PORT],…, rediss-sentinel://… and rediss-cluster://… with TLS, " +
	"or the same with Valkey's own client: valkey://…, valkeys://…, valkey-unix://…, valkey-sentinel://…, valkeys-sentinel://…, valkey-cluster://…, valkeys-cluster://…"

// topology is how servers stand together.
type topology int

const (
	single topology = iota
	unix            // a single server at a socket
	sentinel
	cluster
)

// scheme is what the URL of a server begins with.
type scheme struct {
	valkey, tls bool
	topology    topology
}

var schemes = map[string]scheme{
	"redis":            {},
	"rediss":           {tls: true},
	"unix":             {topology: unix},
	"redis-sentinel":   {topology: sentinel},
	"rediss-sentinel":  {tls: true, topology: sentinel},
	"redis-cluster":    {topology: cluster},
	"rediss-cluster":   {tls: true, topology: cluster},
	"valkey":           {valkey: true},
	"valkeys":          {valkey: true, tls: true},
	"valkey-unix":      {valkey: true, topology: unix},
	"valkey-sentinel":  {valkey: true, topology: sentinel},
	"valkeys-sentinel": {valkey: true, tls: true, topology: sentinel},
	"valkey-cluster":   {valkey: true, topology: cluster},
	"valkeys-cluster":  {valkey: true, tls: true, topology: cluster},
}

const (
	defaultPort         = "6379"
	defaultSentinelPort = "26379"
)

// URL is a store URL that was read.
type URL struct {
	shown  string // without user and password
	memory bool   // then the rest is not set

	scheme
	addresses      []string // of servers, Sentinels or nodes of a cluster; the path of a socket
	tlsName        string   // the name in the certificate of a single server
	primary        string   // what Sentinels call the primary
	user, password string   // for the servers
	db             int
}

// String returns the URL without user and password.
func (u *URL) String() string { return u.shown }

// InMemory reports whether the URL is Memory.
func (u *URL) InMemory() bool { return u.memory }

// Sharded reports whether keys lie on several servers: only keys with one hash tag can
// be taken together.
func (u *URL) Sharded() bool { return u.topology == cluster }

// Parse reads a store URL: exactly one of Forms. Its error names the URL, but nothing of
// it that could be a password.
func Parse(text string) (*URL, error) {
	if text == Memory {
		return &URL{shown: Memory, memory: true}, nil
	}
	u, wrong := read(text)
	if wrong != "" {
		return nil, fmt.Errorf("%q %s", Guard(text), wrong)
	}
	return u, nil
}

func read(text string) (u *URL, wrong string) {
	name, _, is := strings.Cut(text, "://")
	scheme, known := schemes[name]
	if !is || !known {
		return nil, "is not a store: must be " + Forms
	}
	before, hosts, after := splitHosts(text)
	if scheme.topology != sentinel && scheme.topology != cluster {
		hosts = []string{strings.Join(hosts, ",")}
	}
	if strings.Contains(hosts[0], ",") {
		return nil, "has several hosts: must have one, or begin with …-sentinel:// or …-cluster://"
	}
	first, err := url.Parse(before + hosts[0] + after) // whose error holds the password
	if err != nil || strings.Contains(text, "#") {
		return nil, "cannot be read; what is special in a URL is written %XX in a password: must be " + Forms
	}
	u = &URL{scheme: scheme, user: first.User.Username()}
	u.password, _ = first.User.Password()
	if first.User != nil && u.password == "" {
		return nil, "has no password: must be USER:PASSWORD@, :PASSWORD@ or nothing before the host"
	}
	if scheme.topology == unix {
		wrong = u.readSocket(first)
	} else {
		wrong = u.readServers(first, hosts)
	}
	first.User = nil
	u.shown = first.String()
	if len(hosts) > 1 {
		u.shown = name + "://" + strings.Join(hosts, ",") + after
	}
	return u, wrong
}

// splitHosts cuts the hosts out of a URL, without user and password.
func splitHosts(text string) (before string, hosts []string, after string) {
	start := strings.Index(text, "://") + len("://")
	end := len(text)
	if i := strings.IndexAny(text[start:], "/?#"); i >= 0 {
		end = start + i
	}
	if i := strings.LastIndexByte(text[start:end], '@'); i >= 0 {
		start += i + 1
	}
	return text[:start], strings.Split(text[start:end], ","), text[end:]
}

// readServers reads HOST[:PORT],… and what follows.
func (u *URL) readServers(first *url.URL, hosts []string) (wrong string) {
	port := defaultPort
	if u.topology == sentinel {
		port = defaultSentinelPort
	}
	for i, host := range hosts {
		one := first
		if i > 0 {
			var err error
			if one, err = url.Parse(first.Scheme + "://" + host); err != nil {
				return "has a host that cannot be read: must be HOST[:PORT]"
			}
		}
		address, err := addressOf(one, port)
		if err != nil {
			return err.Error()
		}
		u.addresses = append(u.addresses, address)
	}
	if u.tls && u.topology == single {
		u.tlsName = first.Hostname()
	}
	if first.RawQuery != "" || first.ForceQuery {
		return "has a query: must be without; the database is /DB"
	}
	path := strings.TrimPrefix(first.Path, "/")
	switch u.topology {
	case cluster:
		if path != "" {
			return "has a path: must be without; a cluster has one database"
		}
		return ""
	case sentinel:
		name, db, _ := strings.Cut(path, "/")
		if name == "" {
			return "does not name the primary: must be " + first.Scheme + "://HOST[:PORT],…/PRIMARY[/DB]"
		}
		u.primary, path = name, db
	}
	return u.readDB(path)
}

func addressOf(u *url.URL, defaultPort string) (string, error) {
	host, port := u.Hostname(), u.Port()
	if host == "" {
		return "", errors.New("has no host: must be HOST[:PORT]")
	}
	if port == "" {
		port = defaultPort
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", errors.New("has no such port: must be 1 to 65535")
	}
	return net.JoinHostPort(host, port), nil
}

// readSocket reads /PATH[?db=DB].
func (u *URL) readSocket(one *url.URL) (wrong string) {
	if one.Host != "" || len(one.Path) < 2 {
		return "has no absolute path: must be " + one.Scheme + ":///PATH"
	}
	u.addresses = []string{one.Path}
	query, err := url.ParseQuery(one.RawQuery)
	if err != nil || one.ForceQuery || len(query) > 1 || len(query) == 1 && len(query["db"]) != 1 {
		return "has another query than a database: must be ?db=DB or nothing"
	}
	return u.readDB(query.Get("db"))
}

func (u *URL) readDB(text string) (wrong string) {
	if text == "" {
		return ""
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return "has no such database: must be a whole number from 0 to 2147483647"
	}
	u.db = int(n)
	return ""
}

// Guard returns a URL that was refused as an error may show it. A password is not
// always where it belongs: what might be one is left out.
func Guard(text string) string {
	name, rest, is := strings.Cut(text, "://")
	if !is && strings.Contains(text, "@") || strings.Contains(name, "@") {
		return "…"
	} else if !is {
		return text
	}
	before, hosts, after := splitHosts(text)
	u, err := url.Parse(before + hosts[0] + after)
	for _, host := range hosts[1:] {
		_, wrong := url.Parse("x://" + host)
		err = errors.Join(err, wrong)
	}
	switch at := strings.Count(text, "@"); {
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
