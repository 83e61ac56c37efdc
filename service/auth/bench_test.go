package auth

import (
	"context"
	"fmt"
	"testing"
)

// BenchmarkAuthorize finds one caller of a table.
func BenchmarkAuthorize(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprint("callers=", n), func(b *testing.B) {
			var callers []string
			for i := range n {
				callers = append(callers, fmt.Sprintf("c%d:check:a", i))
			}
			g := guard(b, table(b, callers...), &Options{Tenants: []string{"a"}, Limits: Limits{Checks: "gcra:1000000000/1s"}})
			r := Request{Authorization: bearer("c0"), Action: Check}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := g.Authorize(context.Background(), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
