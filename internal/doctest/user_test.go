package doctest

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/valkey-io/valkey-go"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	redisstore "github.com/weirgo/weir/store/redis"
	"github.com/weirgo/weir/store/script"
	valkeystore "github.com/weirgo/weir/store/valkey"
)

// documentedUser is the ACL rule of docs/guides/servers.md, without its commands,
// and those.
func documentedUser(t *testing.T) (rule string, commands []string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "guides", "servers.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`ACL SETUSER app (.*)\n`).FindStringSubmatch(string(page))
	if found == nil {
		t.Fatal("docs/guides/servers.md shows no user")
	}
	for word := range strings.FieldsSeq(strings.ReplaceAll(found[1], "'", "")) {
		if strings.HasPrefix(word, "+") {
			commands = append(commands, word)
		} else {
			rule += " " + word
		}
	}
	return "app" + rule, commands
}

// The user of the guide can do all that a store does, with either library.
func TestDocumentedUserIsEnough(t *testing.T) {
	rule, commands := documentedUser(t)
	cfg := &servertest.Config{Users: []string{rule + " " + strings.Join(commands, " ")}}
	servertest.Each(t, cfg, func(t *testing.T, server *servertest.Server) {
		r := redis.NewClient(&redis.Options{Addr: server.Addr(), Username: "app", Password: "secret"})
		defer r.Close()
		v, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{server.Addr()}, Username: "app", Password: "secret", DisableCache: true})
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		for name, s := range map[string]*script.Store{
			"go-redis":  must(redisstore.New(r, nil)),
			"valkey-go": must(valkeystore.New(v, nil)),
		} {
			if report, err := s.Check(context.Background()); err != nil || len(report.Warnings) != 1 {
				t.Errorf("%s: %+v, error %v; want a warning for want of INFO", name, report, err)
			}
			useAll(t, name, s)
			s.Close()
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// useAll makes a store use every command: logs that change in each way they can,
// single ops and several, looks, compare-and-set, Reset.
func useAll(t *testing.T, name string, s store.Store) {
	t.Helper()
	ctx := context.Background()
	var ops []store.Op
	for _, spec := range []string{"gcra:9/1s", "sliding-log:9/1us", "sliding-log:1000/1h", "token-bucket:7/3s"} {
		a := algorithm.Must(algorithm.ParseSpec(spec))
		ops = append(ops, store.Op{Slot: store.Slot{Key: "user", Limit: spec[len(spec)-3:], Algorithm: a}})
	}
	elsewhere := store.Op{Slot: store.Slot{Key: "user", Algorithm: renamed{ops[0].Algorithm}}}
	calls := [][]store.Op{ops, append(slices.Clone(ops), elsewhere), {elsewhere}}
	for i := range ops {
		calls = append(calls, ops[i:i+1])
	}
	for cost := range int64(4) {
		for _, call := range calls {
			for i := range call {
				call[i].Request.Cost = cost
			}
			if _, _, err := s.Apply(ctx, call); err != nil {
				t.Errorf("%s: apply: %v", name, err)
			}
			if _, err := s.Peek(ctx, call); err != nil {
				t.Errorf("%s: peek: %v", name, err)
			}
		}
	}
	for _, op := range append(ops, elsewhere) {
		if err := s.Reset(ctx, []store.Slot{op.Slot}); err != nil {
			t.Errorf("%s: reset: %v", name, err)
		}
	}
}

// renamed is an algorithm without a script.
type renamed struct{ algorithm.Algorithm }

func (r renamed) Spec() algorithm.Spec {
	spec := r.Algorithm.Spec()
	spec.Kind = "elsewhere/1"
	return spec
}

// There is nothing in it that could be left out: Check misses it.
func TestDocumentedUserIsTheSmallest(t *testing.T) {
	rule, commands := documentedUser(t)
	var users []string
	for i, left := range commands {
		// Each command is left out of the rule of a user named for it.
		others := strings.Join(slices.Delete(slices.Clone(commands), i, i+1), " ")
		users = append(users, strings.Replace(rule, "app", "no"+left[1:], 1)+" "+others)
	}
	servertest.Each(t, &servertest.Config{Users: users}, func(t *testing.T, server *servertest.Server) {
		for _, left := range commands {
			client := redis.NewClient(&redis.Options{Addr: server.Addr(), Username: "no" + left[1:], Password: "secret"})
			s := must(redisstore.New(client, nil))
			if _, err := s.Check(context.Background()); err == nil || !strings.Contains(strings.ToLower(err.Error()), left[1:]) {
				t.Errorf("without %s Check says %v", left, err)
			}
			s.Close()
			client.Close()
		}
	})
}
