package config

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // so that a name of a zone means the same on every machine

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/document/words"
	"github.com/weirgo/weir/internal/storeurl"
)

// add refuses a field of a configuration whose values have the right types.
func (d *decoder) add(path, value, problem, allowed string) {
	d.refuse(d.at(path), FieldError{Path: path, Value: value, Problem: problem, Allowed: allowed})
}

func (d *decoder) given(path string) bool { _, is := d.places[path]; return is }

// check refuses what no service can do, and reads the secrets.
func (d *decoder) check(c *Config) {
	if c.Version != FormatVersion {
		value := ""
		if d.given("version") {
			value = strconv.Itoa(c.Version)
		}
		problem := ""
		if value == "" {
			problem = "missing"
		}
		d.add("version", value, problem, strconv.Itoa(FormatVersion))
	}
	d.checkListen(c)
	d.checkStore(c)
	d.checkResilience(c)
	c.limits = d.checkLimits("limits", c.Limits)
	d.checkPolicy("policy", c.Policy, c)
	d.checkTenants(c)
	d.checkSelfLimits("self_limits", c.SelfLimits)
	if c.SecretFile != "" {
		c.secret = d.secret("secret_file", c.SecretFile, 16)
	}
	if c.Auth != nil && c.Auth.File == "" {
		d.add("auth.file", "", "missing", "the file with the callers")
	}
	if a := c.Audit; a != nil {
		if a.Folder == "" {
			d.add("audit.folder", "", "missing", "the folder of the log")
		}
		d.within("audit.days", a.Days, 0, 36500)
		if a.KeyFile != "" {
			a.key = d.secret("audit.key_file", a.KeyFile, 16)
		}
	}
	d.checkFronts(c)
	d.checkTracing(c.Tracing)
	if ttl := c.Idempotency.TTL; ttl != 0 && (ttl < time.Second || ttl > 24*time.Hour-time.Second || ttl%time.Microsecond != 0) {
		d.add("idempotency.ttl", ttl.String(), "", "1s to 23h59m59s in whole µs")
	}
	if t := c.Shutdown.Timeout; t == 0 || t > time.Hour {
		d.add("shutdown.timeout", t.String(), "", "above 0s, to 1h")
	}
	if t := c.Shutdown.Drain; t > time.Hour {
		d.add("shutdown.drain", t.String(), "", "0s to 1h")
	}
}

func (d *decoder) checkFronts(c *Config) {
	if r := c.RLS; r != nil {
		if len(r.Files) == 0 {
			d.add("rls.files", "", "missing", "the files of Envoy's rate limit service")
		}
		d.oneOf("rls.charge", r.Charge, "", "upstream", "exact")
		d.checkHeaders(r.Headers)
	}
	if g := c.Gubernator; g != nil {
		d.zone(g.Zone)
	}
}

// checkHeaders fills in the names that are not given.
func (d *decoder) checkHeaders(h *RLSHeaders) {
	if h == nil {
		return
	}
	seen := map[string]string{}
	for _, n := range []struct {
		path, usual string
		name        *string
	}{
		{"rls.headers.limit", "RateLimit-Limit", &h.Limit},
		{"rls.headers.remaining", "RateLimit-Remaining", &h.Remaining},
		{"rls.headers.reset", "RateLimit-Reset", &h.Reset},
	} {
		*n.name = cmp.Or(*n.name, n.usual)
		if !words.IsToken(*n.name) {
			d.add(n.path, *n.name, "", "the name of a header, such as "+n.usual)
		}
		lower := strings.ToLower(*n.name)
		if other, twice := seen[lower]; twice {
			d.add(n.path, *n.name, "that of "+other, "another name than the others have")
		}
		seen[lower] = n.path
	}
}

func (d *decoder) zone(name string) {
	_, err := algorithm.LoadZone(name)
	if refused := (*algorithm.ParameterError)(nil); errors.As(err, &refused) {
		d.add("gubernator.zone", name, "", refused.Allowed)
	}
}

func (d *decoder) within(path string, n, least, most int) {
	if n < least || n > most {
		d.add(path, strconv.Itoa(n), "", fmt.Sprintf("%d to %d", least, most))
	}
}

func (d *decoder) oneOf(path, value string, words ...string) {
	if slices.Contains(words, value) {
		return
	}
	problem := ""
	if value == "" {
		problem = "missing"
	}
	shown := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" })
	d.add(path, value, problem, strings.Join(shown[:len(shown)-1], ", ")+" or "+shown[len(shown)-1])
}

func (d *decoder) secret(path, name string, least int) []byte {
	text, err := readFile(name)
	if err != nil {
		d.add(path, name, err.Error(), "a file that can be read")
		return nil
	}
	text = []byte(strings.TrimRight(string(text), "\r\n"))
	if len(text) < least {
		d.add(path, name, strconv.Itoa(len(text))+" bytes long", "a file with "+strconv.Itoa(least)+" bytes or more")
	}
	return text
}

func (d *decoder) checkListen(c *Config) {
	for _, l := range []struct{ path, address string }{
		{"listen.grpc", c.Listen.GRPC}, {"listen.http", c.Listen.HTTP}, {"listen.admin", c.Listen.Admin},
	} {
		host, port, err := net.SplitHostPort(l.address)
		if _, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil {
			d.add(l.path, l.address, "", "HOST:PORT, such as 127.0.0.1:8080")
			continue
		}
		if c.Auth == nil && !c.Insecure && !loopback(host) {
			d.add(l.path, l.address, "listens beyond loopback without auth", "a loopback address; or set auth; or, where the network is trusted, insecure: true")
		}
	}
	t := c.TLS
	if t == nil {
		return
	}
	if t.CertFile == "" {
		d.add("tls.cert_file", "", "missing", "the file of the certificate")
	}
	if t.KeyFile == "" {
		d.add("tls.key_file", "", "missing", "the file of the key")
	}
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}

var failureModes = []string{"closed", "open", "local"}

func (d *decoder) checkStore(c *Config) {
	text := c.Store.URL
	if c.Store.PasswordFile != "" && text != storeurl.Memory {
		c.store.Password = string(d.secret("store.password_file", c.Store.PasswordFile, 1))
		with, err := withPassword(text, c.store.Password)
		if err != nil {
			d.add("store.password_file", c.Store.PasswordFile, err.Error(), "left out, or the password for the user of store.url")
			return
		}
		text = with
	}
	url, err := storeurl.Parse(text)
	if err != nil {
		d.add("store.url", "", err.Error(), "")
		return
	}
	c.url = url
	memory := url.InMemory()
	modes := failureModes
	if memory {
		modes = append(slices.Clone(modes), "")
	}
	if c.OnFailure == "" && !memory {
		d.refuse(d.at("store.url"), FieldError{Path: "on_failure", Problem: "missing: nobody but you knows what to answer while the server does not",
			Allowed: "closed (refuse), open (admit without counting) or local (count in each process)"})
	} else {
		d.oneOf("on_failure", c.OnFailure, modes...)
	}
	if p := c.Store.Prefix; p == "" || len(p) > 100 || strings.ContainsAny(p, "{}") {
		d.add("store.prefix", p, "", "1 to 100 bytes without braces")
	}
	if t := c.Store.Timeout; t > time.Minute {
		d.add("store.timeout", t.String(), "", "0s (100ms) to 1m")
	}
	d.within("store.max_keys", c.Store.MaxKeys, 1, 1<<40)
	for _, f := range [][2]string{{"store.password_file", c.Store.PasswordFile}, {"store.ca_file", c.Store.CAFile}, {"store.sentinel_password_file", c.Store.SentinelPasswordFile}} {
		if memory && f[1] != "" {
			d.add(f[0], f[1], "a store in memory has no server", "left out")
		}
	}
	if c.Store.SentinelPasswordFile != "" {
		c.store.SentinelPassword = string(d.secret("store.sentinel_password_file", c.Store.SentinelPasswordFile, 1))
	}
	if c.Store.CAFile != "" {
		c.store.CA = d.secret("store.ca_file", c.Store.CAFile, 1)
		if len(c.store.CA) > 0 && !x509.NewCertPool().AppendCertsFromPEM(c.store.CA) {
			d.add("store.ca_file", c.Store.CAFile, "no certificate is in it", "a file with certificates in PEM")
		}
	}
}

func (d *decoder) checkResilience(c *Config) {
	d.within("local.share", c.Local.Share, 1, 1_000_000)
	d.within("local.max_keys", c.Local.MaxKeys, 1, 1<<40)
	memory := c.url != nil && c.url.InMemory()
	for _, part := range []struct {
		path string
		on   bool
	}{{"breaker", c.Breaker != nil}, {"denycache", c.DenyCache != nil}, {"lease", c.Lease != nil}} {
		if part.on && memory {
			d.add(part.path, "", "a store in memory needs none", "left out, or store.url that of a server")
		}
	}
	if l := c.Lease; l != nil {
		d.within("lease.max_share_percent", l.MaxSharePercent, 0, 50)
	}
}

// checkLimits reads limits by name.
func (d *decoder) checkLimits(path string, specs map[string]string) (limits []weir.Limit) {
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		l, err := weir.ParseLimit(name, specs[name])
		if err != nil {
			d.add(join(path, name), specs[name], err.Error(), "a limit, such as gcra:100/1m")
			continue
		}
		limits = append(limits, l)
	}
	return limits
}

func (d *decoder) checkPolicy(path string, p Policy, c *Config) {
	switch {
	case p.File != "" && p.Key != "":
		d.add(join(path, "key"), p.Key, "a policy has one place", "left out, or policy.file left out")
	case p.Key != "" && c.url != nil && c.url.InMemory():
		d.add(join(path, "key"), p.Key, "a store in memory keeps no documents", "left out, or store.url that of a server")
	case p.Key != "" && !words.IsName(p.Key):
		d.add(join(path, "key"), p.Key, "", words.NameAllowed)
	}
	if r := p.Refresh; r != 0 && (r < 10*time.Millisecond || r > time.Hour) {
		d.add(join(path, "refresh"), r.String(), "", "10ms to 1h")
	}
}

func (d *decoder) checkTenants(c *Config) {
	prefixes := map[string]string{"": "the tenant default", RLSPrefix: "rls", GubernatorPrefix: "gubernator"}
	for _, name := range slices.Sorted(maps.Keys(c.Tenants)) {
		t, path := c.Tenants[name], join("tenants", name)
		if !words.IsName(name) {
			d.add(path, name, "", words.NameAllowed)
		}
		t.limits = d.checkLimits(join(path, "limits"), t.Limits)
		d.checkPolicy(join(path, "policy"), t.Policy, c)
		d.oneOf(join(path, "on_failure"), t.OnFailure, append(slices.Clone(failureModes), "")...)
		d.checkSelfLimits(join(path, "self_limits"), t.SelfLimits)
		if t.Prefix == "" && name != DefaultTenant {
			t.Prefix = name + ":"
		}
		if len(t.Prefix) > 100 || strings.ContainsAny(t.Prefix, "{}") {
			d.add(join(path, "prefix"), t.Prefix, "", "at most 100 bytes without braces")
		}
		if other, twice := prefixes[t.Prefix]; twice && (name != DefaultTenant || t.Prefix != "") {
			d.add(join(path, "prefix"), t.Prefix, "that of "+other, "another one than the others have")
		}
		prefixes[t.Prefix] = name
		c.Tenants[name] = t
	}
}

// defaultSample is Tracing.Sample unless it is set.
const defaultSample = 0.01

func (d *decoder) checkTracing(t *Tracing) {
	if t == nil {
		return
	}
	u, err := url.Parse(t.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		problem := ""
		if t.Endpoint == "" {
			problem = "missing"
		}
		d.add("tracing.endpoint", "", problem, "the URL of a collector of OTLP over gRPC without a path, such as http://127.0.0.1:4317; https for TLS")
	}
	if !d.given("tracing.sample") {
		t.Sample = defaultSample
	}
	if !(t.Sample >= 0 && t.Sample <= 1) {
		d.add("tracing.sample", strconv.FormatFloat(t.Sample, 'g', -1, 64), "", "0 to 1")
	}
}

func (d *decoder) checkSelfLimits(path string, s SelfLimits) {
	for _, l := range [][2]string{{"checks", s.Checks}, {"reads", s.Reads}, {"writes", s.Writes}} {
		if l[1] == "" || l[1] == "unlimited" {
			continue
		}
		if _, err := algorithm.ParseSpec(l[1]); err != nil {
			d.add(join(path, l[0]), l[1], err.Error(), "a limit, such as gcra:100/1s, or unlimited")
		}
	}
}
