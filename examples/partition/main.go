// Command partition shows what a network partition costs in each failure mode: it
// simulates four processes that share a limit of 100 a second on a server, under eight times
// as much traffic, of which one or all cannot reach the server for 20 s of a minute.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/weirgo/weir/sim"
	"github.com/weirgo/weir/sim/scenario"
)

const text = `name: partition
duration: 1m
limits: [{name: api, spec: "gcra:100/1s,burst=100"}]
nodes: {count: 4, on_failure: %s}
traffic: [{name: users, process: {kind: poisson, rate: 800/1s}, keys: {kind: one}}]
faults: [{kind: partition, nodes: %s, at: 20s, for: 20s}]
`

func main() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "cut off\ton_failure\tadmitted\tno decision\tmost in 1 s\tover-admitted\t")
	for _, cut := range []struct{ name, nodes string }{{"1 of 4", "[0]"}, {"all 4", "[0, 1, 2, 3]"}} {
		for _, mode := range []string{"closed", "open", "local"} {
			s, err := scenario.Parse(strings.NewReader(fmt.Sprintf(text, mode, cut.nodes)))
			if err != nil {
				log.Fatal(err)
			}
			results, err := sim.Run(context.Background(), s, nil)
			if err != nil {
				log.Fatal(err)
			}
			during, limit := results[0].Faults[0], results[0].Limits[0]
			fmt.Fprintf(w, "%s\t%s\t%.1f %%\t%.1f %%\t%d\t%d\t\n", cut.name, mode,
				share(during.Admitted, during.Attempts), share(during.Errors+during.Unknown, during.Attempts), limit.Worst.Units, limit.OverUnits)
		}
	}
	if err := w.Flush(); err != nil {
		log.Fatal(err)
	}
}

// share is a part of a whole in percent.
func share(part, whole int64) float64 { return 100 * float64(part) / float64(max(whole, 1)) }
