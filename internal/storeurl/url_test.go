package storeurl

import (
	"reflect"
	"strings"
	"testing"
)

func TestURLsLeadWhereTheySay(t *testing.T) {
	one := func(address string) []string { return []string{address} }
	for text, want := range map[string]URL{
		"memory://":                        {memory: true},
		"redis://h":                        {addresses: one("h:6379")},
		"redis://h/":                       {addresses: one("h:6379")},
		"redis://h:1/15":                   {shown: "redis://h:1/15", addresses: one("h:1"), db: 15},
		"redis://:p@h:65535":               {shown: "redis://h:65535", addresses: one("h:65535"), password: "p"},
		"redis://u:p%40%3a%2F%23@h/1":      {shown: "redis://h/1", addresses: one("h:6379"), user: "u", password: "p@:/#", db: 1},
		"redis://u:p@p@[::1]:7/2147483647": {shown: "redis://[::1]:7/2147483647", addresses: one("[::1]:7"), user: "u", password: "p@p", db: 2147483647},
		"rediss://u:p@h.example:1":         {shown: "rediss://h.example:1", addresses: one("h.example:1"), tlsName: "h.example", user: "u", password: "p"},
		"rediss://[::1]":                   {addresses: one("[::1]:6379"), tlsName: "::1"},
		"unix:///run/r.sock":               {addresses: one("/run/r.sock")},
		"unix://u:p@/run/r%20s?db=3":       {shown: "unix:///run/r%20s?db=3", addresses: one("/run/r s"), user: "u", password: "p", db: 3},
		"valkey://u:p@h:1/2":               {shown: "valkey://h:1/2", addresses: one("h:1"), user: "u", password: "p", db: 2},
		"valkeys://h":                      {addresses: one("h:6379"), tlsName: "h"},
		"valkey-unix:///v?db=0":            {addresses: one("/v")},

		"redis-sentinel://h1,h2/main":                 {addresses: []string{"h1:26379", "h2:26379"}, primary: "main"},
		"redis-sentinel://h/main":                     {addresses: one("h:26379"), primary: "main"},
		"redis-sentinel://u:p@h1:1,[::1]:2/my-main/3": {shown: "redis-sentinel://h1:1,[::1]:2/my-main/3", addresses: []string{"h1:1", "[::1]:2"}, primary: "my-main", user: "u", password: "p", db: 3},
		"rediss-sentinel://h1,h2,h3/main":             {addresses: []string{"h1:26379", "h2:26379", "h3:26379"}, primary: "main"},
		"valkey-sentinel://:p%2C%2f@h1,h2/main/":      {shown: "valkey-sentinel://h1,h2/main/", addresses: []string{"h1:26379", "h2:26379"}, primary: "main", password: "p,/"},
		"valkeys-sentinel://h1,h2/main":               {addresses: []string{"h1:26379", "h2:26379"}, primary: "main"},
		"redis-cluster://h1,h2":                       {addresses: []string{"h1:6379", "h2:6379"}},
		"redis-cluster://h1:1,h2:2/":                  {addresses: []string{"h1:1", "h2:2"}},
		"rediss-cluster://u:a,b@h1,h2:7":              {shown: "rediss-cluster://h1,h2:7", addresses: []string{"h1:6379", "h2:7"}, user: "u", password: "a,b"},
		"valkey-cluster://h":                          {addresses: one("h:6379")},
		"valkeys-cluster://u:p@h":                     {shown: "valkeys-cluster://h", addresses: one("h:6379"), user: "u", password: "p"},
	} {
		if want.shown == "" {
			want.shown = text
		}
		name, _, _ := strings.Cut(text, "://")
		want.scheme = schemes[name]
		got, err := Parse(text)
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
			continue
		}
		if got.InMemory() != want.memory || got.Sharded() != strings.Contains(name, "cluster") || (got.tlsConfig(&Options{}) != nil) != (strings.HasPrefix(name, "rediss") || strings.HasPrefix(name, "valkeys")) {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// TestURLsOfRefusedServersAreGuarded: what may be a password is not shown.
func TestURLsOfRefusedServersAreGuarded(t *testing.T) {
	const secret = "s3cret"
	for _, text := range []string{
		"redis-sentinel://:s3cret@h1,h2", "redis-sentinel://h1,:s3cret@h2/x", "redis-sentinel://h1:1,u:s3cret@h2/x", "redis-sentinel://u:s3cret@h1,u:s3cret@h2/x",
		"redis-sentinel://h1,h2/x?password=s3cret", "redis-cluster://:s3cret@h1:1,h2:x", "redis-cluster://u:s3cret@h1,h2/1", "redis-cluster://u:/s3cret@h1,h2",
		"valkey-cluster://u:s3cret%@h1,h2", "rediss-cluster://u:,s3cret@", "redis-cluster://h1,h2#s3cret", "redis-cluster://u:a,s3cret", "redis-cluster://a,u:s3cret",
	} {
		u, err := Parse(text)
		if err == nil && strings.Contains(u.String(), secret) || err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v, %v", text, u, err)
		}
	}
}

func TestMemoryHasNoServer(t *testing.T) {
	u, err := Parse(Memory)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Connect(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "no server") {
		t.Errorf("connected with memory: %v", err)
	}
}
