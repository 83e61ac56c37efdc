package doctest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir/internal/servertest"
	redisstore "github.com/weirgo/weir/store/redis"
)

// productionLines are the lines of the blocks of configuration of docs/operate/production.md:
// for a server alone, and for one with replicas.
func productionLines(t *testing.T) (alone, replicas []string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "operate", "production.md"))
	if err != nil {
		t.Fatal(err)
	}
	var blocks [][]string
	for i, part := range strings.Split(string(page), "```") {
		text, isConfiguration := strings.CutPrefix(part, "conf\n")
		if i%2 == 0 || !isConfiguration {
			continue
		}
		var lines []string
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
		blocks = append(blocks, lines)
	}
	if len(blocks) != 2 {
		t.Fatalf("the page has %d blocks of configuration, want 2", len(blocks))
	}
	return blocks[0], blocks[1]
}

// configured returns the configuration of a server with these lines, and the values by
// name.
func configured(lines []string) (cfg *servertest.Config, values map[string]string) {
	cfg, values = &servertest.Config{}, map[string]string{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, " ")
		if name == "user" {
			cfg.Users = append(cfg.Users, value)
			continue
		}
		cfg.Args = append(cfg.Args, "--"+name, value)
		values[name] = value
	}
	return cfg, values
}

// checkValues compares the settings of a server with what was configured.
func checkValues(t *testing.T, server *servertest.Server, values map[string]string) {
	t.Helper()
	bytes := map[string]string{"2gb": "2147483648", "64mb": "67108864"}
	for name, want := range values {
		if name == "maxclients" {
			continue // a server lowers it where a process may open fewer files
		}
		if in, is := bytes[want]; is {
			want = in
		}
		if got, _ := server.Do("CONFIG", "GET", name).([]any); len(got) != 2 || got[1] != want {
			t.Errorf("%s is %v, want %s", name, got, want)
		}
	}
}

// TestProductionConfigurationServesLimits: both servers start with the lines of the page, and
// the user of the page does all that a store does, with nothing to warn of.
func TestProductionConfigurationServesLimits(t *testing.T) {
	alone, _ := productionLines(t)
	cfg, values := configured(alone)
	servertest.Each(t, cfg, func(t *testing.T, server *servertest.Server) {
		checkValues(t, server, values)
		client := redis.NewClient(&redis.Options{Addr: server.Addr(), Username: "app", Password: "secret"})
		defer client.Close()
		s := must(redisstore.New(client, nil))
		defer s.Close()
		if report, err := s.Check(context.Background()); err != nil || len(report.Warnings) != 0 {
			t.Errorf("%+v, error %v; want no warning", report, err)
		}
		useAll(t, "go-redis", s)
		if n := server.Do("DBSIZE"); n != int64(0) {
			t.Errorf("%v keys are left after every Reset", n)
		}
		stranger := redis.NewClient(&redis.Options{Addr: server.Addr()})
		defer stranger.Close()
		if err := stranger.Ping(context.Background()).Err(); err == nil {
			t.Error("the default user is not off")
		}
	})
}

// TestProductionConfigurationKnowsTheLinesOfReplicas: the settings have these names and values
// on both servers.
func TestProductionConfigurationKnowsTheLinesOfReplicas(t *testing.T) {
	_, replicas := productionLines(t)
	cfg, values := configured(replicas)
	servertest.Each(t, cfg, func(t *testing.T, server *servertest.Server) { checkValues(t, server, values) })
}
