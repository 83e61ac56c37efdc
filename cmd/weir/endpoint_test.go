package main

import (
	"strings"
	"testing"
)

func TestOtherStoreURLsAreWrongUsage(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 `"" is not a store: must be memory://`,
		"memory":                           `"memory" is not a store: must be memory://, redis://`,
		"memory://x":                       `"memory://x" is not a store: must be memory://`,
		"MEMORY://":                        `"MEMORY://" is not a store`,
		"h:6379":                           `"h:6379" is not a store`,
		"redis:h":                          `"redis:h" is not a store`,
		"redis:/h":                         `"redis:/h" is not a store`,
		"http://h":                         `"http://h" is not a store: must be memory://, redis://[[USER]:PASSWORD@]HOST[:PORT][/DB], rediss://… with TLS`,
		"redis+unix:///s":                  `"redis+unix:///s" is not a store`,
		"redis://":                         `"redis://" has no host: must be HOST[:PORT]`,
		"redis://:1":                       `"redis://:1" has no host`,
		"redis://h:0":                      `"redis://h:0" has no such port: must be 1 to 65535`,
		"redis://h:65536":                  `"redis://h:65536" has no such port: must be 1 to 65535`,
		"redis://h:port":                   `"redis://…" cannot be read`,
		"redis://h/x":                      `"redis://h/x" has no such database: must be a whole number from 0 to 2147483647`,
		"redis://h/-1":                     `"redis://h/-1" has no such database`,
		"redis://h/1/2":                    `"redis://h/1/2" has no such database`,
		"redis://h/2147483648":             `"redis://h/2147483648" has no such database`,
		"redis://h?db=1":                   `"redis://h?…" has a query: must be without; the database is /DB`,
		"redis://h?":                       `"redis://h?…" has a query`,
		"redis://h#1":                      `"redis://h#…" cannot be read`,
		"redis://u@h":                      `"redis://…@h" has no password: must be USER:PASSWORD@, :PASSWORD@ or nothing before the host`,
		"redis://@h":                       `"redis://…@h" has no password`,
		"unix://":                          `"unix://" has no absolute path: must be unix:///PATH`,
		"unix:///":                         `"unix:///" has no absolute path`,
		"unix://run/r.sock":                `"unix://run/r.sock" has no absolute path: must be unix:///PATH`,
		"valkey-unix://v":                  `"valkey-unix://v" has no absolute path: must be valkey-unix:///PATH`,
		"unix:///r?db=1&db=2":              `"unix:///r?…" has another query than a database: must be ?db=DB or nothing`,
		"unix:///r?x=1":                    `"unix:///r?…" has another query`,
		"unix:///r?db=x":                   `"unix:///r?…" has no such database`,
		"redis-sentinel://h1,h2":           `"redis-sentinel://h1,h2" does not name the primary: must be redis-sentinel://HOST[:PORT],…/PRIMARY[/DB]`,
		"redis-sentinel://h1,h2/":          `"redis-sentinel://h1,h2/" does not name the primary`,
		"redis-sentinel://h1,h2//1":        `"redis-sentinel://h1,h2//1" does not name the primary`,
		"valkeys-sentinel://h1,h2/x/y":     `"valkeys-sentinel://h1,h2/x/y" has no such database`,
		"redis-sentinel://h1:1,h2:2/x?a=b": `"redis-sentinel://h1:1,h2:2/x?…" has a query`,
		"redis-sentinel://h1,,h2/x":        `"redis-sentinel://h1,,h2/x" has no host`,
		"redis-sentinel://,h2/x":           `"redis-sentinel://,h2/x" has no host`,
		"redis-cluster://h1,h2:0":          `"redis-cluster://h1,h2:0" has no such port`,
		"redis-cluster://h1,h2:x":          `"redis-cluster://…" has a host that cannot be read`,
		"redis-cluster://h1,h2/1":          `"redis-cluster://h1,h2/1" has a path: must be without; a cluster has one database`,
		"rediss-cluster://u@h1,h2":         `"rediss-cluster://…@h1,h2" has no password`,
		"valkey-cluster://":                `"valkey-cluster://" has no host`,
		"redis://h1,h2:1,h3":               `"redis://h1,h2:1,h3" has several hosts: must have one, or begin with …-sentinel:// or …-cluster://`,
		"sentinel://h1/x":                  `"sentinel://h1/x" is not a store`,
	} {
		got := start("replay", "--limit", "gcra:1/1s", "--store", text, "no such file")
		if got.status != exitUsage || got.out != "" || !strings.HasPrefix(got.err, "weir: --store: "+want) {
			t.Errorf("%s: status %d, %s%s", text, got.status, got.out, got.err)
		}
	}
}

func TestPasswordsAreNotEchoed(t *testing.T) {
	const secret = "s3cret"
	for _, text := range []string{
		"redis://u:s3cret@h:0", "redis://:s3cret@h/x", "redis://:s3cret@", "http://u:s3cret@h", "redis:s3cret@h", "u:s3cret@h", "s3cret@redis://h",
		"redis://u:/s3cret@h", "redis://u:1/s3cret@h", "redis://u:1?s3cret@h", "redis://u:1#s3cret@h", "redis://u:s3cret", "redis://u:s3cret/1",
		"redis://u:x@s3cret@h:x", "redis://u:x@/s3cret@h", "redis://u:%s3cret@h", "redis://u:s3cret%@h", "redis://u:s3cret\x00@h", "redis://u:s3cret @h",
		"redis://h?password=s3cret", "redis://u:p@h?password=s3cret", "redis://u:p@h?password=@s3cret", "unix://u:s3cret@run/r", "unix:///r?password=s3cret",
		"unix:///r#s3cret", "redis-sentinel://:s3cret@h1,h2/x/y", "redis-cluster://:s3cret@h1:1,h2:2/1", "redis-cluster://h1:1,:s3cret@h2:0",
		"redis://s3cret@h",
	} {
		got := start("replay", "--limit", "gcra:1/1s", "--store", text, "-")
		if got.status != exitUsage || strings.Contains(got.out+got.err, secret) {
			t.Errorf("%q: status %d, %s", text, got.status, got.err)
		}
	}
}

func TestPrefixIsForServers(t *testing.T) {
	for _, c := range []struct{ store, prefix, want string }{
		{"memory://", "p:", `--prefix: "p:" is for a server: must be left out with memory://`},
		{"memory://", "", `--prefix: "" is for a server`},
		{"redis://h", "", `--prefix: "" is not allowed: must be 1 to 200 bytes of UTF-8 without braces`},
		{"redis://h", "a{b", `--prefix: "a{b" is not allowed`},
		{"valkey://h", "a}", `--prefix: "a}" is not allowed`},
		{"redis://h", "a\xff", "is not allowed"},
		{"unix:///r", strings.Repeat("x", 201), "is not allowed: must be 1 to 200 bytes"},
	} {
		got := start("compare", "--limit", "gcra:1/1s", "--limit", "gcra:2/1s", "--store", c.store, "--prefix", c.prefix, "no such file")
		if got.status != exitUsage || got.out != "" || !strings.Contains(got.err, c.want) {
			t.Errorf("%+v: status %d, %s%s", c, got.status, got.out, got.err)
		}
	}
}
