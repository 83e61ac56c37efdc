package acceptance_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/store"
)

// callerEnv, set to a library and an address, makes this test binary a process of
// callers: it reads a job a line and writes a tally a line.
const callerEnv = "WEIR_ACCEPTANCE_CALLER"

// job is what a process of callers is to do: each of them asks a few times for
// mixed costs, and then for one unit until it is denied.
type job struct {
	Spec, Key string
	Units     int64 // of the limit
	Share     int
	Callers   int
	Mixed     int
	Seed      uint64

	// Reserve, where it is not 0, is how many reservations each caller makes and settles instead, of limits
	// of all kinds of this package.
	Reserve int
}

// tally is what came of it. Unknown is the cost of calls whose outcome is unknown.
type tally struct {
	Acknowledged, Unknown       int64
	Decided, Unavailable, Other int
	Errors                      []string

	Charged map[string]int64 // by reservations, for each kind
}

func (t *tally) add(other tally) {
	t.Acknowledged += other.Acknowledged
	t.Unknown += other.Unknown
	t.Decided += other.Decided
	t.Unavailable += other.Unavailable
	t.Other += other.Other
	for kind, units := range other.Charged {
		t.charge(kind, units)
	}
	if t.Errors = append(t.Errors, other.Errors...); len(t.Errors) > 5 {
		t.Errors = t.Errors[:5]
	}
}

func callerMain(task string) (status int) {
	if err := serveJobs(task); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func serveJobs(task string) error {
	library, addr, _ := strings.Cut(task, " ")
	jobs, tallies := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	stores := map[int]*serverStore{} // by Share
	for {
		var j job
		if err := jobs.Decode(&j); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if stores[j.Share] == nil {
			s, closeBoth, err := connectAtLast(library, addr, j.Share)
			if err != nil {
				return err
			}
			defer closeBoth()
			stores[j.Share] = s
		}
		t, err := j.do(stores[j.Share])
		if err != nil {
			return err
		}
		if err := tallies.Encode(t); err != nil {
			return err
		}
	}
}

// connectAtLast tries again where a connection was cut: some clients need one to
// be made.
func connectAtLast(library, addr string, share int) (s *serverStore, closeBoth func(), err error) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		opts := withQuotaLua()
		opts.Share, opts.Timeout = share, patience
		s, closeBoth, err = connect(library, dial{addr: addr}, opts)
		if err == nil {
			return s, closeBoth, nil
		}
	}
	return nil, nil, err
}

// algorithm is that of Spec, which may also be a word for one of a user.
func (j job) algorithm() (algorithm.Algorithm, error) {
	switch j.Spec {
	case "own Lua":
		return session(j.Units, time.Hour), nil
	case "without Lua":
		return plainQuota{session(j.Units, time.Hour)}, nil
	}
	return algorithm.ParseSpec(j.Spec)
}

func (j job) do(s *serverStore) (all tally, err error) {
	if j.Reserve > 0 {
		return j.reserveAll(s)
	}
	a, err := j.algorithm()
	if err != nil {
		return tally{}, err
	}
	l, err := weir.New(s, weir.Limit{Name: "limit", Algorithm: a}, &weir.Options{Timeout: patience, Replaces: true})
	if err != nil {
		return tally{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var callers sync.WaitGroup
	tallies := make([]tally, j.Callers)
	for i := range tallies {
		callers.Go(func() { tallies[i] = j.call(ctx, l, rand.New(rand.NewPCG(j.Seed, uint64(i)))) })
	}
	callers.Wait()
	for _, t := range tallies {
		all.add(t)
	}
	return all, nil
}

// call is one caller.
func (j job) call(ctx context.Context, l *weir.Limiter, random *rand.Rand) (t tally) {
	for n := 0; ; n++ {
		cost := int64(1)
		if n < j.Mixed {
			cost = 1 + random.Int64N(7)
		}
		d, err := l.AllowN(ctx, j.Key, cost)
		switch kind(err) {
		case "none":
			t.Decided++
			if d.Allowed {
				t.Acknowledged += cost
			} else if n >= j.Mixed {
				return t
			}
		case "unknown":
			t.Unknown += cost
		case "unavailable":
			t.Unavailable++
		default:
			t.Other++
		}
		if err != nil && len(t.Errors) < 3 {
			t.Errors = append(t.Errors, err.Error())
		}
		if ctx.Err() != nil {
			t.Other++
			t.Errors = append(t.Errors, "not done in time")
			return t
		}
	}
}

// processes are processes of callers.
type processes []*callerProcess

type callerProcess struct {
	jobs    *json.Encoder
	tallies *json.Decoder
}

// startCallers starts n processes that end with the test.
func startCallers(t *testing.T, n int, library, addr string) processes {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var all processes
	for range n {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), callerEnv+"="+library+" "+addr)
		cmd.Stderr = os.Stderr
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = stdin.Close() // the process sees the end of its jobs
			if err := cmd.Wait(); err != nil {
				t.Errorf("a process of callers: %v", err)
			}
		})
		all = append(all, &callerProcess{json.NewEncoder(stdin), json.NewDecoder(bufio.NewReader(stdout))})
	}
	return all
}

// do gives all processes a job and returns what came of it together. Meanwhile
// disturb, if there is one, runs each time that the server has made some progress.
func (all processes) do(t *testing.T, s *servertest.Server, j job, disturb func()) (sum tally) {
	t.Helper()
	for i, p := range all {
		j.Seed = uint64(i)
		if err := p.jobs.Encode(j); err != nil {
			t.Fatal(err)
		}
	}
	if disturb != nil {
		done := make(chan struct{})
		var disturbing sync.WaitGroup
		disturbing.Go(func() { onProgress(s, done, disturb) })
		defer disturbing.Wait()
		defer close(done)
	}
	for _, p := range all {
		var one tally
		if err := p.tallies.Decode(&one); err != nil {
			t.Fatal(err)
		}
		sum.add(one)
	}
	return sum
}

// onProgress calls f each time that a server has run some scripts since.
func onProgress(s *servertest.Server, done <-chan struct{}, f func()) {
	const scripts = 15
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	last := 0
	for {
		select {
		case <-done:
			return
		case <-again.C:
		}
		if n := calls(s, "evalsha"); n < last || n >= last+scripts {
			last = n
			f()
		}
	}
}

// mustBeClean fails if a caller has seen an error.
func (t tally) mustBeClean(tb testing.TB) {
	tb.Helper()
	if t.Unknown != 0 || t.Unavailable != 0 || t.Other != 0 {
		tb.Errorf("callers saw errors: %+v", t)
	}
}

// slotOf is the slot of a key and a limit without a name.
func slotOf(key string, a algorithm.Algorithm) store.Slot {
	return store.Slot{Key: key, Limit: "limit", Algorithm: a}
}
