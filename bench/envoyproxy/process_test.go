//go:build linux

package envoyproxy

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/envoyproxy/ratelimit/src/service_cmd/runner"
	"github.com/envoyproxy/ratelimit/src/settings"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
)

// limits are those of every server.
const limits = "domain: d\ndescriptors: [{key: user, rate_limit: {unit: hour, requests_per_unit: 4000000000}}]\n"

// role says what a process of this binary is; "" is the tests.
const role = "WEIR_BENCH_ROLE"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "floor":
		err = serveFloor(os.Getenv("ADDRESS"))
	case "envoyproxy":
		started := runner.NewRunner(settings.NewSettings())
		started.Run()
	}
	fmt.Fprintln(os.Stderr, os.Getenv(role), "ends:", err)
	os.Exit(1)
}

// floor answers OK, with what an answer has.
type floor struct {
	pb.UnimplementedRateLimitServiceServer
}

func (floor) ShouldRateLimit(context.Context, *pb.RateLimitRequest) (*pb.RateLimitResponse, error) {
	return &pb.RateLimitResponse{OverallCode: pb.RateLimitResponse_OK, Statuses: []*pb.RateLimitResponse_DescriptorStatus{{
		Code: pb.RateLimitResponse_OK, LimitRemaining: 3_999_999_999, DurationUntilReset: &durationpb.Duration{Seconds: 1800},
		CurrentLimit: &pb.RateLimitResponse_RateLimit{RequestsPerUnit: 4_000_000_000, Unit: pb.RateLimitResponse_RateLimit_HOUR},
	}}}, nil
}

func serveFloor(addr string) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	pb.RegisterRateLimitServiceServer(server, floor{})
	return server.Serve(listener)
}

// buildWeir builds the command, from its own module.
func buildWeir(b *testing.B) string {
	b.Helper()
	program := filepath.Join(b.TempDir(), "weir")
	command := exec.Command("go", "build", "-o", program, ".")
	command.Dir = "../../cmd/weir"
	command.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if output, err := command.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, output)
	}
	return program
}

// self starts this binary in a role.
func self(b *testing.B, as string, environment ...string) int {
	b.Helper()
	program, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	return startProcess(b, exec.Command(program), append(environment, role+"="+as)...)
}

// startProcess starts a command until the test ends, and returns the id of the process.
func startProcess(b *testing.B, command *exec.Cmd, environment ...string) int {
	b.Helper()
	var output bytes.Buffer
	command.Env = append(os.Environ(), environment...)
	command.Stdout, command.Stderr = &output, &output
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if b.Failed() {
			b.Logf("%s:\n%s", command.Path, output.String())
		}
	})
	return command.Process.Pid
}

// freeAddress returns an address that was free a moment ago.
func freeAddress(b *testing.B) string {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func write(b *testing.B, name, text string) {
	b.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}

// cpuTime is the CPU time so far of the process that decides: in ticks of 10 ms for another
// process than this one.
func (c *contender) cpuTime(b *testing.B) time.Duration {
	b.Helper()
	if c.pid == 0 {
		return clientTime(b)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // from field 3 on
	var ticks int64
	for _, field := range fields[11:13] { // utime and stime
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// clientTime is the CPU time so far of this process, and of the children that have ended.
func clientTime(b *testing.B) (used time.Duration) {
	b.Helper()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if err := syscall.Getrusage(who, &usage); err != nil {
			b.Fatal(err)
		}
		used += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return used
}

// redisTime is the CPU time of the Redis server; 0 where there is none.
func (c *contender) redisTime(b *testing.B) (used time.Duration) {
	b.Helper()
	if c.redis == nil {
		return 0
	}
	info, _ := c.redis.Do("INFO", "cpu").(string)
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_sys" || name == "used_cpu_user" {
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				b.Fatal(err)
			}
			used += time.Duration(seconds * 1e9)
		}
	}
	return used
}
