//go:build linux

package envoyproxy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/proto"
)

// h2load sends calls of one key, 64 in flight over some connections. It looks at no answer, so
// what remains of the limit is asked before and after: each call must have been charged.
func (c *contender) h2load(b *testing.B, connections, calls int) (latencies func() []time.Duration) {
	b.Helper()
	if c.addr == "" {
		return c.callers(b, 1, calls)
	}
	before := c.remaining(b)
	message, err := proto.Marshal(requestOf("0"))
	if err != nil {
		b.Fatal(err)
	}
	folder := b.TempDir()
	body, log := filepath.Join(folder, "body"), filepath.Join(folder, "log")
	write(b, body, string(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))))+string(message)) // 0: not compressed
	command := exec.Command("h2load", "-n", strconv.Itoa(calls), "-c", strconv.Itoa(connections), "-m", strconv.Itoa(callers/connections),
		"-d", body, "-H", "content-type: application/grpc", "-H", "te: trailers", "--log-file", log,
		"http://"+c.addr+pb.RateLimitService_ShouldRateLimit_FullMethodName)
	if output, err := command.CombinedOutput(); err != nil || !strings.Contains(string(output), fmt.Sprintf(" %d 2xx,", calls)) {
		b.Fatalf("%s: %v\n%s", c.name, err, output)
	}
	return func() []time.Duration {
		if after := c.remaining(b); c.redis != nil && before-after != uint32(calls)+1 { // the last look is charged, too
			b.Errorf("%s: %d of %d calls were charged, unless the hour has ended", c.name, int64(before)-int64(after)-1, calls)
		}
		return readLog(b, log)
	}
}

// readLog reads how long each request took from a log of h2load: start, status, microseconds.
func readLog(b *testing.B, name string) (latencies []time.Duration) {
	b.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		b.Fatal(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var start, status, micros int64
		if _, err := fmt.Sscanf(lines.Text(), "%d\t%d\t%d", &start, &status, &micros); err != nil || status != 200 {
			b.Fatalf("line %q of the log: %v", lines.Text(), err)
		}
		latencies = append(latencies, time.Duration(micros)*time.Microsecond)
	}
	return latencies
}

// remaining asks once, and returns what remains of the limit then.
func (c *contender) remaining(b *testing.B) uint32 {
	b.Helper()
	answer, err := c.client.ShouldRateLimit(context.Background(), requestOf("0"))
	if err != nil || len(answer.GetStatuses()) != 1 {
		b.Fatalf("%s: %v, %v", c.name, answer, err)
	}
	return answer.GetStatuses()[0].GetLimitRemaining()
}
