package sim_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/weirgo/weir/sim"
	"github.com/weirgo/weir/sim/scenario"
)

// Twice as many requests as the limit admits, and an attacker who knows when its windows
// begin.
func Example() {
	s, err := scenario.Parse(strings.NewReader(`
name: two limits
duration: 10m
limits:
  - {name: fixed, spec: "fixed-window:100/1m"}
  - {name: smooth, spec: "gcra:100/1m,burst=20"}
traffic:
  - name: users
    process: {kind: poisson, rate: 200/1m}
    keys: {kind: one, name: users}
  - name: attacker
    process: {kind: boundary, limit: 100/1m}
    keys: {kind: one, name: attacker}
`))
	if err != nil {
		log.Fatal(err)
	}
	results, err := sim.Run(context.Background(), s, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range results {
		worst := r.Limits[0].Worst
		fmt.Printf("%s: admitted %d of %d; at most %d in a minute, for %s; over the limit by %d\n",
			r.Limit, r.Totals.Admitted, r.Totals.Attempts, worst.Units, worst.Key, r.Limits[0].OverUnits)
	}
	// Output:
	// fixed: admitted 2000 of 2951; at most 200 in a minute, for attacker; over the limit by 0
	// smooth: admitted 1119 of 2951; at most 119 in a minute, for users; over the limit by 0
}

// A fail-over loses what the replica does not have yet. The bound is what was lost.
func ExampleRun() {
	s, err := scenario.Load("fail-over")
	if err != nil {
		log.Fatal(err)
	}
	s.Limits = s.Limits[:1]
	results, err := sim.Run(context.Background(), s, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range results[0].Faults {
		fmt.Printf("%s: %d admitted without the server, %d units forgotten\n", f.Kind, f.Degraded, f.ForgottenUnits)
	}
	fmt.Println("all rules kept:", results[0].OK())
	// Output:
	// failover: 2234 admitted without the server, 84 units forgotten
	// restart: 1095 admitted without the server, 165 units forgotten
	// all rules kept: true
}

// Scenarios that seeds choose are run until one violates a rule.
func ExampleViolates() {
	for seed := range uint64(3) {
		s := scenario.Generate(seed)
		results, err := sim.Run(context.Background(), s, nil)
		if err != nil {
			log.Fatal(err)
		}
		for _, r := range results {
			if f := r.Failure; f != nil {
				small := scenario.Shrink(s, sim.Violates(context.Background(), f.Rule, nil))
				fmt.Println(f.Rule, f.Text, small.Name)
			}
		}
	}
	// Output:
}
