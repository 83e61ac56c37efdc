package conformance_test

import (
	_ "embed"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/conformance"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
	redisstore "github.com/weirgo/weir/store/redis"
	"github.com/weirgo/weir/store/script"
)

// drops is a token bucket as somebody else might bring it, with a script of his
// own: it has fractions, knows the latest instant, and changes its parameters.
type drops struct{ *algorithm.TokenBucket }

func (d drops) Spec() algorithm.Spec {
	spec := d.TokenBucket.Spec()
	spec.Kind = "drops/1"
	return spec
}

// MaxDebt hides that of the token bucket: the script knows no debt, so drops are no
// algorithm.Charger.
func (drops) MaxDebt() {}

//go:embed testdata/script/drops.lua
var dropsLua string

func newDrops(units int64, per time.Duration, burst int64) drops {
	return drops{algorithm.Must(algorithm.NewTokenBucket(algorithm.Rate{Units: units, Per: per}, burst))}
}

// scriptTestees are a limit and earlier ones, whose fractions are over other
// numbers.
func scriptTestees() (a drops, earlier []algorithm.Algorithm) {
	return newDrops(7, 3*time.Second, 5), []algorithm.Algorithm{newDrops(3, time.Second, 9), newDrops(11, 700*time.Microsecond, 4)}
}

// onServer opens stores on a server, with the scripts that are given.
func onServer(tb testing.TB, server *servertest.Server, scripts ...script.Source) func(clk clock.Clock) store.Store {
	tb.Helper()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	tb.Cleanup(func() { client.Close() })
	return func(clk clock.Clock) store.Store {
		s, err := redisstore.New(client, &redisstore.Options{Clock: clk, Scripts: scripts})
		if err != nil {
			tb.Fatal(err)
		}
		return prefixed{s, ""}
	}
}

func TestScriptHoldsForASoundScript(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		a, earlier := scriptTestees()
		open := onServer(t, server, script.Source{Kind: "drops/1", Lua: dropsLua})
		conformance.TestScript(t, func(_ testing.TB, clk clock.Clock) store.Store { return open(clk) }, serverConfig(server), a, earlier...)
		if keys := server.Do("DBSIZE"); keys != int64(0) {
			t.Errorf("%d keys are left behind", keys)
		}
	})
}

// The scripts themselves are compared with Step in store/script. Here a few histories
// show that sound scripts are found to be sound.
func TestScriptHoldsForTheBuiltInScripts(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		open := onServer(t, server)
		for _, f := range algorithm.Families() {
			t.Run(f.Name, func(t *testing.T) {
				limit := func(rate string) algorithm.Algorithm { return algorithm.Must(algorithm.ParseSpec(f.Name + ":" + rate)) }
				rates := []string{"7/3s", "1000003/24h"}
				if f.Calendar {
					rates = []string{"7/day,zone=Australia/Lord_Howe", "1000003/month,anchor=31"}
				}
				for _, c := range conformance.ScriptChecks(quickConfig(), limit(rates[0]), limit(rates[1])) {
					t.Run(c.Name, func(t *testing.T) { c.Run(t, open) })
				}
			})
		}
	})
}

// brokenScripts are the sound one with one mistake each, and the checks that are
// meant for it.
var brokenScripts = []struct {
	name, old, new string
	meant          []string
}{
	{"a denial is charged", "return false end", "return false, text(last) .. ' 0', 1000 end", []string{"script/alone", "script/shared"}},
	{"one unit too many is admitted", "cost > tokens", "cost > tokens + 1", []string{"script/alone", "script/together", "script/shared"}},
	{"one unit too few is admitted", "cost > tokens", "cost >= tokens", []string{"script/alone", "script/together", "script/shared"}},
	{"what is gained is rounded up", "tokens + gained, part + rest", "tokens + gained + (rest > 0 and 1 or 0), 0", []string{"script/alone", "script/together"}},
	{"what is gained is rounded down", "tokens + gained, part + rest", "tokens + gained, part", []string{"script/alone", "script/together"}},
	{"a fraction is lost", "if part > 0 then", "if false then", []string{"script/alone", "script/together"}},
	{"a fraction over another period is kept as it is", "muldiv(number(c), period, number(d))", "number(c)", []string{"script/alone"}},
	{"a clock that goes back takes the state along", "if cost == 0", "last = now\n  if cost == 0", []string{"script/alone", "script/together", "script/shared"}},
	{"the verdict is right and the state is not", "tokens - cost", "math.max(0, tokens - cost - 1)", []string{"script/alone", "script/together", "script/shared", "script/runs"}},
	{"nothing is charged", "tokens - cost", "tokens", []string{"script/alone", "script/together", "script/shared", "script/runs"}},
	{"a look is written", "if cost == 0 then return true end", "", []string{"script/alone", "script/together"}},
	{"digits are lost", "text(last)", "tostring(last)", []string{"script/alone", "script/together", "script/shared"}},
	{"its own state is refused", "(%d+) (%d+) (%d+) (%d+)", "(%d+) (%d+) (%d+) (%a+)", []string{"script/alone", "script/together"}},
	{"a fraction is never read", "if c then", "if false then", []string{"script/alone"}},
	{"a fresh key is empty", "now, burst, 0", "now, burst - 1, 0", []string{"script/alone", "script/together", "script/shared"}},
	{"an error", "if cost > tokens", "if cost == 4 then error('four') end\n  if cost > tokens", []string{"script/alone", "script/together", "script/shared"}},
	{"a huge cost is small", "if cost > tokens", "if cost >= 9007199254740991 then cost = 1 end\n  if cost > tokens", []string{"script/alone", "script/together"}},
	{"a life time is 0", "last - now + wait + 1", "0", []string{"script/time-to-live"}},
	{"a life time is 2 s short", "last - now + wait + 1", "math.max(0, last - now + wait + 1 - 2000000)", []string{"script/time-to-live"}},
	{"a life time is in milliseconds", "last - now + wait + 1", "math.floor((last - now + wait + 1) / 1000)", []string{"script/time-to-live"}},
	{"a life time has no end", "last - now + wait + 1", "9007199254740991", []string{"script/time-to-live"}},
	{"damage is allowed", "if not a then return nil end", "if not a then return true, text(now) .. ' ' .. text(burst - 1), period end", []string{"script/damage"}},
	{"an op remembers the one before", "local function decide(state,", "local seen\nlocal function decide(state,",
		[]string{"script/together", "script/shared"}},
}

// brokenLua returns the Lua with the mistake.
func brokenLua(t *testing.T, old, new string) string {
	t.Helper()
	if strings.Count(dropsLua, old) != 1 {
		t.Fatalf("%q is not in the script exactly once", old)
	}
	lua := strings.Replace(dropsLua, old, new, 1)
	if strings.Contains(lua, "local seen\n") {
		lua = strings.Replace(lua, "if cost == 0", "if seen then tokens = seen end\n  seen = tokens\n  if cost == 0", 1)
	}
	return lua
}

// At the default depth, with ten seeds where -conformance.runs asks for it.
func TestEachBrokenScriptIsCaughtByTheCheckMeantForIt(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		a, earlier := scriptTestees()
		for i, b := range brokenScripts {
			if testing.Short() && i%2 == 0 == (server.Kind() == servertest.Redis) {
				continue // each mistake on one of the servers
			}
			t.Run(strings.ReplaceAll(b.name, " ", "-"), func(t *testing.T) {
				lua := brokenLua(t, b.old, b.new)
				for n := range uint64(min(*runs, 10)) {
					cfg := serverConfig(server)
					cfg.Histories, cfg.Seed = 100, 1+1000*n
					for _, c := range conformance.ScriptChecks(cfg, a, earlier...) {
						if !slices.Contains(b.meant, c.Name) {
							continue
						}
						err := c.Verify(onServer(t, server, script.Source{Kind: "drops/1", Lua: lua}))
						if err == nil {
							t.Errorf("%s passes with seed %d", c.Name, cfg.Seed)
							continue
						}
						for _, part := range []string{c.Name, c.Property, c.Rule, "transcript"} {
							if !strings.Contains(err.Error(), part) {
								t.Errorf("%s fails without saying %q:\n%v", c.Name, part, err)
							}
						}
					}
				}
			})
		}
	})
}

// What the test is not about must not make it pass: a store that does not know
// the script steps in Go, which is right by definition.
func TestScriptThatIsNotRunIsNoticed(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		a, earlier := scriptTestees()
		runs := conformance.ScriptChecks(quickConfig(), a, earlier...)[0]
		for name, open := range map[string]conformance.Opener{
			"a server without it":     onServer(t, server),
			"a server with another":   onServer(t, server, script.Source{Kind: "drops/2", Lua: dropsLua}),
			"a store that only steps": openPlain,
		} {
			if err := runs.Verify(open); err == nil || !strings.Contains(err.Error(), `no script was run`) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}

// Numbers that follow from more than the Spec are wrong for another algorithm of
// the same Spec, such as one that is wrapped.
func TestScriptThatNeedsAGoTypeIsNoticed(t *testing.T) {
	servertest.Each(t, nil, func(t *testing.T, server *servertest.Server) {
		a, _ := scriptTestees()
		source := script.Source{Kind: "drops/1", Lua: dropsLua}
		source.Request = func(a algorithm.Algorithm, r algorithm.Request, numbers []int64) []int64 {
			_ = a.(drops)
			return append(numbers, min(r.Cost, algorithm.MaxWord))
		}
		for _, c := range conformance.ScriptChecks(quickConfig(), a) {
			if c.Name == "script/time-to-live" || c.Name == "script/damage" {
				continue // they hand the store an algorithm as it is
			}
			if err := c.Verify(onServer(t, server, source)); err == nil || !strings.Contains(err.Error(), "another Go type with the same Spec") {
				t.Errorf("%s: got %v", c.Name, err)
			}
		}
	})
}

func TestScriptWantsOneKind(t *testing.T) {
	a, _ := scriptTestees()
	other := algorithm.Must(algorithm.ParseSpec("gcra:1/1s"))
	cfg := quickConfig()
	cfg.Inspect = func(conformance.TB, store.Store, store.Slot) (conformance.Stored, bool) {
		return conformance.Stored{}, false
	}
	for _, c := range conformance.ScriptChecks(cfg, a, a, other) {
		if c.Name == "script/damage" {
			continue // it is about a alone
		}
		const want = `earlier[1] is of kind "gcra/1", and must be of kind "drops/1"`
		if err := c.Verify(openPlain); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", c.Name, err)
		}
	}
}

func TestScriptCheckNamesAreStableWords(t *testing.T) {
	a, _ := scriptTestees()
	for _, c := range conformance.ScriptChecks(quickConfig(), a) {
		if !regexp.MustCompile(`^script/[a-z]+(-[a-z]+)*$`).MatchString(c.Name) || c.Rule == "" || c.Property == "" {
			t.Errorf("%q (%q): %q", c.Name, c.Property, c.Rule)
		}
	}
}

// A failure is a transcript that a test prints with the seed to repeat it.
func TestScriptFailsWithASeedAndATranscript(t *testing.T) {
	server := servertest.Start(t, servertest.Redis, nil)
	if os.Getenv(failing) == "" {
		mustFailWith(t, "--- FAIL: "+t.Name()+"/script/alone", "-rapid.seed=", "script/alone (P3)", "rule:", "broken by:", "got:", "want:",
			"transcript, by the clock from ", "cost")
		return
	}
	a, earlier := scriptTestees()
	open := onServer(t, server, script.Source{Kind: "drops/1", Lua: brokenLua(t, "if part > 0 then", "if false then")})
	conformance.TestScript(t, func(_ testing.TB, clk clock.Clock) store.Store { return open(clk) }, nil, a, earlier...)
}
