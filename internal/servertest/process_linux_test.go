package servertest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestAddressOfAStoppedServerStaysItsOwn(t *testing.T) {
	Each(t, nil, func(t *testing.T, s *Server) {
		s.Stop()
		if s.Pid() != 0 {
			t.Errorf("a stopped server has the process %d", s.Pid())
		}
		if _, err := net.Dial("tcp", s.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("connecting to a stopped server: %v", err)
		}
		// Without SO_REUSEADDR a socket gets only a port that nobody has.
		strict := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
			var failed error
			err := c.Control(func(fd uintptr) {
				failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 0)
			})
			return errors.Join(err, failed)
		}}
		if l, err := strict.Listen(context.Background(), "tcp", s.Addr()); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("listening on the port of a stopped server: %v, %v", l, err)
		}
		s.Start()
	})
}

func TestEndedProcessesAreGone(t *testing.T) {
	Each(t, nil, func(t *testing.T, s *Server) {
		for name, end := range map[string]func(){
			"stop":                 s.Stop,
			"kill":                 s.Kill,
			"stop of a frozen one": func() { s.Freeze(); s.Stop() },
			"kill of a frozen one": func() { s.Freeze(); s.Kill() },
		} {
			s.Start()
			pid := s.Pid()
			end()
			if alive(pid) {
				t.Errorf("after %s the process %d is there", name, pid)
			}
		}
	})
	var left *Server
	t.Run("test", func(t *testing.T) { left = Start(t, Redis, nil) })
	if left != nil {
		if _, err := os.Stat(left.dir); !errors.Is(err, os.ErrNotExist) || left.Pid() != 0 {
			t.Errorf("after its test: process %d, folder %v", left.Pid(), err)
		}
	}
}

// TestHelperStartsAndHangs is the other side of the next test.
func TestHelperStartsAndHangs(t *testing.T) {
	if os.Getenv("SERVERTEST_HELPER") == "" {
		t.Skip("only for TestServersDieWithTheTestBinary")
	}
	for _, kind := range Kinds() {
		fmt.Println("pid", Start(t, kind, nil).Pid())
	}
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // until killed
}

func TestServersDieWithTheTestBinary(t *testing.T) {
	for _, kind := range Kinds() {
		find(t, kind)
	}
	helper := helperProcess(t, "TestHelperStartsAndHangs", "SERVERTEST_HELPER=1", "TMPDIR="+t.TempDir())
	stdin, err := helper.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := helper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for lines := bufio.NewScanner(stdout); len(pids) < len(Kinds()) && lines.Scan(); {
		if text, found := strings.CutPrefix(lines.Text(), "pid "); found {
			pid, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	for _, pid := range pids {
		if !alive(pid) {
			t.Errorf("process %d has ended too early", pid)
		}
	}
	if err := helper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = helper.Wait() // says that it was killed
	t.Cleanup(func() {
		for _, pid := range pids {
			if t.Failed() && alive(pid) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	if len(pids) != len(Kinds()) {
		t.Fatalf("the helper started %v", pids)
	}
	for _, pid := range pids {
		Await(t, "the server of a killed test binary ends", func() bool { return !alive(pid) })
	}
}

func TestMissingServerSkipsOrFails(t *testing.T) {
	const name = "TestReplies/redis"
	for setting, want := range map[string]string{"": "--- SKIP: " + name, required: "--- FAIL: " + name} {
		helper := helperProcess(t, "TestReplies", "PATH=/nowhere", "WEIR_SERVERS="+setting)
		output, err := helper.CombinedOutput()
		if !strings.Contains(string(output), want) || !strings.Contains(string(output), "scripts/setup servers") {
			t.Errorf("WEIR_SERVERS=%s: want %q:\n%s", setting, want, output)
		}
		if (err != nil) != (setting == required) {
			t.Errorf("WEIR_SERVERS=%s: %v", setting, err)
		}
	}
}

// TestFindsPrometheus is the other side of the next test.
func TestFindsPrometheus(t *testing.T) {
	if os.Getenv("PATH") != "/nowhere" {
		t.Skip("it is run by the next test")
	}
	t.Chdir("/") // where no folder above has it
	PrometheusTool(t, "promtool")
}

func TestMissingPrometheusSkipsOrFails(t *testing.T) {
	for setting, want := range map[string]string{"": "--- SKIP: TestFindsPrometheus", required: "--- FAIL: TestFindsPrometheus"} {
		output, err := helperProcess(t, "TestFindsPrometheus", "PATH=/nowhere", "WEIR_PROMETHEUS="+setting).CombinedOutput()
		if !strings.Contains(string(output), want) || (err != nil) != (setting == required) {
			t.Errorf("WEIR_PROMETHEUS=%s: want %q, %v:\n%s", setting, want, err, output)
		}
	}
}

// helperProcess is this test binary, about to run one test with more environment.
func helperProcess(t *testing.T, test string, environment ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), environment...)
	return cmd
}

// alive says whether there is a process that has not ended; a zombie, whose
// parent has not asked for its end yet, has.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}
