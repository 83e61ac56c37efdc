package config

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// write makes a configuration in a folder with the files that it may name.
func write(t *testing.T, text string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{
		"weir.yaml": text, "secret": "0123456789abcdef\n", "short": "0123\n", "password": "p@ss word", "empty": "",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(folder, "weir.yaml")
}

// TestWrongConfigurations holds the errors of the configurations of a file against what is
// written below each.
func TestWrongConfigurations(t *testing.T) {
	const golden = "testdata/wrong.txt"
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for i, part := range strings.Split(string(text), "=== ") {
		if i == 0 {
			got.WriteString(part)
			continue
		}
		name, rest, _ := strings.Cut(part, "\n")
		input, _, _ := strings.Cut(rest, "--- ")
		source := Source{Flags: map[string]string{}}
		var yaml strings.Builder
		for line := range strings.Lines(input) {
			if pair, is := strings.CutPrefix(line, "$ "); is {
				source.Environment = append(source.Environment, strings.TrimSpace(pair))
			} else if pair, is := strings.CutPrefix(line, "-- "); is {
				path, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
				source.Flags[path] = value
			} else {
				yaml.WriteString(line)
			}
		}
		source.File = write(t, yaml.String())
		_, err := Load(source)
		if wrong := (*Error)(nil); !errors.As(err, &wrong) {
			t.Errorf("%s: %v: want an *Error", name, err)
		}
		shown := strings.ReplaceAll(fmt.Sprint(err), filepath.Dir(source.File)+"/", "")
		fmt.Fprintf(&got, "=== %s\n%s--- error\n%s\n", name, input, shown)
	}
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got.String() != string(text) {
		t.Errorf("%s has other errors: go test -update, and look at the difference:\n%s", golden, got.String())
	}
}

func TestDefaults(t *testing.T) {
	c, err := Load(Source{})
	if err != nil {
		t.Fatal(err)
	}
	if !c.URL().InMemory() || c.Listen.HTTP != "127.0.0.1:8080" || c.Listen.GRPC != "127.0.0.1:8081" || c.Listen.Admin != "127.0.0.1:6070" ||
		c.Shutdown.Drain != 5*time.Second || c.Shutdown.Timeout != 30*time.Second || c.Store.Prefix != "w" {
		t.Errorf("%+v", c)
	}
}

// whole is a configuration with every field.
const whole = `
version: 1
insecure: true
listen: {grpc: "0.0.0.0:1", http: "0.0.0.0:2", admin: "[::1]:3"}
tls: {cert_file: cert.pem, key_file: /key.pem, client_ca_file: ca.pem}
store:
  url: redis://user@127.0.0.1:6379/2
  password_file: password
  sentinel_user: s
  sentinel_password_file: password
  prefix: "app:"
  timeout: 50ms
  max_keys: 7
on_failure: local
local: {share: 3, max_keys: 9}
breaker: {window: 1s, min_calls: 2, failure_percent: 30, slow_call: 4ms, open_for: 5s, probes: 6}
denycache: {max_entries: 8, any_cost: true}
lease: {units: 10, max_share_percent: 11, life: 2s, max_keys: 13}
limits: {api: "gcra:100/1m"}
policy: {file: policy.yaml, refresh: 3s}
secret_file: secret
rls:
  files: [a.yaml, /b.yaml]
  charge: exact
  shadow: true
  quota: true
  headers: {limit: X-Limit, remaining: X-Remaining, reset: X-Reset}
  dynamic_metadata: true
  merge_domains: true
  strict: true
gubernator: {enabled: true, zone: Europe/Berlin}
auth: {file: callers.yaml}
tenants:
  acme: {policy: {key: acme}, prefix: "a:", on_failure: open, limits: {api: "gcra:5/1m"}, self_limits: {checks: "gcra:1/1s"}}
self_limits: {checks: unlimited, reads: "fixed-window:2/1m", writes: "fixed-window:3/1m"}
idempotency: {ttl: 1m}
audit: {folder: audit, days: 30, key_file: secret}
ui: {show_keys: true}
log: {key_hash: true}
tracing: {endpoint: "https://collector:4317", sample: 0.25, spans: true}
shutdown: {drain: 0s, timeout: 10s}
`

func TestEveryFieldIsRead(t *testing.T) {
	file := write(t, whole)
	c, err := Load(Source{File: file})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(file)
	for what, is := range map[string]bool{
		"relative path": c.TLS.CertFile == filepath.Join(folder, "cert.pem"), "absolute path": c.TLS.KeyFile == "/key.pem",
		"list of paths": slices.Equal(c.RLS.Files, []string{filepath.Join(folder, "a.yaml"), "/b.yaml"}),
		"secret":        string(c.Secret()) == "0123456789abcdef",
		"password":      c.Secrets().Password == "p@ss word" && c.Secrets().SentinelPassword == "p@ss word",
		"url":           c.URL().String() == "redis://127.0.0.1:6379/2",
		"limit":         len(c.NamedLimits()) == 1 && c.NamedLimits()[0].Name == "api",
		"tenant":        c.Tenants["acme"].Prefix == "a:" && c.Tenants["acme"].Policy.Key == "acme" && len(c.Tenants["acme"].limits) == 1,
		"drain":         c.Shutdown.Drain == 0 && c.Shutdown.Timeout == 10*time.Second,
		"tracing":       *c.Tracing == Tracing{"https://collector:4317", 0.25, true},
		"breaker":       *c.Breaker == Breaker{time.Second, 2, 30, 4 * time.Millisecond, 5 * time.Second, 6},
		"denycache":     *c.DenyCache == DenyCache{8, true},
		"lease":         *c.Lease == Lease{10, 11, 2 * time.Second, 13},
		"rls": c.RLS.Charge == "exact" && c.RLS.Shadow && c.RLS.Quota && c.RLS.DynamicMetadata && c.RLS.MergeDomains && c.RLS.Strict &&
			*c.RLS.Headers == RLSHeaders{"X-Limit", "X-Remaining", "X-Reset"},
		"zone":  c.Gubernator.Zone == "Europe/Berlin",
		"ui":    c.UI.ShowKeys,
		"log":   c.Log.KeyHash,
		"audit": c.Audit.Days == 30 && string(c.Audit.Key()) == "0123456789abcdef",
		"local": c.Local == Local{3, 9}, "store": c.Store.Timeout == 50*time.Millisecond && c.Store.MaxKeys == 7,
	} {
		if !is {
			t.Errorf("%s is not what the file says: %+v", what, c)
		}
	}
	for _, path := range Paths() {
		leaf := path[strings.LastIndexByte(path, '.')+1:]
		if !strings.Contains(whole, leaf+":") && leaf != "key" && leaf != "ca_file" {
			t.Errorf("%s is not in the test of every field", path)
		}
	}
}

func TestFlagsCountMoreThanVariablesAndVariablesMoreThanTheFile(t *testing.T) {
	file := write(t, "version: 1\nlisten: {grpc: 127.0.0.1:1, http: 127.0.0.1:2, admin: 127.0.0.1:3}\n")
	_, err := Load(Source{
		File:        file,
		Environment: []string{"WEIR_LISTEN_HTTP=127.0.0.1:20", "WEIR_LISTEN_ADMIN=127.0.0.1:30", "WEIR_SHUTDOWN_DRAIN=7s", "WEIR_DENYCACHE_MAX_ENTRIES=9", "WEIR_PORT=tcp://10.0.0.1:1", "PATH=/bin"},
		Flags:       map[string]string{"listen.admin": "127.0.0.1:300", "store.max_keys": "5"},
	})
	var wrong *Error
	if !errors.As(err, &wrong) || len(wrong.Fields) != 1 || wrong.Fields[0].Path != "denycache" {
		t.Fatalf("%v: want the error of a denycache in front of memory", err)
	}
	c, err := Load(Source{
		File:        file,
		Environment: []string{"WEIR_LISTEN_HTTP=127.0.0.1:20", "WEIR_LISTEN_ADMIN=127.0.0.1:30", "WEIR_SHUTDOWN_DRAIN=7s", "WEIR_PORT=tcp://10.0.0.1:1"},
		Flags:       map[string]string{"listen.admin": "127.0.0.1:300", "store.max_keys": "5"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != (Listen{"127.0.0.1:1", "127.0.0.1:20", "127.0.0.1:300"}) || c.Shutdown.Drain != 7*time.Second || c.Store.MaxKeys != 5 {
		t.Errorf("%+v", c)
	}
}

// TestHeadersHaveTheirUsualNames: those that are not given.
func TestHeadersHaveTheirUsualNames(t *testing.T) {
	c, err := Load(Source{File: write(t, "version: 1\nrls: {files: [a.yaml], headers: {reset: X-Reset}}\n")})
	if err != nil {
		t.Fatal(err)
	}
	if want := (RLSHeaders{"RateLimit-Limit", "RateLimit-Remaining", "X-Reset"}); *c.RLS.Headers != want {
		t.Errorf("%+v, want %+v", *c.RLS.Headers, want)
	}
}

func TestAFileThatIsNotThereIsAnError(t *testing.T) {
	if _, err := Load(Source{File: filepath.Join(t.TempDir(), "weir.yaml")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v: want ErrNotExist", err)
	}
}

// TestTheReferenceHasEveryField holds the table of the page against the fields.
func TestTheReferenceHasEveryField(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/service.md")
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(page), "## gRPC")
	for _, path := range append(Paths(), "limits", "tenants") {
		if !strings.Contains(table, "`"+path+"`") {
			t.Errorf("docs/reference/service.md has no row for %s", path)
		}
	}
	for _, name := range []string{"policy", "prefix", "on_failure", "limits", "self_limits"} {
		if !strings.Contains(table, "`"+name+"`") {
			t.Errorf("docs/reference/service.md says nothing of %s of a tenant", name)
		}
	}
}
