package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/weirgo/weir/api/weirv1"
)

// grpcPrograms are the clients of the guide that ask over gRPC. What they need beside what runs
// them is looked for, and its absence skips the test.
var grpcPrograms = []struct {
	name string
	find func(t *testing.T) (command, environment []string)
}{
	{"python", func(t *testing.T) (command, environment []string) {
		return []string{pythonWithGRPC(t), "check_grpc.py"}, []string{"PYTHONPATH=" + pythonMessages(t)}
	}},
	{"javascript", func(t *testing.T) (command, environment []string) {
		look := exec.CommandContext(t.Context(), "node", "--input-type=module", "--eval", `import "@grpc/grpc-js"; import "@grpc/proto-loader"`)
		look.Dir = clientsFolder
		if out, err := look.CombinedOutput(); err != nil {
			t.Skipf("no node with @grpc/grpc-js here: scripts/setup installs the package where npm is: %v\n%s", err, out)
		}
		return []string{"node", "check_grpc.mjs"}, nil
	}},
}

// pythonWithGRPC is a Python that has grpcio. One that is not Debian's comes first on some PATHs
// and does not see the packages of Debian.
func pythonWithGRPC(t *testing.T) string {
	t.Helper()
	var why []string
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		out, err := exec.CommandContext(t.Context(), python, "-c", "import grpc, google.protobuf").CombinedOutput()
		if err == nil {
			return python
		}
		why = append(why, fmt.Sprintf("%s: %v\n%s", python, err, out))
	}
	t.Skipf("no Python with grpcio here: scripts/setup installs it where apt has it: %s", strings.Join(why, "\n"))
	return ""
}

// pythonMessages is a folder with the messages of the API for Python. protoc is given
// descriptors: the files of google.protobuf are in no package that it needs.
func pythonMessages(t *testing.T) string {
	t.Helper()
	protoc, err := exec.LookPath("protoc")
	if err != nil {
		t.Skip("no protoc here: scripts/setup installs it where apt has it")
	}
	set, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{
		protodesc.ToFileDescriptorProto(durationpb.File_google_protobuf_duration_proto),
		protodesc.ToFileDescriptorProto(timestamppb.File_google_protobuf_timestamp_proto),
		protodesc.ToFileDescriptorProto(weirv1.File_weir_v1_ratelimiter_proto),
	}})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	write(t, filepath.Join(folder, "set.binpb"), string(set))
	command := exec.CommandContext(t.Context(), protoc, "--descriptor_set_in=set.binpb", "--python_out=.", "weir/v1/ratelimiter.proto")
	command.Dir = folder
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return folder
}

// TestGRPCClientsOfTheGuide runs the programs of docs/guides/clients.md that ask over gRPC against
// weir serve.
func TestGRPCClientsOfTheGuide(t *testing.T) {
	leftToTheFullRun(t)
	s := servingClients(t)
	for _, p := range grpcPrograms {
		t.Run(p.name, func(t *testing.T) {
			command, environment := p.find(t)
			t.Parallel() // each waits for a process most of the time
			ask := func(address, token, user string) (string, error) {
				return runClient(t, command, append(environment, "WEIR_GRPC="+address, "WEIR_TOKEN="+token), user)
			}
			for i, want := range []string{"pass, remaining: 1", "pass, remaining: 0", "deny, retry after: 8"} {
				if got, err := ask(s.grpc, "a token", p.name); err != nil || !strings.HasPrefix(got, want) {
					t.Errorf("%d: %q, %v, want %s", i, got, err, want)
				}
			}
			if got, err := ask(s.grpc, "another token", p.name); err == nil || !strings.Contains(got, "UNAUTHENTICATED") {
				t.Errorf("another token: %q, %v, want an error with UNAUTHENTICATED", got, err)
			}
			if got, err := ask(nobodyListens(t), "a token", p.name); err != nil || !strings.HasPrefix(got, "no answer") {
				t.Errorf("nobody there: %q, %v", got, err)
			}
			lossy := &lossyLimiter{inner: weirv1.NewRateLimiterClient(connection(t, s.grpc))}
			if got, err := ask(lossy.serve(t), "a token", p.name+" with losses"); err != nil || got != "pass, remaining: 1" {
				t.Errorf("the first answer is lost: %q, %v, want one unit charged", got, err)
			}
			if lossy.asked.Load() != 2 || lossy.keys() != 1 {
				t.Errorf("%d requests with %d keys, want 2 with the same", lossy.asked.Load(), lossy.keys())
			}
		})
	}
}

// lossyLimiter hands checks on to another server, and loses the first answer.
type lossyLimiter struct {
	weirv1.UnimplementedRateLimiterServer
	inner weirv1.RateLimiterClient
	asked atomic.Int64
	seen  sync.Map // idempotency keys
}

func (l *lossyLimiter) CheckRateLimit(ctx context.Context, m *weirv1.CheckRequest) (*weirv1.CheckResponse, error) {
	sent, _ := metadata.FromIncomingContext(ctx)
	onward := metadata.MD{}
	for _, name := range []string{"authorization", "idempotency-key"} {
		onward[name] = sent.Get(name)
	}
	for _, key := range onward["idempotency-key"] {
		l.seen.Store(key, true)
	}
	answer, err := l.inner.CheckRateLimit(metadata.NewOutgoingContext(ctx, onward), m)
	if err == nil && l.asked.Add(1) == 1 {
		return nil, status.Error(codes.Unavailable, "the connection is lost")
	}
	return answer, err
}

// keys is the number of different idempotency keys.
func (l *lossyLimiter) keys() (n int) {
	l.seen.Range(func(_, _ any) bool { n++; return true })
	return n
}

// serve returns the address at which l is asked until the test ends.
func (l *lossyLimiter) serve(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	weirv1.RegisterRateLimiterServer(server, l)
	go func() { _ = server.Serve(listener) }() // until Stop
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// nobodyListens is an address at which nobody listens now.
func nobodyListens(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func connection(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
