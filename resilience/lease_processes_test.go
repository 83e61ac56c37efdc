package resilience_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/weirgo/weir"
	"github.com/weirgo/weir/internal/servertest"
	"github.com/weirgo/weir/resilience"
	redisstore "github.com/weirgo/weir/store/redis"
)

// hotLimit is the limit that the processes share. It regains a unit in half an hour.
const hotLimit, hotUnits = "gcra:20000/9600h", 20000

// TestLeaseProcess is one of the processes of the next test. It writes one byte for each unit
// that it was admitted, until it is denied.
func TestLeaseProcess(t *testing.T) {
	addr := os.Getenv("WEIR_LEASE_SERVER")
	if addr == "" {
		t.Skip("only for TestLeasesOfEightProcesses")
	}
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	l := weir.Must(resilience.NewLease(weir.Must(redisstore.New(client, nil)), nil))
	limiter := weir.Must(weir.New(l, weir.Must(weir.ParseLimit("l", hotLimit)), &weir.Options{Timeout: time.Minute}))
	pipe := os.NewFile(3, "admissions")
	if _, err := bufio.NewReader(os.Stdin).ReadByte(); err != nil { // until all are there
		t.Fatal(err)
	}
	for {
		d, err := limiter.Allow(ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		if !d.Allowed {
			break
		}
		if _, err := pipe.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestLeasesOfEightProcesses: two of eight processes on one key are killed. What all of them were admitted is
// counted by this process: never more than the limit, and with what a store without leases
// admits afterwards as much as the limit, but for what the dead ones held.
func TestLeasesOfEightProcesses(t *testing.T) {
	server := servertest.Start(t, servertest.Redis, nil)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const processes, killed = 8, 2
	var admitted atomic.Int64
	var counting sync.WaitGroup
	starts := make([]io.Writer, processes)
	ends := make([]func() error, processes)
	for i := range processes {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self, "-test.run=^TestLeaseProcess$")
		cmd.Env = append(os.Environ(), "WEIR_LEASE_SERVER="+server.Addr())
		cmd.ExtraFiles = []*os.File{write}
		output := &lockedBuffer{}
		cmd.Stdout, cmd.Stderr = output, output
		if starts[i], err = cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		write.Close()
		counting.Go(func() {
			defer read.Close()
			buffer := make([]byte, 256)
			for units := 0; ; {
				n, err := read.Read(buffer)
				admitted.Add(int64(n))
				if units += n; i < killed && units > 500 {
					_ = cmd.Process.Kill() // perhaps once more
				}
				if err != nil {
					return
				}
			}
		})
		ends[i] = func() error {
			if err := cmd.Wait(); err != nil && i >= killed {
				return fmt.Errorf("process %d: %w\n%s", i, err, output)
			}
			return nil
		}
	}
	for _, w := range starts {
		if _, err := w.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
	}
	counting.Wait()
	for _, end := range ends {
		if err := end(); err != nil {
			t.Error(err)
		}
	}
	byLeases := admitted.Load()
	if byLeases > hotUnits {
		t.Errorf("%d units were admitted, want at most %d", byLeases, hotUnits)
	}
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	exact := weir.Must(redisstore.New(client, nil))
	defer exact.Close()
	all := byLeases + drain(t, exact, parse(t, hotLimit), "k")
	// One lease is at most a twentieth of the limit, and each return of a rate leaves a unit
	// behind: on a slow machine there are many.
	if least := int64(hotUnits - killed*(hotUnits/20) - hotUnits/4); all > hotUnits || all < least {
		t.Errorf("%d units were admitted by leases and %d in all, want %d to %d", byLeases, all, least, hotUnits)
	}
	t.Logf("%d units were admitted by leases, and %d in all of %d", byLeases, all, hotUnits)
}

// lockedBuffer is what a process has written.
type lockedBuffer struct {
	mu   sync.Mutex
	text []byte
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	return len(p), nil
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}
