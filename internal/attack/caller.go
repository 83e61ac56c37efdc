package attack

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirgo/weir"
	"github.com/weirgo/weir/algorithm"
	"github.com/weirgo/weir/store"
)

// callersEnv is set in the environment of a process of callers.
const callersEnv = "WEIR_ATTACK_CALLERS"

// task is what a process of callers has to do: the first line of its input.
type task struct {
	Library  string
	Topology string
	Addrs    []string
	Keys     []key
	Callers  int
	Pause    time.Duration // of a caller between two calls, on average
	Fill     int           // connections that the application opens before
	Double   bool          // sends each command twice
	Replicas int           // that must have what was admitted before it is answered
	Seed     uint64
}

// The commands that follow, a line each. Each is answered by a line of JSON: a reply.
const (
	start = "start" // the callers start
	mark  = "mark"  // the next phase starts: no call is in both
	ask   = "ask"   // how many calls were admitted in the phase
	stop  = "stop"  // the callers end, and the process with them
)

type reply struct {
	Error    string
	Admitted int64   // of ask
	Report   *report // of stop
}

// CallersMain runs callers and exits where this process was started to be one of
// callers; otherwise it returns. It comes first in main.
func CallersMain() {
	if os.Getenv(callersEnv) == "" {
		return
	}
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "attack: callers:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve does what the lines of r say until they say stop or end.
func serve(r io.Reader, w io.Writer) error {
	lines, answers := bufio.NewScanner(r), json.NewEncoder(w)
	lines.Buffer(nil, 16<<20)
	if !lines.Scan() {
		return errors.Join(io.ErrUnexpectedEOF, lines.Err())
	}
	var t task
	if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
		return err
	}
	c, err := newCallers(&t)
	if err != nil {
		return errors.Join(err, answers.Encode(reply{Error: err.Error()}))
	}
	defer c.clients.close()
	var answer reply
	for {
		if err := answers.Encode(answer); err != nil {
			return err
		}
		answer = reply{}
		if !lines.Scan() {
			return lines.Err() // whoever started it has ended
		}
		switch command := lines.Text(); command {
		case start:
			c.start()
		case mark:
			c.mark()
		case ask:
			answer.Admitted = c.admitted()
		case stop:
			report := c.stop()
			return answers.Encode(reply{Report: &report})
		default:
			return fmt.Errorf("no command %q", command)
		}
	}
}

// callers are the callers of one process.
type callers struct {
	task     *task
	clients  *clients
	limiters []*weir.Limiter // by key

	running sync.WaitGroup
	stopped atomic.Bool
	calls   sync.RWMutex // held for reading during a call

	mu     sync.Mutex
	report report
}

func newCallers(t *task) (*callers, error) {
	opened, err := open(t)
	if err != nil {
		return nil, err
	}
	c := &callers{task: t, clients: opened, limiters: make([]*weir.Limiter, len(t.Keys))}
	c.nextPhase()
	named := map[string]*weir.Limiter{}
	for i, k := range t.Keys {
		if named[k.Limit] == nil {
			a, err := algorithm.ParseSpec(k.Spec)
			if err != nil {
				return nil, err
			}
			if named[k.Limit], err = weir.New(opened.store, weir.Limit{Name: k.Limit, Algorithm: a}, nil); err != nil {
				return nil, err
			}
		}
		c.limiters[i] = named[k.Limit]
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// A look at each key: connections are open, and scripts known, before the start.
	for i, l := range c.limiters {
		if _, err := l.Peek(ctx, t.Keys[i].Name); err != nil && !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrOutcomeUnknown) {
			return nil, err
		}
	}
	return c, opened.fill(ctx, t.Fill)
}

func (c *callers) start() {
	for i := range c.task.Callers {
		c.running.Go(func() { c.call(rand.New(rand.NewPCG(c.task.Seed, uint64(i)))) })
	}
}

// call is one caller: it takes a unit of a random key again and again.
func (c *callers) call(random *rand.Rand) {
	answered := time.Now()
	var outage time.Duration
	for !c.stopped.Load() {
		k := random.IntN(len(c.limiters))
		c.calls.RLock()
		begin := time.Now()
		d, err := c.limiters[k].Allow(context.Background(), c.task.Keys[k].Name)
		end := time.Now()
		c.record(k, d, err, end.Sub(begin))
		c.calls.RUnlock()
		outage = max(outage, end.Sub(answered))
		if err == nil {
			answered = end
		}
		time.Sleep(time.Duration(random.Int64N(int64(2*c.task.Pause) + 1)))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Outage = max(c.report.Outage, outage.Microseconds())
}

func (c *callers) record(k int, d weir.Decision, err error, took time.Duration) {
	t := tally{Calls: 1}
	unexpected := ""
	switch {
	case err == nil && d.Allowed:
		t.Acked = 1
	case err == nil:
		t.Denied = 1
	case errors.Is(err, store.ErrOutcomeUnknown):
		t.Unknown = 1
	case errors.Is(err, store.ErrUnavailable):
		t.Unavailable = 1
	default:
		unexpected = err.Error()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.report.Phases[len(c.report.Phases)-1]
	p.Keys[k].add(t)
	group := c.task.Keys[k].Group
	p.Latency[group] = append(p.Latency[group], took.Microseconds())
	if unexpected != "" && len(c.report.Unexpected) < 3 {
		c.report.Unexpected = append(c.report.Unexpected, unexpected)
	}
}

// mark waits for the calls that are under way and starts the next phase. Calls that
// would start meanwhile wait.
func (c *callers) mark() {
	c.calls.Lock()
	defer c.calls.Unlock()
	c.nextPhase()
}

// admitted returns how many calls were in this phase. A denial says little: a server that
// may not write denies, too.
func (c *callers) admitted() (n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.report.Phases[len(c.report.Phases)-1].Keys {
		n += t.Acked
	}
	return n
}

func (c *callers) nextPhase() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report.Phases = append(c.report.Phases, phase{Keys: make([]tally, len(c.task.Keys))})
}

func (c *callers) stop() report {
	c.stopped.Store(true)
	c.running.Wait()
	return c.report
}
