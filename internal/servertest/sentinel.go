package servertest

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"
)

// PrimaryName is what Sentinels call the primary that they watch.
const PrimaryName = "primary"

// Sentinels watch a primary and its replicas, and promote a replica when most of
// them have not reached the primary for a time.
type Sentinels struct{ all []*Server }

// StartSentinels starts n sentinels of a primary that has its replicas already, and
// returns when each of them knows all others and the replicas. They hold a primary
// for down after downAfter.
func StartSentinels(tb testing.TB, n int, primary *Server, replicas int, downAfter time.Duration) *Sentinels {
	tb.Helper()
	s := &Sentinels{}
	for range n {
		one := Start(tb, primary.kind, &Config{Args: []string{"--sentinel"}})
		one.Do("SENTINEL", "MONITOR", PrimaryName, "127.0.0.1", strconv.Itoa(primary.port()), strconv.Itoa(n/2+1))
		one.Do("SENTINEL", "SET", PrimaryName, "failover-timeout", "10000")
		s.all = append(s.all, one)
	}
	s.SetDownAfter(downAfter)
	for _, one := range s.all {
		one.await("a sentinel that knows the others", func() bool {
			return count(one.Do("SENTINEL", "SENTINELS", PrimaryName)) == n-1 && count(one.Do("SENTINEL", "REPLICAS", PrimaryName)) == replicas
		})
	}
	return s
}

func count(reply any) int {
	all, _ := reply.([]any)
	return len(all)
}

// Addrs returns the addresses of all sentinels.
func (s *Sentinels) Addrs() []string {
	var all []string
	for _, one := range s.all {
		all = append(all, one.Addr())
	}
	return all
}

// AwaitPrimary waits until each sentinel names a server as the primary.
func (s *Sentinels) AwaitPrimary(server *Server) {
	server.tb.Helper()
	want := []any{"127.0.0.1", strconv.Itoa(server.port())}
	for _, one := range s.all {
		one.await(fmt.Sprint("a sentinel that names ", want), func() bool {
			got, _ := one.Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", PrimaryName).([]any)
			return slices.Equal(got, want)
		})
	}
}

// SetDownAfter changes after which time without an answer the sentinels hold the primary
// for down.
func (s *Sentinels) SetDownAfter(d time.Duration) {
	for _, one := range s.all {
		one.tb.Helper()
		one.Do("SENTINEL", "SET", PrimaryName, "down-after-milliseconds", strconv.FormatInt(d.Milliseconds(), 10))
	}
}

// FailOver has a replica promoted though the primary lives.
func (s *Sentinels) FailOver() {
	s.all[0].tb.Helper()
	s.all[0].Do("SENTINEL", "FAILOVER", PrimaryName)
}

// Stop stops all sentinels. Stopping twice is fine.
func (s *Sentinels) Stop() {
	for _, one := range s.all {
		one.Kill()
	}
}
