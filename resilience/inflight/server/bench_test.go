package inflightserver_test

import (
	"fmt"
	"testing"

	"github.com/weirgo/weir/internal/servertest"
)

// BenchmarkServer is what a call costs on a server, of 10 and of 1000 holders, and the bytes
// that a holder takes there.
func BenchmarkServer(b *testing.B) {
	for _, kind := range servertest.Kinds() {
		for _, holders := range []int64{10, 1000} {
			b.Run(fmt.Sprintf("%v/%d", kind, holders), func(b *testing.B) {
				server := servertest.Start(b, kind, nil)
				s := holdersOf(goRedis(b, server.Addr(), "", nil))
				for i := range holders {
					if got, err := s.Acquire(background, holder(fmt.Sprintf("01234567890123456789%06d", i)), holders+1); err != nil || !got.Held {
						b.Fatal(got, err)
					}
				}
				for b.Loop() {
					if got, err := s.Acquire(background, holder("more"), holders+1); err != nil || !got.Held {
						b.Fatal(got, err)
					}
					if got, err := s.Release(background, holder("more")); err != nil || !got.Held {
						b.Fatal(got, err)
					}
				}
				bytes := server.Do("MEMORY", "USAGE", "w{user:42}:inflight/1:api", "SAMPLES", "0").(int64)
				b.ReportMetric(float64(bytes)/float64(holders), "bytes/holder")
			})
		}
	}
}
