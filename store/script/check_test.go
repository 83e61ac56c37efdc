package script

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// check is Check that must pass.
func check(t *testing.T, s *Store) Report {
	t.Helper()
	r, err := s.Check(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCheckPassesOnBothServers: it knows which server it is, and leaves nothing.
func TestCheckPassesOnBothServers(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		w := dialWire(t, server)
		r := check(t, open(t, w, &Options{Scripts: []Source{sourceOfRounds}}))
		if r.Server != server.Kind().String() || older(r.Version, oldest[r.Server]) || !strings.Contains(r.Version, ".") {
			t.Errorf("%+v", r)
		}
		if r.EvictionPolicy != "noeviction" || r.MaxMemory != 0 || len(r.Warnings) != 0 {
			t.Errorf("%+v", r)
		}
		if keys := w.ask(t, "DBSIZE"); keys != "0" {
			t.Errorf("%s keys are left", keys)
		}
	})
}

// TestCheckWarnsOfEviction: where there is a bound of memory, and a policy that drops
// what it likes.
func TestCheckWarnsOfEviction(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		s := open(t, dialWire(t, server), nil)
		for policy, warns := range map[string]bool{
			"noeviction": false, "allkeys-lru": true, "allkeys-lfu": true, "allkeys-random": true, "volatile-lru": true, "volatile-ttl": true,
		} {
			server.Do("CONFIG", "SET", "maxmemory-policy", policy, "maxmemory", "0")
			if r := check(t, s); len(r.Warnings) != 0 || r.EvictionPolicy != policy || r.MaxMemory != 0 {
				t.Errorf("%s without a bound: %+v", policy, r)
			}
			server.Do("CONFIG", "SET", "maxmemory", "64mb")
			r := check(t, s)
			if r.MaxMemory != 64<<20 || r.EvictionPolicy != policy {
				t.Errorf("%+v", r)
			}
			if got := len(r.Warnings) == 1 && strings.Contains(r.Warnings[0], policy); got != warns || !warns && len(r.Warnings) > 0 {
				t.Errorf("%s: %q", policy, r.Warnings)
			}
		}
	})
}

// info is what INFO tells of a server, with the lines of its version.
func info(lines ...string) string {
	return "# Server\r\n" + strings.Join(lines, "\r\n") + "\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n"
}

// serverOf is a Client of a server that can do everything, but for what is given.
func serverOf(answers map[string]string, errs map[string]error) Client {
	return clientFunc(func(_ context.Context, c *Command) (string, error) {
		name := c.Args[0]
		switch c.Args[1%len(c.Args)] {
		case testProgram.sha:
			name = "selftest"
		case probeProgram.sha:
			name = "probe"
		}
		if err := errs[name]; err != nil {
			return "", err
		}
		return answers[name], nil
	})
}

func TestCheckRefusesOldServers(t *testing.T) {
	for _, test := range []struct {
		info, server, version string
		tooOld                bool
	}{
		{info("redis_version:6.2.14"), "redis", "6.2.14", true},
		{info("redis_version:5.0"), "redis", "5.0", true},
		{info("redis_version:6.9.9"), "redis", "6.9.9", true},
		{info("redis_version:7.0.0"), "redis", "7.0.0", false},
		{info("redis_version:7.0"), "redis", "7.0", false},
		{info("redis_version:8.2.1"), "redis", "8.2.1", false},
		{info("redis_version:10.0.0"), "redis", "10.0.0", false},
		{info("redis_version:7.2.4", "valkey_version:7.2.4"), "valkey", "7.2.4", false},
		{info("redis_version:7.2.4", "valkey_version:7.1.9"), "valkey", "7.1.9", true},
		{info("redis_version:7.2.4", "valkey_version:8.0.1"), "valkey", "8.0.1", false},
		{info("redis_version:255.255.255"), "redis", "255.255.255", false},
		{info("redis_version:unstable"), "redis", "unstable", false},
		{info("redis_version:x.y"), "redis", "x.y", false},
		{info("redis_version:"), "redis", "", false},
		{"", "redis", "", false},
		{"no lines at all", "redis", "", false},
	} {
		// An old server does not know the commands either, and that is not the news.
		errs := map[string]error{}
		if test.tooOld {
			errs["selftest"] = &ServerError{Message: "ERR unknown command 'EVALSHA_RO'"}
		}
		r, err := open(t, serverOf(map[string]string{"INFO": test.info}, errs), nil).Check(context.Background())
		if errors.Is(err, store.ErrUnavailable) != test.tooOld || (err != nil) != test.tooOld {
			t.Errorf("%.60q: %v", test.info, err)
		}
		if test.tooOld && !strings.Contains(err.Error(), test.server+" "+test.version+" is too old") {
			t.Errorf("%.60q: %v", test.info, err)
		}
		if r.Server != test.server || r.Version != test.version {
			t.Errorf("%.60q: %+v", test.info, r)
		}
	}
}

// TestCheckNamesWhatIsWrong: each with the meaning that nothing can be decided.
func TestCheckNamesWhatIsWrong(t *testing.T) {
	refusal, lost := &ServerError{Message: "NOPERM this user has no permissions"}, io.ErrUnexpectedEOF
	for name, test := range map[string]struct {
		answers map[string]string
		errs    map[string]error
		want    string
	}{
		"wrong arithmetic": {map[string]string{"selftest": "17"}, nil, "the Lua of the server computes case 17 wrong"},
		"no text":          {map[string]string{"selftest": "0"}, nil, "computes case 0 wrong"},
		"no self-test":     {nil, map[string]error{"selftest": refusal}, "NOPERM"},
		"no probe":         {nil, map[string]error{"probe": refusal}, "NOPERM"},
		"no SET in it":     {map[string]string{"probe": "SET: no\nGET: neither"}, nil, "the server refuses SET: no; GET: neither"},
		"no EVAL":          {nil, map[string]error{"EVAL": refusal}, "the server refuses EVAL: NOPERM"},
		"no EVAL_RO":       {nil, map[string]error{"EVAL_RO": refusal}, "the server refuses EVAL_RO: NOPERM"},
		"no DEL":           {nil, map[string]error{"DEL": refusal}, "the server refuses DEL: NOPERM"},
		"no EVALSHA":       {nil, map[string]error{"EVALSHA": refusal}, "NOPERM"},
		"lost INFO":        {nil, map[string]error{"INFO": lost}, "unexpected EOF"},
		"lost self-test":   {nil, map[string]error{"selftest": lost}, "unexpected EOF"},
		"lost probe":       {nil, map[string]error{"probe": lost}, "unexpected EOF"},
		"lost EVAL":        {nil, map[string]error{"EVAL": lost}, "unexpected EOF"},
		"lost scripts":     {nil, map[string]error{"EVALSHA": lost}, "unexpected EOF"},
		"loading":          {nil, map[string]error{"selftest": &ServerError{Message: "LOADING data"}}, "LOADING"},
	} {
		_, err := open(t, serverOf(test.answers, test.errs), nil).Check(context.Background())
		wantMeaning(t, name, err, store.ErrUnavailable, nil)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "script: check: ") {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

// TestCheckWithoutInfoIsAWarning: a managed server may keep it to itself.
func TestCheckWithoutInfoIsAWarning(t *testing.T) {
	s := open(t, serverOf(nil, map[string]error{"INFO": &ServerError{Message: "NOPERM no INFO for you"}}), nil)
	r := check(t, s)
	if r.Server != "" || r.Version != "" || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "no INFO for you") {
		t.Errorf("%+v", r)
	}
}

// TestCheckRefusesLuaThatIsNone: it would make every call of several ops fail.
func TestCheckRefusesLuaThatIsNone(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, server *servertest.Server) {
		for _, lua := range []string{"local function decide(", "end", "this is no Lua", "local function other() end", "return 5", "}"} {
			s := open(t, dialWire(t, server), &Options{Scripts: []Source{sourceOfRounds, {Kind: "mine/1", Lua: lua}}})
			_, err := s.Check(context.Background())
			if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "Options.Scripts") {
				t.Errorf("%s: %v", lua, err)
			}
		}
	})
}

// TestCheckLeavesWhenItsContextEnds: at every step of it.
func TestCheckLeavesWhenItsContextEnds(t *testing.T) {
	for steps := range 9 {
		ctx, cancel := context.WithCancel(context.Background())
		n, left := 0, make(chan struct{})
		s := open(t, clientFunc(func(_ context.Context, c *Command) (string, error) {
			if n++; n > steps {
				cancel()
				<-left // the caller does not wait for this
			}
			return "", nil
		}), nil)
		_, err := s.Check(ctx)
		close(left)
		if !errors.Is(err, context.Canceled) && n > steps {
			t.Errorf("after %d calls: %v", steps, err)
		}
		cancel()
	}
}

// TestCheckedCommandsAreThoseOfTheScripts: what the probe tries is what they send.
func TestCheckedCommandsAreThoseOfTheScripts(t *testing.T) {
	l := readLua(lua("probe"))
	var tried []string
	for i := range l.tokens {
		if l.at(i) == "attempt" && l.at(i-1) != "function" {
			tried = append(tried, strings.TrimPrefix(l.at(i+2), "'"))
		}
	}
	for command := range luaWrites {
		if !slices.Contains(tried, command) {
			t.Errorf("the probe does not try %s", command)
		}
	}
	for _, command := range tried {
		if _, known := luaWrites[command]; !known {
			t.Errorf("the probe tries %s, which no script sends", command)
		}
	}
}

// A stand-in for a server counts TIME among the commands that write, and refuses it in
// read-only scripts: B107. The script is not the user's.
func TestCheckNamesWhatAReadOnlyScriptLacks(t *testing.T) {
	refusal := &ServerError{Message: "ERR Error compiling script (new function): :10: Write commands are not allowed in read-only scripts"}
	for _, custom := range [][]Source{nil, {sourceOfRounds}} {
		standIn := clientFunc(func(_ context.Context, c *Command) (string, error) {
			last := c.Args[len(c.Args)-1]
			switch {
			case strings.HasSuffix(c.Args[0], "_RO") && (strings.Contains(c.Args[1], "TIME") || last == "0" && len(c.Args) > 4):
				return "", refusal
			case c.Args[0] == "INFO":
				return info("redis_version:7.0.0"), nil
			}
			return "", nil
		})
		s, err := New(standIn, &Options{Scripts: custom})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Check(context.Background())
		if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "the server refuses TIME in a read-only script (EVAL_RO)") ||
			!strings.Contains(err.Error(), refusal.Message) || strings.Contains(err.Error(), "Options.Scripts") {
			t.Errorf("%v", err)
		}
	}
}
