package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// program is a client of the guide.
type program struct {
	name    string
	command []string
	again   bool     // it asks again where an answer is lost
	newer   []string // fails where what runs the program is too old for it; nil is never
}

var programs = []program{
	{"sh", []string{"sh", "check.sh"}, false, nil},
	{"python", []string{"python3", "check.py"}, true, nil},
	{"javascript", []string{"node", "check.mjs"}, true, []string{"node", "-e", "fetch; AbortSignal.timeout(1)"}},
}

// ask runs a program for a user.
func (p *program) ask(t *testing.T, url, token, user string) (output string, err error) {
	t.Helper()
	return runClient(t, p.command, []string{"WEIR_URL=" + url, "WEIR_TOKEN=" + token}, user)
}

// clientsFolder has the programs.
const clientsFolder = "../../examples/clients"

// runClient runs a program of the folder for a user.
func runClient(t *testing.T, command, environment []string, user string) (output string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], append(command[1:len(command):len(command)], user)...)
	cmd.Dir = clientsFolder
	cmd.Env = append(append(cmd.Environ(), environment...), "WEIR_TIMEOUT=60", "PYTHONDONTWRITEBYTECODE=1",
		"NO_PROXY=*", "no_proxy=*") // a proxy of this machine knows nothing of its loopback interface
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// lookUp skips the test where a program cannot run.
func (p *program) lookUp(t *testing.T) {
	t.Helper()
	for _, needed := range append([]string{p.command[0]}, map[bool]string{true: "curl"}[p.name == "sh"]) {
		if _, err := exec.LookPath(needed); needed != "" && err != nil {
			t.Skipf("%s is not installed here", needed)
		}
	}
	if p.newer == nil {
		return
	}
	if out, err := exec.CommandContext(t.Context(), p.newer[0], p.newer[1:]...).CombinedOutput(); err != nil {
		t.Skipf("%s is too old here for %s: %v\n%s", p.command[0], p.command[1], err, out)
	}
}

// servingClients is a service that admits each user twice, to callers with "a token".
func servingClients(t *testing.T) served {
	t.Helper()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "policy.yaml"), twice)
	write(t, filepath.Join(folder, "callers.yaml"), fmt.Sprintf("version: 1\ncallers: [{name: a, token_sha256: %x, role: check}]\n", sha256.Sum256([]byte("a token"))))
	return serving(t, "--policy", filepath.Join(folder, "policy.yaml"), "--set", "auth.file="+filepath.Join(folder, "callers.yaml"))
}

// TestClientsOfTheGuide runs the programs of docs/guides/clients.md against weir serve.
func TestClientsOfTheGuide(t *testing.T) {
	leftToTheFullRun(t)
	s := servingClients(t)
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			p.lookUp(t)
			t.Parallel() // each waits for a process most of the time
			for i, want := range []string{"pass", "pass", "deny"} {
				if got, err := p.ask(t, s.http, "a token", p.name); err != nil || !strings.HasPrefix(got, want) {
					t.Errorf("%d: %q, %v, want %s", i, got, err, want)
				}
			}
			if got, err := p.ask(t, s.http, "another token", p.name); err == nil || !strings.Contains(got, "401") {
				t.Errorf("another token: %q, %v, want an error with 401", got, err)
			}
			nobody := httptest.NewServer(nil)
			nobody.Close() // nobody listens there now
			if got, err := p.ask(t, nobody.URL, "a token", p.name); err != nil || !strings.HasPrefix(got, "no answer") {
				t.Errorf("nobody there: %q, %v", got, err)
			}
			if p.again {
				p.loses(t, s.http)
			}
		})
	}
}

// loses has a program ask through something that loses the first answer.
func (p *program) loses(t *testing.T, url string) {
	t.Helper()
	var keys sync.Map
	var requests atomic.Int64
	lossy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys.Store(r.Header.Get("Idempotency-Key"), true)
		onward, err := http.NewRequestWithContext(r.Context(), r.Method, url+r.URL.Path, r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		onward.Header = r.Header.Clone()
		reply, err := http.DefaultClient.Do(onward)
		if err != nil {
			t.Error(err)
			return
		}
		defer reply.Body.Close()
		if requests.Add(1) == 1 {
			panic(http.ErrAbortHandler) // it has decided, and the connection ends
		}
		w.Header().Set("Content-Type", reply.Header.Get("Content-Type"))
		w.WriteHeader(reply.StatusCode)
		_, _ = io.Copy(w, reply.Body) // the program may have given up
	}))
	defer lossy.Close()
	if got, err := p.ask(t, lossy.URL, "a token", p.name+" with losses"); err != nil || got != "pass, remaining: 1" {
		t.Errorf("the first answer is lost: %q, %v, want one unit charged", got, err)
	}
	n := 0
	keys.Range(func(key, _ any) bool { n++; return key != "" })
	if n != 1 || requests.Load() < 2 {
		t.Errorf("%d requests with %d keys, want the same key in all", requests.Load(), n)
	}
}
